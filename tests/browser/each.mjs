// What every view must be able to do, at the width of a phone: a search by text and by expression changes what
// is shown, a link brings the same picture back, keys lead there and on, and what is shown can be saved.

// What a search changes, per view: the text of this part, or the picture when it is a canvas.
const SHOWS = {
  overview: ".insights", timeline: "canvas", flame: "[data-role=flame-note]", sandwich: "[data-table=sandwich]",
  operators: "[data-table=ops]", source: "[data-view=source]", memory: "[data-view=memory]", gpu: "[data-view=gpu]",
  primitives: "[data-table=primitives]", machine: "[data-view=machine]", guide: "[data-view=guide]", diff: "[data-table=diff]",
};

async function shown(page, view) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  return page.evaluate((selector) => {
    const part = document.querySelector(selector === "canvas" ? ".chart canvas" : selector);
    if (!part) return "nothing";
    return selector === "canvas" ? part.toDataURL() : part.innerText;
  }, SHOWS[view]);
}

export async function eachView({ check, expect, save }, views, word) {
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
    await check(`${view}: what is shown can be saved`, `#${view}`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"] .export`);
      await page.locator(".export > button").first().click();
      const items = await page.getByRole("menuitem").allTextContents();
      await page.locator(".export > button").first().click();
      const file = items.find((item) => /^(CSV|SVG|PNG|Text)/.test(item));
      expect(file && items.some((item) => /link/.test(item)), items.join());
      const { name, content } = await save(page, file);
      expect(name.includes(".") && content.length > 30, `${name}: ${content.length} bytes`);
    }, small);
  }
}
