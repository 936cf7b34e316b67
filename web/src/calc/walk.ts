// Where an arrow key leads from the selected thing on the timeline: left and right along its lane, up to what called or
// launched it, down to what it called or launched, and at the ends on to the next lane.

import type { Model } from "../data/model";
import type { Selection } from "../data/selection";
import { callAt, callerOf, calleesOf, kernelOfLaunch, kernelsOf } from "./calls";
import { lowerBound, type Lane } from "./lanes";

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

export function isArrow(key: string): key is Arrow {
  return /^Arrow(Left|Right|Up|Down)$/.test(key);
}

export function walk(model: Model, lanes: Lane[], from: Selection | null, key: Arrow, shown: [number, number]): Selection | null {
  if (!from || !("row" in from) || from.kind === "gap") return firstIn(model, lanes, 0, shown[0], 1);
  const by = key === "ArrowRight" ? 1 : -1;
  if (from.kind === "step") {
    if (key === "ArrowDown") return firstIn(model, lanes, 0, model.steps[from.row].start, 1);
    return key === "ArrowUp" || !model.steps[from.row + by] ? null : { kind: "step", row: from.row + by };
  }
  const lane = laneOf(model, lanes, from);
  if (lane < 0) return firstIn(model, lanes, 0, shown[0], 1);
  if (key === "ArrowLeft" || key === "ArrowRight") return along(model, lanes[lane], from, by);
  const at = momentOf(model, from);
  const relative = key === "ArrowUp" ? above(model, lanes[lane], from, at) : below(model, lanes[lane], from, at);
  return relative ?? firstIn(model, lanes, lane + (key === "ArrowUp" ? -1 : 1), at, key === "ArrowUp" ? -1 : 1);
}

export function laneOf(model: Model, lanes: Lane[], of: Selection): number {
  if (!("row" in of)) return -1;
  if (of.kind === "kernel") {
    const [process, device, stream] = ["process", "device", "stream"].map((name) => model.column("kernels", name)[of.row]);
    return lanes.findIndex((lane) => lane.kind === "stream" && lane.process === process && lane.device === device && lane.stream === stream);
  }
  const table = { op: "ops", launch: "launches", sample: "samples" }[of.kind as string];
  const thread = of.kind === "thread" ? of.row : table ? model.column(table, "thread")[of.row] : -1;
  return lanes.findIndex((lane) => lane.kind === "thread" && lane.thread === thread);
}

function momentOf(model: Model, of: Selection & { row: number }): number {
  if (of.kind === "sample") return model.column("samples", "time")[of.row];
  const table = { op: "ops", launch: "launches", kernel: "kernels" }[of.kind as string];
  return table ? model.column(table, "start")[of.row] + model.column(table, "duration")[of.row] / 2 : 0;
}

function along(model: Model, lane: Lane, from: Selection & { row: number }, by: number): Selection | null {
  const list = listOf(model, lane, from);
  const at = list ? list.indexOf(from.row) : -1;
  return list && at >= 0 && at + by >= 0 && at + by < list.length ? ({ kind: from.kind, row: list[at + by] } as Selection) : null;
}

function listOf(model: Model, lane: Lane, of: Selection & { row: number }): Int32Array | null {
  if (of.kind === "sample") return lane.samples;
  if (of.kind === "launch") return lane.launches;
  const start = model.column(of.kind === "kernel" ? "kernels" : "ops", "start");
  return lane.slices.find((level) => {
    for (let i = lowerBound(level, start, start[of.row]); i < level.length && start[level[i]] === start[of.row]; i++) if (level[i] === of.row) return true;
    return false;
  }) ?? null;
}

function above(model: Model, lane: Lane, from: Selection & { row: number }, at: number): Selection | null {
  if (from.kind === "op") {
    const row = callerOf(model, from.row);
    return row >= 0 ? { kind: "op", row } : nearestSample(model, lane, at);
  }
  if (from.kind === "kernel") {
    const launch = model.column("kernels", "launch")[from.row];
    return launch >= 0 ? { kind: "launch", row: launch } : null;
  }
  if (from.kind === "launch" && model.rows("ops")) {
    const row = callAt(model, lane.thread, at);
    return row >= 0 ? { kind: "op", row } : null;
  }
  return null;
}

function below(model: Model, lane: Lane, from: Selection & { row: number }, at: number): Selection | null {
  if (from.kind === "op") {
    const [row] = calleesOf(model, from.row);
    const [kernel] = row === undefined ? kernelsOf(model, from.row) : [];
    return row !== undefined ? { kind: "op", row } : kernel !== undefined ? { kind: "kernel", row: kernel } : null;
  }
  if (from.kind === "launch") {
    const row = kernelOfLaunch(model, from.row);
    return row >= 0 ? { kind: "kernel", row } : null;
  }
  return from.kind === "sample" ? atMoment(model, lane.slices[0], "op", at) : null;
}

// The first lane from `lane` on, in the direction `by`, that has something, and its thing nearest to a moment.
function firstIn(model: Model, lanes: Lane[], lane: number, moment: number, by: number): Selection | null {
  for (let i = lane; i >= 0 && i < lanes.length; i += by) {
    const found = lanes[i].kind === "stream" ? atMoment(model, lanes[i].slices[0], "kernel", moment)
      : (nearestSample(model, lanes[i], moment) ?? atMoment(model, lanes[i].slices[0], "op", moment) ?? atMoment(model, lanes[i].launches, "launch", moment));
    if (found) return found;
  }
  return null;
}

function nearestSample(model: Model, lane: Lane, moment: number): Selection | null {
  if (!lane.samples.length) return null;
  const at = lowerBound(lane.samples, model.column("samples", "time"), moment);
  return { kind: "sample", row: lane.samples[Math.min(at, lane.samples.length - 1)] };
}

function atMoment(model: Model, rows: Int32Array | undefined, kind: "op" | "kernel" | "launch", moment: number): Selection | null {
  if (!rows?.length) return null;
  const start = model.column({ op: "ops", kernel: "kernels", launch: "launches" }[kind], "start");
  return { kind, row: rows[Math.max(0, Math.min(rows.length - 1, lowerBound(rows, start, moment) - 1))] };
}

// The slices whose name matches a search, by start, as selections: what [ and ] walk.
export function matchesOf(model: Model, lanes: Lane[], test: (code: number) => boolean, nameOf: (table: "ops" | "kernels", row: number) => number): { start: number; selection: Selection }[] {
  const found: { start: number; selection: Selection }[] = [];
  for (const lane of lanes) {
    const table = lane.kind === "stream" ? "kernels" : "ops";
    const start = lane.slices.length ? model.column(table, "start") : [];
    for (const level of lane.slices) for (const row of level) if (test(nameOf(table, row))) found.push({ start: start[row], selection: { kind: table === "ops" ? "op" : "kernel", row } });
  }
  return found.sort((a, b) => a.start - b.start);
}
