import { readFileSync } from "node:fs";

// What every view must be able to do, at the width of a phone: a search by text and by expression changes what
// is shown, a link brings the same picture back, keys lead there and on and walk its table, every picture zooms
// by wheel and keys with its part in the link, and what is shown can be saved: pictures as SVG and PNG, the rest as CSV.

// What a search changes, per view: the text of this part, or the picture when it is a canvas.
const SHOWS = {
  overview: ".insights", timeline: "canvas", flame: "[data-role=flame-note]", sandwich: "[data-table=sandwich]",
  operators: "[data-table=ops]", source: "[data-view=source]", memory: "[data-view=memory]", gpu: "[data-view=gpu]",
  primitives: "[data-table=primitives]", machine: "[data-view=machine]", guide: "[data-view=guide]", diff: "[data-table=diff]",
};

// Views with a picture, and the word by which the address keeps what part of it is shown.
const ZOOMS = {
  overview: "steps.shown", timeline: "timeline.shown", flame: "flame.zoom", sandwich: "sandwich.callers", memory: "curve.shown",
  primitives: "roofline.shown", machine: "curve.shown", diff: "diff.zoom",
};

const zoomWord = (page) => page.evaluate(() => document.querySelector(".chart").sondeChart.picture.word);

async function pictureOf(page, view) {
  await page.waitForSelector(`[data-view="${view}"]`);
  if (view === "sandwich" && !(await page.locator("[data-role=focus]").count())) await page.locator("[data-table=sandwich] .table-row").nth(2).click();
  await page.locator(".chart").first().scrollIntoViewIfNeeded();
  return page.locator(".chart").first();
}

// One file of each kind from all menus of the view: kind → name and content.
async function savedFiles(page) {
  const files = {};
  const menus = page.locator(".export");
  for (let i = 0; i < (await menus.count()); i++) {
    const button = menus.nth(i).locator("> button");
    await button.click();
    const items = await menus.nth(i).getByRole("menuitem").allTextContents();
    await button.click();
    for (const item of items) {
      const kind = item.split(" ")[0];
      if (!/^(CSV|SVG|PNG|Text)$/.test(kind) || files[kind]) continue;
      await button.click();
      const [download] = await Promise.all([page.waitForEvent("download"), menus.nth(i).getByRole("menuitem", { name: item, exact: true }).click()]);
      files[kind] = { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
    }
    if (!items.some((item) => /link/.test(item))) throw new Error(`no link in ${items.join()}`);
  }
  return files;
}

async function shown(page, view) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  return page.evaluate((selector) => {
    const part = document.querySelector(selector === "canvas" ? ".chart canvas" : selector);
    if (!part) return "nothing";
    return selector === "canvas" ? part.toDataURL() : part.innerText;
  }, SHOWS[view]);
}

export async function eachView({ check, expect }, views, word) {
  const small = { width: 400, height: 800 };
  for (const view of views) {
    await check(`${view}: a search by text and by expression changes what is shown`, `#${view}`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"]`);
      const whole = await shown(page, view);
      await page.keyboard.press("/");
      await page.keyboard.type("zzzq"); // found nowhere
      const none = await shown(page, view);
      expect(none !== whole, "text: nothing changed");
      expect(page.url().includes("q=zzzq"), page.url());
      await page.locator("input[type=search]").fill("a|."); // found everywhere
      await page.getByTitle("Regular expression").click();
      expect((await shown(page, view)) !== none && page.url().includes("re=1"), "expression: nothing changed");
      await page.locator("input[type=search]").fill("");
      expect((await shown(page, view)) === whole, "an empty search does not bring all back");
    }, small);
    await check(`${view}: a link restores it with its search and theme`, `#${view}?q=${word}&theme=dark`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"]`);
      expect((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "not dark");
      const first = await shown(page, view);
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.waitForSelector(`[data-view="${view}"]`);
      expect((await shown(page, view)) === first, "the link shows something else");
    }, small);
    await check(`${view}: keys lead on and back`, `#${view}`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"]`);
      await page.keyboard.press("]");
      await page.waitForFunction((v) => !document.querySelector(`[data-view="${v}"]`), view);
      await page.keyboard.press("[");
      await page.waitForSelector(`[data-view="${view}"]`);
    }, small);
    await check(`${view}: arrow keys walk its table, or there is none`, `#${view}`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"]`);
      const table = page.locator(".table-scroll").first();
      if (!(await table.count())) return;
      await table.focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      const chosen = await table.locator(".table-row").evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-selected")).indexOf("true"));
      const rows = await table.locator(".table-row").count();
      expect(chosen === Math.min(1, rows - 1), `row ${chosen} of ${rows} is chosen`);
    }, small);
    if (ZOOMS[view]) {
      await check(`${view}: the picture zooms by keys and wheel, a link restores it, 0 shows all`, `#${view}`, async (page) => {
        const chart = await pictureOf(page, view);
        const named = (there) => page.waitForFunction(([word, there]) => location.hash.includes(`${word}=`) === there, [ZOOMS[view], there]);
        await chart.focus();
        for (const key of "wwd") await page.keyboard.press(key);
        await named(true);
        const byKeys = await zoomWord(page);
        const address = page.url();
        await page.goto("about:blank");
        await page.goto(address);
        await pictureOf(page, view);
        expect(byKeys && (await zoomWord(page)) === byKeys, `${await zoomWord(page)} after the link, ${byKeys} before`);
        await page.locator(".chart").first().focus();
        await page.keyboard.press("0");
        await named(false);
        expect((await zoomWord(page)) === null, "not all is shown");
        const box = await page.locator(".chart canvas").first().boundingBox();
        await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -300);
        await page.keyboard.up("Control");
        await named(true);
      }, small);
    }
    await check(`${view}: what is shown can be saved`, `#${view}`, async (page) => {
      const picture = Boolean(ZOOMS[view]) && (await pictureOf(page, view));
      await page.waitForSelector(`[data-view="${view}"] .export`);
      const files = await savedFiles(page);
      const wanted = picture ? ["CSV", "PNG", "SVG"] : [view === "guide" ? "Text" : "CSV"];
      expect(wanted.every((kind) => files[kind]), `${wanted} wanted, ${Object.keys(files)} found`);
      for (const [kind, { name, content }] of Object.entries(files)) expect(name.includes(".") && content.length > 30, `${kind} ${name}: ${content.length} bytes`);
      if (picture) expect(/^<svg xmlns/.test(files.SVG.content.toString()) && files.PNG.content.subarray(1, 4).toString() === "PNG", "not pictures");
    }, small);
  }
}
