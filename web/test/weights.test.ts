import { describe, expect, it } from "vitest";
import { measuresOf, rowsOf } from "../src/calc/weights";
import { small } from "./small";

const all = { range: null, thread: -1, owners: false };
const sum = (rows: { weight: ArrayLike<number> }) => Array.from(rows.weight).reduce((a, b) => a + b, 0);

describe("which rows count", () => {
  it("time on the CPU and time waiting are apart, and together all", () => {
    const model = small();
    expect(sum(rowsOf(model, "cpu", all))).toBe(20);
    expect(sum(rowsOf(model, "off", all))).toBe(20);
    expect(sum(rowsOf(model, "both", all))).toBe(40);
    expect(rowsOf(model, "cpu", all).whole).toBe("CPU time of all threads, whole recording");
  });
  it("a worker counts for itself, or for the thread that opened its region", () => {
    const model = small();
    expect(sum(rowsOf(model, "cpu", { ...all, thread: 2 }))).toBe(7);
    expect(sum(rowsOf(model, "cpu", { ...all, thread: 2, owners: true }))).toBe(0);
    expect(sum(rowsOf(model, "cpu", { ...all, thread: 1, owners: true }))).toBe(20);
  });
  it("the reason of a wait is its innermost box", () => {
    const rows = rowsOf(small(), "off", all);
    expect(rows.source.labels[rows.source.key[rows.node[0]]].name).toBe("waiting: lock");
    expect(rows.source.parent[rows.node[0]]).toBe(2);
  });
  it("a range holds what happened in it", () => {
    expect(sum(rowsOf(small(), "cpu", { ...all, range: [15, 35] }))).toBe(12);
    expect(sum(rowsOf(small(), "off", { ...all, range: [50, 100] }))).toBe(10);
  });
  it("measures are those that the recording has", () => {
    expect(measuresOf(small())).toEqual(["cpu", "off", "both", "gpu"]);
  });
});
