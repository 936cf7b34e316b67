// How every view looks, against small grey pictures that are kept in looks.json (64 × 40): what moves, vanishes or turns
// dark is noticed, another font is not.   node looks.mjs report.html VIEW …   SONDE_LOOKS=write takes them anew.

import { readFileSync, writeFileSync } from "node:fs";
import { launch, openPage } from "./session.mjs";

const [file, ...views] = process.argv.slice(2);
const KEPT = new URL("looks.json", import.meta.url);
const [WIDE, TALL] = [64, 40];
const MEAN = 7; // of 255, over the picture
const FAR = 45; // a pixel this far off counts as changed
const CHANGED = 0.06; // share of the pixels that may have

const write = process.env.SONDE_LOOKS === "write";
const kept = write ? {} : JSON.parse(readFileSync(KEPT, "utf8"));
const browser = await launch();
const results = {};

async function look(hash, scheme) {
  const { page, context } = await openPage(browser, file, hash, { width: 1280, height: 800, scheme });
  await page.waitForTimeout(200);
  const picture = (await page.screenshot()).toString("base64");
  await page.goto("about:blank");
  const grey = await page.evaluate(async ([data, wide, tall]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [wide, tall];
    const pen = canvas.getContext("2d");
    pen.imageSmoothingQuality = "high";
    pen.drawImage(image, 0, 0, wide, tall);
    const { data: pixels } = pen.getImageData(0, 0, wide, tall);
    return Array.from({ length: wide * tall }, (_, i) => Math.round(0.3 * pixels[4 * i] + 0.59 * pixels[4 * i + 1] + 0.11 * pixels[4 * i + 2]));
  }, [picture, WIDE, TALL]);
  await context.close();
  return grey;
}

function difference(a, b) {
  const off = a.map((value, i) => Math.abs(value - b[i]));
  return { mean: off.reduce((sum, v) => sum + v, 0) / off.length, changed: off.filter((v) => v > FAR).length / off.length };
}

for (const view of views) {
  const seen = await look(`#${view}`, "light");
  if (write) kept[view] = Buffer.from(seen).toString("base64");
  const { mean, changed } = difference(seen, [...Buffer.from(kept[view] ?? "", "base64")].concat(new Array(WIDE * TALL).fill(0)).slice(0, WIDE * TALL));
  results[`${view} looks as it did`] = mean <= MEAN && changed <= CHANGED ? "ok" : `${mean.toFixed(1)} off in the mean, ${(changed * 100).toFixed(1)} % of the pixels changed`;
}
const dark = difference(await look(`#${views[0]}`, "dark"), [...Buffer.from(kept[views[0]], "base64")]);
results["this check can fail: a dark page looks different"] = dark.mean > MEAN ? "ok" : "it was not noticed";
if (write) writeFileSync(KEPT, `${JSON.stringify(kept, null, 1)}\n`);
console.log(JSON.stringify(results));
await browser.close();
