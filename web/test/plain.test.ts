// Declared columns come to the page by themselves: plain tables, and operators of a selected range.

import { expect, test } from "vitest";
import { COLUMNS } from "../src/data/answers";
import { unit } from "../src/calc/format";
import { opTable } from "../src/calc/ops";
import { plainColumns } from "../src/views/plain";
import { calls } from "./calls";

test("a plain table has the declared columns in which anything is known", () => {
  const rows = [{ kind: "all_reduce", calls: 12, bytes: 2048, waiting_ms: null, file: "/a/train.py", line: 7 }];
  const full = rows.map((row) => ({ ...Object.fromEntries(COLUMNS.collectives.map(({ key }) => [key, null])), ...row }));
  const columns = plainColumns("collectives", full);
  expect(columns.map((column) => column.id)).toEqual(["kind", "bytes", "calls", "file", "line"]);
  expect(columns.map((column) => column.show!(full[0]))).toEqual(["all_reduce", "2.00 KiB", "12", "train.py", "7"]);
});

test("a unit says how a number is written", () => {
  expect(unit(1.5, "ms")).toBe("1.50 ms");
  expect(unit(0.25, "share")).toBe("25 %");
  expect(unit(3, "GB/s")).toBe("3.00 GB/s");
  expect(unit(NaN, "ms")).toBe("–");
});

test("a row of a range has every declared column, unknown unless it is summed", () => {
  const [row] = opTable(calls(), "name", [0, 1e15], -1).rows;
  expect(Object.keys(row).sort()).toEqual(COLUMNS.ops.map(({ key }) => key as string).sort());
  expect(row.cpu_mem_bytes).toBeNull();
  expect(row.calls).toBeGreaterThan(0);
});
