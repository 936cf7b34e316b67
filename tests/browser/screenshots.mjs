// Pictures of every view for the docs:  node screenshots.mjs report.html OUT PREFIX view[?params] …
// Odd ones are light, even ones dark, so that both themes are seen.

import { launch, openPage } from "./session.mjs";

const [file, out, prefix, ...views] = process.argv.slice(2);
const browser = await launch();
for (const [i, spec] of views.entries()) {
  const view = spec.split("?")[0];
  const { page, problems, context } = await openPage(browser, file, `#${spec}`, { width: 1200, height: 760, scheme: i % 2 ? "dark" : "light" });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${out}/${prefix}-${view}.png` });
  if (problems.length) console.error(view, problems);
  await context.close();
}
await browser.close();
