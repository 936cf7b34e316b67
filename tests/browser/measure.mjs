// Opens a report in headless Chromium and measures what a person would feel:
// time to ready, and the time between frames while panning and zooming.
// Prints one line of JSON.   node measure.mjs report.html

import { launch, openPage } from "./session.mjs";

const [file] = process.argv.slice(2);
const browser = await launch();
const { page, problems } = await openPage(browser, file, "#overview", { width: 1400, height: 900 });
const result = { open_ms: await page.evaluate(() => performance.now()), boot_ms: Number(await page.evaluate(() => document.documentElement.dataset.ready)), frames: {} };
for (const view of ["timeline", "flame"]) {
  await page.evaluate((v) => (location.hash = v), view);
  await page.waitForSelector(`[data-view="${view}"] canvas`);
  const draws = [];
  const gaps = [];
  for (const keys of ["wwwwwwwwdddddddd", "ssssaaaawwwwdddd", "ssssssssssss"]) {
    const seen = await page.evaluate(async (sequence) => {
      const host = document.querySelector(".chart");
      host.focus();
      const chart = host.sondeChart;
      chart.frameTimes.length = 0;
      const between = [];
      let last = performance.now();
      for (const key of sequence) {
        for (let turn = 0; turn < 3; turn++) {
          host.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          between.push(now - last);
          last = now;
        }
      }
      return { draws: [...chart.frameTimes], between };
    }, keys);
    draws.push(...seen.draws);
    gaps.push(...seen.between);
  }
  const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(list.length * q)];
  result.frames[view] = { count: gaps.length, frame_p50_ms: quantile(gaps, 0.5), frame_p95_ms: quantile(gaps, 0.95), draw_p50_ms: quantile(draws, 0.5), draw_p95_ms: quantile(draws, 0.95) };
}
result.problems = problems;
console.log(JSON.stringify(result));
await browser.close();
