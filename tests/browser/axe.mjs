// axe-core over every view of a report: sentences of what it found.   node axe.mjs report.html VIEW …

import { axe, launch, openPage } from "./session.mjs";

const [file, ...views] = process.argv.slice(2);
const browser = await launch();
const results = {};
for (const view of views) {
  for (const scheme of ["light", "dark"]) {
    const { page, context } = await openPage(browser, file, `#${view}`, { width: 1280, height: 800, scheme });
    await page.evaluate(axe()); // run as the tester: the page's own policy refuses scripts
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    results[`${view}, ${scheme}`] = found.violations.length
      ? found.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].target.join(" ")}`).join("; ")
      : "ok";
    await context.close();
  }
}
console.log(JSON.stringify(results));
await browser.close();
