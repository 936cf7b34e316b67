// Opens files in speedscope itself, as a person does who drops them on it, and says what it shows.
// node speedscope.mjs FILE… → {file: {title, weight, frames, problems}}
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../browser/session.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const app = join(root, "web", "node_modules", "speedscope", "dist", "release", "index.html");
const browser = await launch();
const seen = {};
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) throw new Error(`no such file: ${file}`);
  const page = await browser.newPage();
  const problems = [];
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => (problems.push(dialog.message()), dialog.dismiss()));
  await page.goto(`file://${app}`);
  await page.waitForSelector("input[type=file]", { state: "attached" });
  await page.setInputFiles("input[type=file]", { name: basename(file), mimeType: "application/octet-stream", buffer: readFileSync(file) });
  // The welcome text goes and the three ways to look at a profile come when a file was understood.
  await page
    .waitForFunction(() => /Time Order/.test(document.body.innerText), null, { timeout: 20_000 })
    .catch((error) => problems.push(`not shown: ${error.message}`));
  const title = await page.evaluate(() => document.title);
  await page.keyboard.press("3"); // sandwich: a table of every function with its self and total time
  await page.waitForTimeout(300);
  const text = await page.evaluate(() => document.body.innerText);
  seen[file] = { title, text, problems };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(seen));
