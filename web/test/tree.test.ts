import { describe, expect, it } from "vitest";
import { calleeTree, callerTree, functionTable } from "../src/calc/functions";
import { buildTree, matchedTotal, nodeAt, plainLabel } from "../src/calc/tree";
import type { Rows } from "../src/calc/weights";

//  0 main ── 1 run(runtime) ── 2 f ── 3 g ── 4 f
//                          └── 5 g
const names = ["main", "run", "f", "g"];
function rows(node: number[], weight: number[], group = node.map(() => 0)): Rows {
  const labels = names.map((name) => plainLabel(name));
  labels[1].runtime = true;
  return {
    source: { parent: [-1, 0, 1, 2, 3, 1], key: [0, 1, 2, 3, 2, 3], labels },
    node, weight, group, time: node.map(() => 0), samples: node.map(() => 1), unit: "time", whole: "all", pruned: 0,
  };
}
const plain = { hideRuntime: false, byGroup: null, invert: false };
const name = (tree: ReturnType<typeof buildTree>, node: number) => tree.labels[tree.label[node]].name;

describe("flame tree", () => {
  it("keeps the sum and nests children inside parents", () => {
    const tree = buildTree(rows([4, 3, 5, 2], [10, 5, 20, 1]), plain);
    expect(tree.sum).toBe(36);
    for (let i = 1; i < tree.parent.length; i++) {
      expect(tree.x[i]).toBeGreaterThanOrEqual(tree.x[tree.parent[i]]);
      expect(tree.x[i] + tree.total[i]).toBeLessThanOrEqual(tree.x[tree.parent[i]] + tree.total[tree.parent[i]] + 1e-9);
    }
    expect(tree.self.reduce((a, b) => a + b)).toBe(36);
  });
  it("gives a hidden frame's time to the frame above", () => {
    const tree = buildTree(rows([1, 5], [7, 3]), { ...plain, hideRuntime: true });
    const main = nodeAt(tree, 1, 0);
    expect([name(tree, main), tree.self[main], tree.total[main]]).toEqual(["main", 7, 10]);
    expect(tree.levels.length).toBe(3);
  });
  it("makes one root per thread", () => {
    const tree = buildTree(rows([5, 5], [1, 2], [7, 8]), { ...plain, byGroup: (g) => `thread ${g}` });
    expect([...tree.levels[1]].map((n) => [name(tree, n), tree.total[n]])).toEqual([["thread 8", 2], ["thread 7", 1]]);
  });
  it("inverted starts at the innermost frame", () => {
    const tree = buildTree(rows([4, 5], [10, 20]), { ...plain, invert: true });
    expect([...tree.levels[1]].map((n) => [name(tree, n), tree.total[n]])).toEqual([["g", 20], ["f", 10]]);
  });
  it("says how much is pruned", () => {
    const tree = buildTree({ ...rows([5], [1]), pruned: 9 }, plain);
    expect(tree.sum).toBe(10);
    expect(name(tree, nodeAt(tree, 1, 0))).toContain("pruned");
  });
  it("counts nested matches once", () => {
    const tree = buildTree(rows([4, 5], [10, 20]), plain);
    const matches = Uint8Array.from(tree.labels, (l) => (l.name === "f" ? 1 : 0));
    expect(matchedTotal(tree, matches)).toBe(10);
  });
  it("survives a stack of 10,000 frames", () => {
    const n = 10_000;
    const deep: Rows = {
      ...rows([n - 1], [1]),
      source: { parent: Array.from({ length: n }, (_, i) => i - 1), key: Array.from({ length: n }, (_, i) => i % 4), labels: names.map((x) => plainLabel(x)) },
    };
    expect(buildTree(deep, plain).levels.length).toBe(n + 1);
    expect(buildTree(deep, { ...plain, invert: true }).levels.length).toBeLessThan(300);
    expect(functionTable(deep).map((r) => r.total)).toEqual([1, 1, 1, 1]);
  });
});

describe("functions", () => {
  it("counts recursion once in total", () => {
    const table = functionTable(rows([4, 2], [10, 1]));
    const f = table.find((r) => r.key === 2)!;
    expect([f.self, f.total]).toEqual([11, 11]);
    expect(table.find((r) => r.key === 0)!.total).toBe(11);
  });
  it("callers and callees of a function hold its total", () => {
    const both = rows([4, 3, 5], [10, 5, 20]);
    expect(callerTree(both, 3, false).sum).toBe(35);
    expect(calleeTree(both, 3, false).sum).toBe(35);
    expect(calleeTree(both, 2, false).sum).toBe(15);
  });
});
