import { expect, test } from "vitest";
import { kindsOf, linesOf } from "../src/calc/account";
import type { AccountAnswer, SliceRow } from "../src/data/answers";

const row = (line: number, kind: string, ms: number, floor_ms: number | null, own_share: number | null): SliceRow => ({
  file: "/p/a.py", line, function: "f", place: `f (a.py:${line})`, modules: null, kind, work: kind, ms, share: ms / 100, own_share, cpu_ms: ms, samples: 1, floor_ms, reason: "",
});
const account = {
  unit: "step", units: 3, whole_ms: 100, own_ms: 50, samples: 9, library_lines: false, kinds: {}, needed_ms: 10, unknown_ms: 0, missing: null, not_carried: 0,
  rows: [row(-1, "taken", 50, null, null), row(7, "arithmetic", 30, 10, 0.6), row(8, "arithmetic", 10, null, 0.2), row(7, "python", 10, 0, 0.2)],
} as AccountAnswer;

test("kinds and lines of the account add up to the step without what others took", () => {
  const kinds = kindsOf(account);
  expect(kinds.map((part) => [part.kind, part.ms, part.floor_ms])).toEqual([["arithmetic", 40, null], ["python", 10, 0]]);
  expect(kinds.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1);
  const lines = linesOf(account, null);
  expect(lines.map((line) => [line.line, line.ms])).toEqual([[7, 40], [8, 10]]);
  expect(linesOf(account, "python").map((line) => line.ms)).toEqual([10]);
});
