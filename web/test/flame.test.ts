import { expect, test } from "vitest";
import { mergedLayers } from "../src/calc/merge";
import { buildTree, plainLabel } from "../src/calc/tree";
import { readTransforms, transformsWord } from "../src/calc/transforms";
import type { Rows } from "../src/calc/weights";

const names = ["main", "blocks.0.attn", "blocks.1.attn", "head", "mm"];
const source = { parent: [-1, 0, 0, 0, 1, 2], key: [0, 1, 2, 3, 4, 4], labels: names.map((name, i) => plainLabel(name, { layer: i === 0 ? 0 : i === 4 ? 2 : 1 })) };
const rows: Rows = { source, node: [4, 5, 3, 0], group: [0, 0, 0, 0], weight: [10, 20, 5, 1], time: [0, 0, 0, 0], samples: null, unit: "time", whole: "all", pruned: 0 };
const options = { hideRuntime: false, byGroup: null, invert: false };
const shown = (tree: ReturnType<typeof buildTree>) => [...tree.label].map((label, i) => `${tree.labels[label].name} ${tree.total[i]}`).sort();

test("equal layers become one frame with their number, and nothing is lost", () => {
  const tree = buildTree({ ...rows, source: mergedLayers(source) }, options);
  expect(shown(tree)).toEqual(["all 36", "blocks.*.attn ×2 30", "head 5", "main 36", "mm 30"]);
  expect(mergedLayers({ ...source, labels: names.map((name) => plainLabel(name, { layer: 0 })) }).labels).toHaveLength(5);
});

test("focus, drop and fold change the tree, and their word reads back", () => {
  const apply = (word: string) => shown(buildTree(rows, { ...options, transforms: readTransforms(word) }));
  expect(apply("focus:blocks.1.attn@")).toEqual(["all 20", "blocks.1.attn 20", "mm 20"]);
  expect(apply("drop:mm@")).toEqual(["all 6", "head 5", "main 6"]);
  expect(apply("fold:head@")).not.toContain("head 5");
  expect(apply("fold:head@")).toContain("main 36");
  expect(transformsWord(readTransforms("focus:a@b.py|drop:c@"))).toBe("focus:a@b.py|drop:c@");
  expect(readTransforms("nonsense|focus:")).toEqual([]);
});
