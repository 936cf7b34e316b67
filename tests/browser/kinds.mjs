// Suites for reports of a special kind: a comparison, a GPU trace, several ranks, hostile names, an empty recording.
// In: the tools of checks.mjs. Out: suite → what runs it.

import { readFileSync } from "node:fs";
import { contrastProblems } from "./contrast.mjs";
import { eachView } from "./each.mjs";

export const kinds = ({ check, expect, text, file, views }) => ({
  async diff() {
    await eachView({ check, expect }, ["diff"], "Gelu");
    await check("the comparison opens with a verdict and names what changed", "", async (page) => {
      await page.waitForSelector("[data-view=diff]");
      expect(/slower/.test(await text(page, "[data-role=diff-verdict]")), await text(page, "[data-role=diff-verdict]"));
      expect(/Gelu/i.test(await text(page, "[data-table=diff] .table-row")), await text(page, "[data-table=diff]"));
    });
    await check("headline, notes and rows are those of sonde diff --json", "#diff?diff.all=1", async (page) => {
      await page.waitForSelector("[data-view=diff]");
      const told = JSON.parse(readFileSync(file.replace(/html$/, "json"), "utf8"));
      expect((await text(page, "[data-role=diff-verdict]")) === told.headline, await text(page, "[data-role=diff-verdict]"));
      const notes = await page.locator("[data-role=diff-note]").allTextContents();
      expect(JSON.stringify(notes) === JSON.stringify(told.notes), notes.join("; "));
      await page.locator("[data-table=diff] .export > button").click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: "CSV of these rows" }).click()]);
      const [head, ...lines] = readFileSync(await download.path(), "utf8").trim().split("\r\n");
      const table = told.tables.find((t) => told.rows.some((r) => r.sure && r.dimension === t.dimension && r.source === t.source)) ?? told.tables[0];
      const mine = told.rows.filter((r) => r.dimension === table.dimension && r.source === table.source);
      expect(lines.length === mine.length && head.startsWith("Name"), `${lines.length} of ${mine.length} rows: ${head}`);
      const before = lines.map((line) => Number(line.match(/,([^,"]*),[^,"]*,[^,"]*,[^,"]*,[^,"]*$/)[1])).sort((x, y) => x - y);
      const wanted = mine.map((r) => r.a).sort((x, y) => x - y);
      expect(before.every((value, i) => Math.abs(value - wanted[i]) <= 1e-6 * Math.max(1, wanted[i])), `${before} instead of ${wanted}`);
    });
    await check("both recordings can be looked at", "#overview", async (page) => {
      const after = await text(page, "[data-role=steps]");
      await page.getByRole("radio", { name: "Before" }).click();
      expect((await text(page, "[data-role=steps]")) !== after, "nothing changed");
    });
  },

  async gpu() {
    await eachView({ check, expect }, ["gpu"], "conv");
    // What only this trace has, per view: words, or colours of a picture. A blank view has neither.
    const has = {
      overview: /GPU/, timeline: 8, flame: 8, operators: /aten::cudnn_convolution/, gpu: /conv fp32 128x128.*cudnn/s, memory: /B\b/,
    };
    for (const [view, wanted] of Object.entries(has)) {
      await check(`a real GPU trace: ${view}`, `#${view}`, async (page) => {
        await page.waitForSelector(`[data-view="${view}"]`);
        if (wanted instanceof RegExp) {
          const seen = await text(page, `[data-view="${view}"]`);
          expect(wanted.test(seen), `no ${wanted} in ${seen.slice(0, 300)}`);
        } else {
          const colours = await page.evaluate(() => {
            const canvas = document.querySelector(".chart canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
          });
          expect(colours >= wanted, `${colours} colours in the picture`);
        }
        const bad = await contrastProblems(page);
        expect(!bad.length, `contrast: ${bad.slice(0, 3).join(", ")}`);
      });
    }
    await check("a real GPU trace: the timeline has streams, and kernels tied to launches", "#timeline", async (page) => {
      const seen = await page.evaluate(() => {
        const { model, lanes } = document.querySelector(".chart").sondeChart.picture;
        const link = model.column("kernels", "launch");
        return { streams: lanes.filter((l) => l.kind === "stream").length, linked: link.filter((l) => l >= 0).length / link.length };
      });
      expect(seen.streams > 0 && seen.linked > 0.9, JSON.stringify(seen));
    });
  },

  // A made-up trace of two ranks, whose notes and devices stand in a file beside the page.
  async ranks() {
    const told = JSON.parse(readFileSync(file.replace(/\.html$/, ".json"), "utf8"));
    await check("the overview begins with the notes", "#overview", async (page) => {
      const seen = await page.locator("[data-view=overview] > :first-child li").allTextContents();
      expect(JSON.stringify(seen) === JSON.stringify(told.notes), JSON.stringify(seen));
    });
    await check("the GPU view says why each device was idle", "#gpu", async (page) => {
      const heads = await text(page, "[data-table=devices]");
      for (const word of ["idle: host", "kernel gap", "sync", "other"]) expect(heads.includes(word), heads);
      for (const shown of told.idle) expect(heads.includes(shown), `${shown} is not in ${heads}`);
    });
    await check("for a selected range the split is not known", "#gpu?range=1000000-30000000", async (page) => {
      const seen = await text(page, "[data-view=gpu]");
      expect(seen.includes("why it was idle is known for the whole recording only"), seen.slice(0, 200));
    });
  },

  async hostile() {
    for (const view of views) {
      await check(`hostile names, deep stacks, many threads: ${view}`, `#${view}`, async (page) => {
        await page.waitForSelector(`[data-view="${view}"], .empty`);
        const ran = await page.evaluate(() => window.pwned);
        expect(ran === undefined, "a name was run as code");
        const spent = await page.evaluate(async () => {
          const host = document.querySelector(".chart, .table-scroll, main");
          const start = performance.now();
          host.scrollTop = host.scrollHeight;
          await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          return performance.now() - start;
        });
        expect(spent < 3000, `scrolling to the end took ${spent} ms`);
      });
    }
    await check("hostile names are shown as text", "#sandwich", async (page) => {
      const shown = await page.locator("[data-table=sandwich]").textContent();
      expect(shown.includes("<script>") && shown.includes("␀"), shown.slice(0, 200));
    });
    await check("a stack of ten thousand frames can be scrolled in full", "#flame", async (page) => {
      const rows = await page.evaluate(() => document.querySelector(".chart").sondeChart.picture.rows);
      expect(rows > 10_000, `${rows} levels`);
    });
  },

  async empty() {
    for (const view of views) {
      await check(`an empty recording: ${view} says what to do`, `#${view}`, async (page) => {
        await page.waitForSelector(`[data-view="${view}"], .empty`);
      });
    }
  },
});
