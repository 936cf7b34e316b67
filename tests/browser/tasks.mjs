// What people want to know, each found with at most three actions, by mouse and by keyboard. An action is a click, a drag,
// or one key or word typed.   node tasks.mjs KIND report.html   (KIND: cpu, gpu, ranks, compile, diff)

import { launch, openPage } from "./session.mjs";

const [kind, file] = process.argv.slice(2);
const browser = await launch();
const results = {};
const MOST = 3;

function acting(page) {
  let actions = 0;
  const count = async (run) => {
    actions++;
    await run();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  };
  return {
    click: (selector, nth = 0) => count(() => page.locator(selector).nth(nth).click()),
    at: (x, y) => count(async () => {
      const box = await page.locator(".chart canvas").first().boundingBox();
      await page.mouse.click(box.x + x, box.y + y);
    }),
    drag: (from, to, y) => count(async () => {
      const box = await page.locator(".chart canvas").first().boundingBox();
      await page.mouse.move(box.x + from, box.y + y);
      await page.mouse.down();
      await page.mouse.move(box.x + to, box.y + y, { steps: 4 });
      await page.mouse.up();
    }),
    key: (key, on) => count(async () => {
      if (on) await page.locator(on).first().focus(); // Tab leads there; how often depends on the page
      await page.keyboard.press(key);
    }),
    type: (text) => count(async () => {
      await page.keyboard.press("/");
      await page.keyboard.type(text);
    }),
    used: () => actions,
  };
}

async function task(name, hash, run, seen) {
  const { page, problems, context } = await openPage(browser, file, hash, { width: 1440, height: 900 });
  const act = acting(page);
  try {
    await run(act, page);
    const text = await seen(page);
    if (act.used() > MOST) results[name] = `${act.used()} actions`;
    else results[name] = problems.length ? problems.join("; ") : text === true ? "ok" : `saw ${String(text).slice(0, 200)}`;
  } catch (error) {
    results[name] = String(error.message ?? error).split("\n").slice(0, 2).join(" ");
  }
  await context.close();
}

const panel = (wanted) => async (page) => {
  const text = await page.locator("[data-role=panel]").textContent();
  return wanted.test(text) || text;
};
const part = (selector, wanted) => async (page) => {
  const text = (await page.locator(selector).first().textContent()) ?? "";
  return wanted.test(text) || text;
};
// The middle of the first call of an operator on the timeline, in the canvas.
const callSpot = (page) =>
  page.evaluate(() => {
    const { picture: p, width } = document.querySelector(".chart").sondeChart;
    const lane = p.lanes.findIndex((l) => l.slices.length && l.kind === "thread");
    const [first] = p.levels(p.lanes[lane]);
    const rows = p.lanes[lane].slices[first];
    const row = rows[rows.length >> 1];
    const start = p.model.column("ops", "start")[row];
    return { x: p.x(start + p.model.column("ops", "duration")[row] / 2, width), y: p.tops[lane] + (p.lanes[lane].samples.length ? 26 : 0) + 8 };
  });

const kinds = {
  async cpu() {
    await task("which line is slowest, by mouse", "", (a) => a.click("[data-role=lines] button"), panel(/line.*from this line/s));
    await task("which line is slowest, by keyboard", "", (a) => a.key("Enter", "[data-role=lines] button"), panel(/from this line/));
    await task("what happens in step 7, by mouse", "", async (a, page) => {
      const at = await page.evaluate(() => { const c = document.querySelector("[data-role=steps] .chart").sondeChart; const i = c.picture.steps.findIndex((s) => s.number === 7); return 56 + ((i + 0.5) / c.picture.steps.length) * (c.width - 56); });
      await page.locator("[data-role=steps] canvas").scrollIntoViewIfNeeded();
      const box = await page.locator("[data-role=steps] canvas").boundingBox();
      await page.mouse.click(box.x + at, box.y + 120);
    }, panel(/Step 7.*duration/s));
    await task("what happens in the first steady steps, by keyboard", "", async (a) => { await a.key("ArrowRight", "[data-role=steps] .chart"); await a.key("ArrowRight"); }, panel(/Step \d+.*duration/s));
    await task("select a stretch of time and see its flame, by mouse", "#timeline", async (a) => { await a.drag(700, 720, 130); await a.click("[data-panel-tab=flame]"); }, part("[data-role=panel] .note, [data-role=panel] .bar", /100 %|the selected range|Both|On CPU/));
    await task("select a stretch of time and see its flame, by keyboard", "#timeline", async (a) => { await a.key("ArrowRight", ".chart"); await a.key("Enter", "[data-action=range]"); await a.key("Enter", "[data-panel-tab=flame]"); }, part("[data-role=panel]", /100 % of|Nothing was sampled/));
    await task("find all of an operator and who calls it, by mouse", "#operators", async (a) => { await a.click("[data-table=ops] .table-row"); await a.click("[data-action=find]"); }, panel(/Callers/));
    await task("find all of an operator and who calls it, by keyboard", "#operators", async (a) => { await a.type("gelu"); await a.key("ArrowDown", "[data-table=ops] .table-scroll"); await a.key("Enter"); }, panel(/gelu.*Callers/s));
    await task("a click on a slice of the timeline says what it is", "#timeline", async (a, page) => { const { x, y } = await callSpot(page); await a.at(x, y); }, panel(/call.*duration/s));
    await task("the timeline has a cursor for keys", "#timeline", async (a) => { await a.key("ArrowRight", ".chart"); await a.key("ArrowRight"); }, panel(/#\d+ of/));
    await task("why is a thread idle, by mouse", "#timeline", async (a, page) => {
      const y = await page.evaluate(() => { const p = document.querySelector(".chart").sondeChart.picture; return p.tops[p.lanes.findIndex((l) => l.kind === "thread" && !l.label.startsWith("Main"))] + 8; });
      await a.at(40, y);
    }, panel(/thread.*role/s));
    await task("what is alive at a moment, by mouse", "#memory", (a) => a.at(500, 100), part("[data-role=alive]", /Alive at/));
    await task("what is alive at a moment, by keyboard", "#memory", (a) => a.key("Enter", ".chart"), part("[data-role=alive]", /Alive at/));
    await task("share this state: a link opens the same selection", "#timeline", async (a, page) => {
      await a.key("ArrowRight", ".chart");
      const [address, title] = [page.url(), await page.locator("[data-role=panel] h2").textContent()];
      await page.goto("about:blank");
      await page.goto(address);
      await page.waitForSelector("[data-role=panel]");
      if ((await page.locator("[data-role=panel] h2").textContent()) !== title) throw new Error("another selection");
    }, panel(/./));
    await task("focus in the flame, and undo", "#flame", async (a, page) => { await a.at(60, 70); await a.click("[data-action=focus]"); if (!(await page.locator("[data-role=crumbs]").count())) throw new Error("no crumbs"); await a.click("[data-role=crumbs] button"); }, async (page) => (await page.locator("[data-role=crumbs]").count()) === 0);
    await task("how far to trust it", "", (a) => a.click("[data-role=trust]"), part("[data-role=quality]", /Lost samples/));
  },
  async gpu() {
    await task("what does the GPU wait for", "", async () => undefined, part("[data-role=idle]", /busy.*idle.*host.*ms/s));
    await task("the longest gap, by mouse", "", (a) => a.click("[data-role=gaps] a"), panel(/GPU idle.*why/s));
    await task("the longest gap, by keyboard", "", (a) => a.key("Enter", "[data-role=gaps] a"), panel(/GPU idle.*why/s));
    await task("slowest kernel and its line, by mouse", "#gpu", (a) => a.click("[data-table=kernels] .table-row"), panel(/Python line.*\.py:\d+.*Launched by/s));
    await task("slowest kernel and its line, by keyboard", "#gpu", async (a) => { await a.key("ArrowDown", "[data-table=kernels] .table-scroll"); await a.key("Enter"); }, panel(/Python line.*Launched by/s));
    await task("from a kernel to its launch", "#timeline?sel=kernel:700", (a) => a.click("[data-action=launch]"), panel(/launch/));
  },
  async ranks() {
    await task("rank against rank", "", (a) => a.click("[data-tab=ranks]"), part("[data-view=ranks]", /wait.*sonde diff/s));
  },
  async diff() {
    await task("what got slower", "", async () => undefined, part("[data-role=diff-verdict]", /slower|faster|same|differen/));
  },
};

await kinds[kind]();
console.log(JSON.stringify(results));
await browser.close();
