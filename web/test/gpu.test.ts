import { describe, expect, it } from "vitest";
import { deviceRows } from "../src/calc/gpu";
import { buildLanes } from "../src/calc/lanes";
import { small } from "./small";

describe("a device in a range", () => {
  it("is busy for the union of its kernels and copies", () => {
    const [row] = deviceRows(small(), [0, 100]);
    expect([row.events, row.busy_ms * 1e6, row.compute_ms * 1e6, row.copy_ms * 1e6]).toEqual([3, 35, 30, 10]);
    expect(row.idle_host_ms).toBeUndefined();
  });
  it("counts the part of a kernel that lies inside", () => {
    const [row] = deviceRows(small(), [70, 90]);
    expect([row.busy_ms * 1e6, row.compute_ms * 1e6]).toEqual([10, 10]);
  });
});

describe("lanes of the timeline", () => {
  it("begin with the process and its main thread, then workers, then streams", () => {
    const lanes = buildLanes(small());
    expect(lanes.map((lane) => lane.kind)).toEqual(["process", "thread", "thread", "stream", "stream"]);
    expect(lanes.slice(1, 3).map((lane) => lane.thread)).toEqual([1, 2]);
    expect(lanes[1].weight).toBe(13); // waits are no CPU time
    expect(lanes[1].longest).toBe(20);
  });
});
