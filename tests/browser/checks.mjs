// Real use of a report in headless Chromium. Each check is one sentence that
// a person could say; the result is one JSON object: sentence → "ok" or what
// was seen instead.   node checks.mjs SUITE report.html

import { readFileSync } from "node:fs";
import { launch, openPage } from "./session.mjs";
import { contrastProblems } from "./contrast.mjs";
import { eachView } from "./each.mjs";
import { kinds } from "./kinds.mjs";

const [suite, file] = process.argv.slice(2);
const browser = await launch();
const results = {};

const only = process.env.SONDE_ONLY && new RegExp(process.env.SONDE_ONLY); // while working on some of them

async function check(name, hash, run, options = {}) {
  if (only && !only.test(name)) return;
  const { page, problems, context } = await openPage(browser, file, hash, options);
  try {
    await run(page);
    const unexpected = problems.filter((problem) => !options.expected?.test(problem));
    results[name] = unexpected.length ? unexpected.join("; ") : "ok";
  } catch (error) {
    results[name] = `${String(error.message ?? error).split("\n").slice(0, 3).join(" ")} ${problems.join("; ")}`;
  }
  await context.close();
}

function expect(condition, message) {
  if (!condition) throw new Error(message);
}

const VIEWS = ["overview", "timeline", "flame", "sandwich", "operators", "source", "memory", "gpu", "primitives", "machine", "guide"];
const text = (page, selector) => page.locator(selector).first().textContent();
const canvasBox = (page) => page.locator(".chart canvas").first().boundingBox();

async function save(page, item) {
  await page.locator(".export > button").first().click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: item }).click()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

async function everyView(scheme, width) {
  for (const view of VIEWS) {
    await check(`${view} opens, ${scheme}, ${width} px, readable`, `#${view}`, async (page) => {
      await page.waitForSelector(`[data-view="${view}"], .empty`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide <= width, `the page is ${wide} px wide`);
      const bad = await contrastProblems(page);
      expect(!bad.length, `contrast: ${bad.slice(0, 3).join(", ")}`);
    }, { width, height: 800, scheme });
  }
}

const suites = {
  async views() {
    await everyView("light", 1280);
    await everyView("dark", 400);
  },

  async each() {
    await eachView({ check, expect }, VIEWS.filter((view) => view !== "gpu"), "gelu");
  },

  async use() {
    await check("a script or style that is not the page's own is refused", "#overview", async (page) => {
      const owned = await page.evaluate(() => {
        const script = document.createElement("script");
        script.textContent = "window.owned = true";
        const style = document.createElement("style");
        style.textContent = "body { opacity: 0.5 }";
        document.body.append(script, style);
        return [window.owned, getComputedStyle(document.body).opacity];
      });
      expect(owned[0] === undefined && owned[1] === "1", JSON.stringify(owned));
    }, { expected: /Content Security Policy/ });
    await check("search finds in the flame and says how much", "#flame", async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("gelu");
      const note = await text(page, "[data-role=flame-note]");
      expect(/matches hold [\d.]+ %/.test(note), note);
      expect(page.url().includes("q=gelu"), page.url());
    });
    await check("search takes expressions, and says when one is wrong", "#operators?re=1", async (page) => {
      await page.locator("input[type=search]").fill("^aten::(gelu|add)$");
      const names = await page.locator("[data-table=ops] .table-row > span:first-child").allTextContents();
      expect(names.length === 2 && names.every((n) => /^aten::(gelu|add)$/.test(n)), names.join());
      await page.locator("input[type=search]").fill("(");
      expect(await page.locator(".search.wrong").count(), "no mark on the wrong expression");
    });
    await check("a click in the flame zooms, Escape zooms out", "#flame", async (page) => {
      const box = await canvasBox(page);
      await page.mouse.click(box.x + 40, box.y + 75);
      await page.waitForFunction(() => location.hash.includes("flame.zoom="));
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !location.hash.includes("flame.zoom="));
    });
    await check("runtime frames are hidden until asked for", "#flame", async (page) => {
      const levels = () => page.evaluate(() => document.querySelector(".chart").sondeChart.picture.rows);
      const hidden = await levels();
      await page.locator("[data-toggle=hide]").click();
      expect((await levels()) > hidden, `${await levels()} levels, ${hidden} before`);
    });
    await check("flame can invert, flip, split by thread and measure waiting", "#flame", async (page) => {
      await page.locator("[data-toggle=invert]").click();
      await page.locator("[data-toggle=flip]").click();
      await page.locator('[aria-label="Threads"] [data-value=thread]').click();
      await page.locator('[aria-label="What is measured"] [data-value=off]').click();
      expect(/waiting time/.test(await text(page, "[data-role=flame-note]")), "not waiting time");
      const labels = await page.evaluate(() => document.querySelector(".chart").sondeChart.picture.tree.labels.map((l) => l.name));
      expect(labels.includes("waiting: lock"), "the reason of a wait is not a box");
    });
    await check("a drag in the timeline selects a range that every view follows", "#timeline", async (page) => {
      const box = await canvasBox(page);
      await page.mouse.move(box.x + 600, box.y + 90);
      await page.mouse.down();
      await page.mouse.move(box.x + 800, box.y + 90, { steps: 5 });
      await page.mouse.up();
      await page.waitForSelector("[data-role=range]");
      await page.locator("[data-tab=flame]").click();
      expect(/selected range/.test(await text(page, "[data-role=flame-note]")), "the flame does not follow");
      await page.locator("[data-tab=overview]").click();
      expect(/selected range/.test(await text(page, "[data-role=layers]")), "the overview does not follow");
      await page.locator("[data-tab=operators]").click();
      await page.waitForSelector("[data-table=ops]");
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("[data-role=range]"));
    });
    await check("keys zoom and move the timeline", "#timeline", async (page) => {
      await page.locator(".chart").focus();
      for (const key of "wwwd") await page.keyboard.press(key);
      await page.waitForFunction(() => location.hash.includes("timeline.shown="));
    });
    await check("the timeline can be coloured by state", "#timeline", async (page) => {
      await page.locator('[aria-label="Colour"] [data-value=state]').click();
      expect(/^running/.test(await text(page, ".legend")), await text(page, ".legend"));
    });
    await check("hovering a call says what it is", "#timeline", async (page) => {
      const spot = await page.evaluate(() => {
        const chart = document.querySelector(".chart").sondeChart;
        const p = chart.picture;
        const lane = p.lanes.findIndex((l) => l.slices.length);
        const row = p.lanes[lane].slices[0][0];
        const t = p.model.column("ops", "start")[row] + p.model.column("ops", "duration")[row] / 2;
        return { x: p.x(t, chart.width), y: p.tops[lane] + 26 + 7 };
      });
      const box = await canvasBox(page);
      await page.mouse.move(box.x + spot.x, box.y + spot.y);
      expect(/duration/.test(await text(page, ".tooltip")), "no duration in the tooltip");
    });
    await check("a link restores view, range, search, zoom and choices", "#flame?flame.measure=both&flame.threads=thread&q=forward&range=1000000000-2000000000&flame.zoom=0.1-0.4", async (page) => {
      expect((await page.locator("input[type=search]").inputValue()) === "forward", "search is not restored");
      expect(await page.locator("[data-role=range]").count(), "range is not restored");
      expect(await page.locator('[data-value=both][aria-checked=true]').count(), "measure is not restored");
      const from = await page.evaluate(() => { const p = document.querySelector(".chart").sondeChart.picture; return p.from / p.tree.sum; });
      expect(Math.abs(from - 0.1) < 1e-6, `zoom starts at ${from}`);
    });
    await check("back returns to the view before", "#overview", async (page) => {
      await page.locator("[data-tab=flame]").click();
      await page.goBack();
      await page.waitForSelector("[data-view=overview]");
    });
    await check("a fold of the module tree is in the link and comes back", "#operators?ops.by=tree", async (page) => {
      const rows = () => page.locator("[data-table=modules] .table-row").count();
      await page.waitForSelector("[data-table=modules] .table-row");
      const open = await rows();
      await page.locator("[data-table=modules] .table-row").first().click();
      await page.waitForFunction(() => location.hash.includes("modules.closed="));
      const folded = await rows();
      expect(folded < open, `${open} rows before, ${folded} after`);
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.waitForSelector("[data-table=modules] .table-row");
      expect((await rows()) === folded, "the link unfolds it");
    });
    await check("zoomed steps select the step under the pointer", "#overview", async (page) => {
      const canvas = page.locator("[data-role=steps] .chart");
      await canvas.scrollIntoViewIfNeeded();
      await canvas.focus();
      for (const key of "wwwdd") await page.keyboard.press(key);
      const box = await canvas.boundingBox();
      const expected = await page.evaluate(() => {
        const { picture, width } = document.querySelector("[data-role=steps] .chart").sondeChart;
        const step = picture.steps[picture.indexAt(width / 2, width)];
        return `${Math.round(step.start)}-${Math.round(step.end)}`;
      });
      await page.mouse.click(box.x + box.width / 2, box.y + box.height - 40);
      await page.waitForFunction((range) => location.hash.includes(`range=${range}`), expected);
    });
    await check("a row of the sandwich shows callers and callees", "#sandwich", async (page) => {
      await page.locator("[data-table=sandwich] .table-row").nth(2).click();
      await page.waitForSelector("[data-role=focus]");
      expect((await page.locator("[data-role=focus] canvas").count()) === 2, "not two pictures");
    });
    await check("a click on a column sorts by it", "#operators", async (page) => {
      await page.locator("[data-sort=calls]").click();
      const cells = await page.locator("[data-table=ops] .table-row > span:nth-child(2)").allTextContents();
      const numbers = cells.map((c) => Number(c.replace(/,/g, "")));
      expect(numbers.length > 5 && numbers.every((n, i) => !i || n <= numbers[i - 1]), numbers.slice(0, 9).join());
    });
    await check("a step in the overview selects it everywhere", "#overview", async (page) => {
      await page.locator("[data-role=steps] canvas").scrollIntoViewIfNeeded();
      const box = await page.locator("[data-role=steps] canvas").boundingBox();
      await page.mouse.click(box.x + box.width / 2, box.y + box.height - 40);
      await page.waitForSelector("[data-role=range]");
    });
    await check("one click leaves only the steady steps", "#flame", async (page) => {
      await page.locator("[data-role=steady]").click();
      await page.waitForSelector("[data-role=range]");
      expect(/steady steps/.test(await text(page, "[data-role=flame-note]")), "the flame does not follow");
    });
    await check("the verdict is one sentence with a number", "#overview", async (page) => {
      const said = await text(page, "[data-role=verdict]");
      expect(/This program is [a-z]+-bound: .*\d+ ?%/.test(said), said);
    });
    await check("insights are cards with saving, evidence and a fix to copy", "#overview", async (page) => {
      expect((await page.locator("[data-insight]").count()) === 3, "not three cards");
      expect((await text(page, ".saving")) === "4.25–9.50 ms per step", await text(page, ".saving"));
      const card = page.locator("[data-insight='0']");
      expect((await card.locator("h3").textContent()) === "Fuse <b>GELU</b>", "the title is not plain text");
      expect((await card.locator(".evidence li").count()) === 4, "not four pieces of evidence");
      expect((await card.locator("pre code").textContent()).includes("torch.compile(model)\nmodel(x)"), "the fix lost its lines");
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await card.locator("[data-copy]").click();
      expect((await page.evaluate(() => navigator.clipboard.readText())).startsWith("model = torch.compile"), "nothing was copied");
      expect((await card.locator("[data-copy]").textContent()) === "copied", "the button does not say so");
    });
    await check("evidence leads to the operator, the line, the module and the frame", "#overview", async (page) => {
      const wanted = ["operators", "source", "operators", "flame"];
      for (let i = 0; i < wanted.length; i++) {
        await page.locator("[data-insight='0'] [data-evidence]").nth(i).click();
        await page.waitForSelector(`[data-view=${wanted[i]}]`);
        if (i === 0) expect((await page.locator("[data-table=ops] .table-row").count()) >= 1, "the operator is not found");
        if (i === 1) expect(await page.locator(".source-line.chosen[data-line='30']").count(), "the line is not chosen");
        await page.goBack();
        await page.waitForSelector("[data-view=overview]");
      }
    });
    await check("findings about the machine are cards too", "#machine", async (page) => {
      expect(/THP is off/.test(await text(page, ".insight")), "no finding");
      const { name, content } = await save(page, "CSV of these facts");
      expect(name === "machine.csv" && /^group,fact,value/.test(content.toString()), content.toString().slice(0, 80));
      const counters = await save(page, "CSV of the counters");
      expect(/^counter,process,time_ns,value\r\n\w+/.test(counters.content.toString()), counters.content.toString().slice(0, 80));
    });
    await check("the machine says which kernels really ran", "#machine", async (page) => {
      const card = page.locator(".card", { hasText: "Kernels that actually ran" });
      expect(/MKL avx512.*% of running time/.test(await card.textContent()), await text(page, ".cards"));
    });
    await check("primitives follow the selected range", "#primitives", async (page) => {
      const calls = () => page.locator("[data-table=primitives] .table-row").first().textContent();
      const whole = await calls();
      await page.evaluate(() => (location.hash = "#primitives?range=1000000000-2000000000"));
      await page.waitForSelector("[data-role=primitives-note]");
      expect(/began in the selected range/.test(await text(page, "[data-role=primitives-note]")), "does not follow");
      expect((await calls()) !== whole, "the numbers did not change");
    });
    await check("the guide can be saved as text", "#guide", async (page) => {
      const { content } = await save(page, "Text file");
      expect(/Self and total/.test(content.toString()), content.toString().slice(0, 80));
    });
    await check("lines of the source export as CSV", "#source", async (page) => {
      const { name, content } = await save(page, "CSV of these lines");
      expect(name === "lines.csv" && /^line,from_line_ns/.test(content.toString()), content.toString().slice(0, 60));
    });
    await check("the roofline exports as a picture", "#primitives", async (page) => {
      const { content } = await save(page, "SVG");
      expect(/^<svg xmlns/.test(content.toString()), content.toString().slice(0, 60));
    });
    for (const [view, what] of [["sandwich", "gelu"], ["source", "forward"], ["machine", "cpu"], ["primitives", "conv|matmul|inner"], ["timeline", "gelu"], ["memory", "a"]]) {
      await check(`${view} takes a search from the link and keeps it`, `#${view}?re=1&q=${encodeURIComponent(what)}`, async (page) => {
        await page.waitForSelector(`[data-view="${view}"], .empty`);
        expect((await page.locator("input[type=search]").inputValue()) === what, "search is not restored");
        expect(!(await page.locator(".search.wrong").count()), "the expression was refused");
      });
    }
    await check("the quality box counts what was lost", "#overview", async (page) => {
      await page.locator("[data-role=trust]").click();
      expect(/Lost samples44/.test(await text(page, "[data-role=quality]")), await text(page, "[data-role=quality]"));
    });
    await check("source shows lines of the project with their time", "#source", async (page) => {
      expect(await page.locator(".source-line .num").filter({ hasText: "%" }).count(), "no line has time");
      expect(/log_metrics/.test(await page.locator(".source").textContent()), "no source text");
    });
    await check("keys change views and theme", "#overview", async (page) => {
      await page.keyboard.press("3");
      await page.waitForSelector("[data-view=flame]");
      await page.keyboard.press("?");
      await page.waitForSelector("[data-view=guide]");
      await page.keyboard.press("t");
      await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    });
    await check("the contrast check itself can fail", "#overview", async (page) => {
      await page.evaluate(() => document.querySelectorAll(".note").forEach((note) => note.style.setProperty("color", "#b0b4bb", "important")));
      expect((await contrastProblems(page)).length > 0, "pale text was not noticed");
    });
    await check("tables export as CSV in the order shown", "#sandwich", async (page) => {
      const { name, content } = await save(page, "CSV of these rows");
      expect(name === "functions.csv" && /^Function,Self,Total/.test(content.toString()), `${name} ${content.toString().slice(0, 60)}`);
    });
    await check("pictures export as SVG and PNG", "#flame", async (page) => {
      const svg = await save(page, "SVG of this picture");
      expect(/^<svg xmlns/.test(svg.content.toString()) && svg.content.toString().includes("train"), "not the flame");
      const png = await save(page, "PNG of this picture");
      expect(png.content.subarray(1, 4).toString() === "PNG", "not a PNG");
    });
  },

  ...kinds({ check, expect, text, file, views: VIEWS }),
};

await suites[suite]();
console.log(JSON.stringify(results));
await browser.close();
