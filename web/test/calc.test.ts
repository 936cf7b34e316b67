import { describe, expect, it } from "vitest";
import { matcher } from "../src/calc/search";
import { findSteps } from "../src/calc/steps";
import { bytes, percent, shareError, time } from "../src/calc/format";
import { isResident } from "../src/calc/counters";
import { intersection, lengthOf, union } from "../src/calc/gpu";
import { firstTable, rowsOfTable, type Comparison, type ComparisonRow } from "../src/data/comparison";
import { drawnFill, drawnWord } from "../src/data/model";
import { csv } from "../src/ui/save";
import { contrast, DARK_THEME, LIGHT_THEME } from "../src/draw/theme";
import { escapeXml, fit, SvgPen } from "../src/draw/pen";
import { niceStep, timeStep } from "../src/draw/curve";
import { Store } from "../src/data/store";

describe("format", () => {
  it("names the unit and keeps three digits", () => {
    expect([time(0), time(999), time(1234567), time(2.5e9), time(9e10)]).toEqual(["0", "999 ns", "1.23 ms", "2.50 s", "1.50 min"]);
    expect([bytes(500), bytes(1536), bytes(5.5e9)]).toEqual(["500 B", "1.50 KiB", "5.12 GiB"]);
    expect([percent(0.0004), percent(0.5), percent(0.031), percent(NaN)]).toEqual(["< 0.1 %", "50 %", "3.1 %", "–"]);
  });
  it("gives Wilson's half width", () => {
    expect(shareError(0.5, 100)).toBeCloseTo(0.0961, 3);
  });
});

describe("what a function is drawn as", () => {
  it("is its layer, and of native code what it is for, in word and colour", () => {
    const [sgemm, conv, plain] = [{ layer: 3, work: 3 }, { layer: 4, work: 3 }, { layer: 3, work: 4 }];
    expect([sgemm, conv, plain].map(drawnWord)).toEqual(["compute kernel", "compute kernel", "native code"]);
    for (const theme of [LIGHT_THEME, DARK_THEME]) {
      expect(drawnFill(sgemm, theme)).toBe(drawnFill(conv, theme));
      expect(drawnFill(plain, theme)).not.toBe(drawnFill(sgemm, theme));
      expect(drawnFill({ layer: 5, work: 5 }, theme)).toBe(theme.category[5]);
    }
  });
});

describe("search", () => {
  it("is without case as text, and says when an expression is wrong", () => {
    expect(matcher("GeLu", false).test("aten::gelu")).toBe(true);
    expect(matcher("a.*u$", true).test("aten::gelu")).toBe(true);
    expect(matcher("(", true).error).toBeTruthy();
    expect(matcher("(", false).test("f(x)")).toBe(true);
  });
});

describe("steps", () => {
  it("are those of the answer, at the page's own times", () => {
    const row = { index: 4, start_ns: 1_500, ms: 0.002, taken_ms: 0.001, in_window: false };
    const told = { process: 0, kind: "train", count: 1, warmup: 1, left_out: 0, median_ms: 0.002, p10_ms: 0.002, p90_ms: 0.002, phase_ms: {}, steps: [row], run: [], processes: [], taken_away: {}, not_carried: 0 };
    expect(findSteps(told, 1_000)).toEqual({ steps: [{ number: 4, start: 500, end: 3_500, length: 2_000 }], warmup: 1 });
    expect(findSteps(null, 0)).toEqual({ steps: [], warmup: 0 });
  });
});

describe("device time", () => {
  it("is the union, and overlap the intersection", () => {
    expect(lengthOf(union([[5, 8], [0, 3], [2, 6]]))).toBe(8);
    expect(intersection(union([[0, 10]]), union([[5, 7], [9, 20]]))).toBe(3);
  });
});

describe("comparison", () => {
  const row = (dimension: string, name: string, sure: boolean) => ({ dimension, source: "samples", name, sure }) as ComparisonRow;
  const tables = ["op", "line"].map((dimension) => ({ dimension, source: "samples", title: dimension }));
  it("opens with the first table that has a significant row, else with the first", () => {
    const rows = [row("op", "aten::mm", false), row("line", "train.py:3 step", true)];
    const found = { tables, rows } as unknown as Comparison;
    expect(firstTable(found)?.dimension).toBe("line");
    expect(rowsOfTable(found, tables[1]).map((r) => r.name)).toEqual(["train.py:3 step"]);
    expect(firstTable({ ...found, rows: rows.slice(0, 1) })?.dimension).toBe("op");
    expect(firstTable({ ...found, tables: [] })).toBe(null);
  });
});

describe("export", () => {
  it("quotes what a spreadsheet would split or run", () => {
    expect(csv([["a,b", '=cmd|" /C calc"!A0', 3, NaN]])).toBe('"a,b","\'=cmd|"" /C calc""!A0",3,\r\n');
  });
  it("escapes names in SVG", () => {
    const pen = new SvgPen();
    pen.text("</text><script>alert(1)</script>", 0, 0, "#000", 10);
    expect(pen.document(10, 10, "#fff")).not.toContain("<script>");
    expect(escapeXml(`<&"'>`)).not.toMatch(/[<>"']/);
  });
  it("cuts a label to its box", () => {
    expect(fit("abcdefghijklmnop", 50, 10)).toMatch(/…$/);
    expect(fit("abc", 4, 10)).toBe("");
  });
});

describe("colours", () => {
  for (const theme of [LIGHT_THEME, DARK_THEME]) {
    it(`${theme.dark ? "dark" : "light"}: text on every fill reaches 4.5 to 1`, () => {
      const hex = (rgb: number[]) => `#${rgb.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
      const fills = [...theme.layer, ...theme.category, ...theme.gpu, ...theme.kind, ...theme.hues, theme.match, hex(theme.worse), hex(theme.better)];
      for (const fill of fills) expect([fill, contrast(theme.onFill, fill) >= 4.5]).toEqual([fill, true]);
      for (const ground of [theme.page, theme.panel, theme.band, theme.warm]) {
        expect([ground, contrast(theme.text, ground) >= 4.5, contrast(theme.faint, ground) >= 4.5]).toEqual([ground, true, true]);
      }
    });
  }
  it("knows the ratio of black and white", () => expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5));
});

describe("axis", () => {
  it("steps by 1, 2, 5 or powers of two", () => {
    expect([niceStep(3, false), niceStep(0.13, false), niceStep(100, true)]).toEqual([5, 0.2, 128]);
  });
  it("has round minutes", () => expect([timeStep(3e9), timeStep(70e9), timeStep(25e9)]).toEqual([5e9, 120e9, 30e9]));
});

describe("links", () => {
  it("say everything and come back", () => {
    const store = new Store("#flame?range=10-250&q=a%26b&re=1");
    expect([store.view, store.range, store.get("q", ""), store.flag("re", false)]).toEqual(["flame", [10, 250], "a&b", true]);
    expect(new Store(store.hash()).params).toEqual(store.params);
  });
  it("ignore a range that is none", () => expect(new Store("#flame?range=x").range).toBe(null));
});

describe("resident memory", () => {
  it("is that of the program, over time", () => {
    expect(isResident({ name: "rss_bytes", times: [0, 1] })).toBe(true);
    expect(isResident({ name: "agent_memory_bytes", times: [0, 1] })).toBe(false);
    expect(isResident({ name: "rss_bytes", times: [0] })).toBe(false);
  });
});
