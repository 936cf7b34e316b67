// How long a view takes from opening the file until a part of it is there.   node opens.mjs report.html VIEW SELECTOR
// Prints one line of JSON.

import { launch, openPage } from "./session.mjs";

const [file, view, selector] = process.argv.slice(2);
const browser = await launch();
const { page, problems } = await openPage(browser, file, `#${view}`, { width: 1400, height: 900 });
await page.waitForSelector(selector);
console.log(JSON.stringify({ open_ms: Math.round(await page.evaluate(() => performance.now())), problems }));
await browser.close();
