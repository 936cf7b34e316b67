// From a click on the timeline to the panel, in a large report: CPU-bound, so the median of some clicks.
// Prints one line of JSON.   node clicks.mjs report.html

import { launch, openPage } from "./session.mjs";

const [file] = process.argv.slice(2);
const browser = await launch();
const { page, problems } = await openPage(browser, file, "#timeline", { width: 1400, height: 900 });
const spent = await page.evaluate(async () => {
  const { picture: p } = document.querySelector(".chart").sondeChart;
  const kinds = ["op", "sample", "kernel", "step"].filter((kind) => (kind === "step" ? p.model.steps.length : p.model.rows({ op: "ops", sample: "samples", kernel: "kernels" }[kind])));
  const out = {};
  for (const kind of kinds) {
    const rows = kind === "step" ? p.model.steps.length : p.model.rows({ op: "ops", sample: "samples", kernel: "kernels" }[kind]);
    out[kind] = [];
    for (let i = 1; i <= 7; i++) {
      const wanted = `${kind}:${Math.floor((rows * i) / 8)}`;
      const shown = () => document.querySelector("[data-role=panel] .details")?.textContent ?? "";
      const before = shown(); // the panel of the selection before is no answer
      const start = performance.now();
      location.hash = `#timeline?sel=${wanted}`;
      await new Promise((resolve) => {
        const look = () => (shown() && shown() !== before ? resolve() : requestAnimationFrame(look));
        addEventListener("hashchange", () => queueMicrotask(look), { once: true });
      });
      out[kind].push(performance.now() - start);
    }
    out[kind].sort((a, b) => a - b);
  }
  return out;
});
const result = Object.fromEntries(Object.entries(spent).map(([kind, list]) => [kind, { first_ms: Math.round(Math.max(...list)), median_ms: Math.round(list[3]) }]));
console.log(JSON.stringify({ ...result, problems }));
await browser.close();
