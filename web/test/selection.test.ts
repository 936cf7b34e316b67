import { expect, test } from "vitest";
import { lineWord, readLine, readSelection, selectionWord } from "../src/data/selection";
import { detailsOf, siblingOf } from "../src/calc/details";
import { neighbours, totalsOf } from "../src/calc/related";
import { tokens } from "../src/calc/highlight";
import { buildLanes } from "../src/calc/lanes";
import { walk } from "../src/calc/walk";
import { rowsOf } from "../src/calc/weights";
import { calls } from "./calls";
import { small } from "./small";

test("a selection is one word, and a word that means nothing is refused", () => {
  const model = calls();
  expect(readSelection(selectionWord({ kind: "op", row: 2 }), model)).toEqual({ kind: "op", row: 2 });
  expect(readSelection("function:f@a:b.py", model)).toEqual({ kind: "function", name: "f@a:b.py" });
  for (const word of ["", "op", "op:", "op:99", "op:-1", "op:1e3", "what:1", "line:"]) expect(readSelection(word, model)).toBe(null);
  expect(readLine(lineWord("/p/a:b.py", 7))).toEqual({ file: "/p/a:b.py", line: 7 });
});

test("a call knows its callers, what it called, its kernel and its place in the chain", () => {
  const model = calls();
  const linear = detailsOf(model, { kind: "op", row: 1 }, null, "ops")!;
  expect(linear.title).toBe("aten::linear");
  expect(linear.callers!.rows.map((row) => row.name)).toEqual(["step"]);
  expect(linear.callees!.rows.map((row) => row.name)).toEqual(["aten::mm"]);
  expect(linear.chain.map((link) => link.layer)).toEqual(["line", "module", "operator", "launch", "queue", "kernel"]);
  expect(linear.chain[4].text).toBe("5.00 ns in the queue");
  expect(linear.siblings).toMatchObject({ at: 0 });
  const kernel = detailsOf(model, { kind: "kernel", row: 0 }, null, "ops")!;
  expect(kernel.title).toBe("gemm");
  expect(kernel.callers!.rows.map((row) => row.name)).toEqual(["aten::mm", "aten::linear", "step"]);
  expect(siblingOf(linear, "op", 1)).toEqual({ kind: "op", row: 3 });
  expect(siblingOf(linear, "op", -1)).toBe(null);
});

test("arrow keys walk calls, and from a call to its kernel and back to the launch", () => {
  const model = calls();
  const lanes = buildLanes(model);
  const go = (row: number, key: "ArrowUp" | "ArrowDown" | "ArrowRight") => walk(model, lanes, { kind: "op", row }, key, [0, 100]);
  expect(go(1, "ArrowUp")).toEqual({ kind: "op", row: 0 });
  expect(go(1, "ArrowDown")).toEqual({ kind: "op", row: 2 });
  expect(go(1, "ArrowRight")).toEqual({ kind: "op", row: 3 });
  expect(go(2, "ArrowDown")).toEqual({ kind: "kernel", row: 0 });
  expect(walk(model, lanes, { kind: "kernel", row: 0 }, "ArrowUp", [0, 100])).toEqual({ kind: "launch", row: 0 });
  expect(walk(model, lanes, null, "ArrowRight", [0, 100])).toEqual({ kind: "op", row: 0 });
});

test("callers and callees each add up to the function's total", () => {
  const rows = rowsOf(small(), "cpu", { range: null, thread: -1, owners: false });
  const main = rows.source.labels.findIndex((label) => label.name === "main");
  const { callers, callees } = neighbours(rows, main, true);
  const { total } = totalsOf(rows, main);
  expect(total).toBe(20);
  for (const list of [callers, callees]) expect(list.reduce((sum, n) => sum + n.value, 0)).toBe(total);
  expect(callees.map((n) => (n.key < 0 ? "self" : rows.source.labels[n.key].name))).toEqual(["f", "g", "self"]);
});

test("source is coloured without losing a character", () => {
  const line = `    x = f"a # {b}" + call(1.5)  # not "code"`;
  expect(tokens(line).map(([, text]) => text).join("")).toBe(line);
  expect(tokens(line).filter(([kind]) => kind).map(([kind]) => kind)).toEqual(["string", "call", "number", "comment"]);
});
