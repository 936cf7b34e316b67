// What a person reads in reports, as JSON on standard output: file → what it shows.
//   node read.mjs a.html b.html …

import { readFileSync } from "node:fs";
import { launch, openPage } from "../browser/session.mjs";

const browser = await launch();
const found = {};

async function read(file, hash, run) {
  const { page, problems, context } = await openPage(browser, file, hash);
  const result = await run(page);
  await context.close();
  if (problems.length) throw new Error(`${file}${hash}: ${problems.join("; ")}`);
  return result;
}

const texts = (page, selector) => page.locator(selector).allTextContents();

// The rows of a table as its CSV holds them, and the cells that are drawn.
async function table(page, id) {
  const host = page.locator(`[data-table=${id}]`);
  if (!(await host.count())) return null;
  await host.locator(".export > button").first().click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "CSV of these rows" }).click()]);
  const drawn = await host.locator(".table-row").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const head = await host.locator(".table-head button").evaluateAll((buttons) => buttons.map((button) => button.dataset.sort));
  return { csv: readFileSync(await download.path(), "utf8"), head, drawn };
}

for (const file of process.argv.slice(2)) {
  const seen = (found[file] = {});
  if (file.endsWith("diff.html")) {
    await read(file, "#diff?diff.all=1", async (page) => {
      seen.headline = (await texts(page, "[data-role=diff-verdict]"))[0];
      seen.notes = await texts(page, "[data-role=diff-note]");
      seen.diff = await table(page, "diff");
    });
    continue;
  }
  await read(file, "#overview?trust=1", async (page) => {
    seen.verdict = (await texts(page, "[data-role=verdict]"))[0];
    seen.taken = await texts(page, "[data-role=taken]");
    seen.steps = (await texts(page, "[data-role=steps] .note"))[0] ?? null;
    seen.losses = await texts(page, "[data-role=quality] .losses li");
    seen.quality = Object.fromEntries(await page.locator("[data-role=quality] dl > div").evaluateAll((rows) => rows.map((row) => [row.children[0].textContent, row.children[1].textContent])));
  });
  await read(file, "#guide", async (page) => (seen.guide = (await texts(page, ".guide"))[0]));
  for (const by of ["name", "shape"]) {
    await read(file, `#operators?ops.by=${by}&ops.kind=all`, async (page) => (seen[`ops_${by}`] = await table(page, "ops")));
  }
  await read(file, "#sandwich?sandwich.name=-&flame.hide=0&flame.measure=cpu", async (page) => (seen.functions = await table(page, "sandwich")));
  // The same summed by the page itself: a range that holds the whole recording.
  await read(file, "#sandwich?sandwich.name=-&flame.hide=0&flame.measure=cpu&range=0-9000000000000000", async (page) => (seen.functions_in_range = await table(page, "sandwich")));
  await read(file, "#gpu", async (page) => (seen.devices = await table(page, "devices")));
  // A millisecond of the run has too few samples to judge.
  await read(file, "#overview?range=0-1000000", async (page) => (seen.short = (await texts(page, "[data-role=verdict]"))[0]));
}
await browser.close();
process.stdout.write(JSON.stringify(found));
