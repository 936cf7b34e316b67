// The timeline's small helpers: dragging a range, what a tooltip says, what is saved as CSV.

import { nameCode } from "../draw/slices";
import type { TimelinePicture, Hit } from "../draw/timeline";
import type { Chart } from "../draw/chart";
import { csv } from "./save";
import type { Lines } from "./tooltip";
import { roleOf } from "../calc/roles";
import { gapSentence } from "../views/overview/idle";
import { shortKernel } from "../calc/details/call";
import { stretchOf } from "../calc/clip";
import { lowerBound, type Lane } from "../calc/lanes";
import { CATEGORY_WORDS as NAMES, GPU_WORK, KINDS, type Model } from "../data/model";
import * as format from "../calc/format";

// A drag selects; with Shift it moves. A click without movement clears.
export function drag(chart: Chart, picture: TimelinePicture, event: PointerEvent, commit: (range: [number, number] | null) => void, moved: () => void): void {
  const box = chart.host.getBoundingClientRect();
  const at = (e: PointerEvent) => Math.max(0, Math.min(picture.model.duration, picture.timeAt(e.clientX - box.left, chart.width)));
  const start = at(event);
  const x = event.clientX;
  let previous = event.clientX;
  let far = false;
  const move = (e: PointerEvent) => {
    far ||= Math.abs(e.clientX - x) > 3;
    if (!far) return;
    if (event.shiftKey) {
      picture.pan((previous - e.clientX) / (chart.width - picture.gutter));
      moved();
    } else {
      picture.selection = [Math.min(start, at(e)), Math.max(start, at(e))];
      chart.redraw();
    }
    previous = e.clientX;
  };
  const up = (e: PointerEvent) => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    // The click that follows a drag belongs to it.
    if (far) window.addEventListener("click", (e) => e.stopPropagation(), { capture: true, once: true });
    if (far && !event.shiftKey) commit([Math.min(start, at(e)), Math.max(start, at(e))]);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", up);
}

// A drag in the small picture of the whole recording moves what is shown.
export function moveWindow(chart: Chart, picture: TimelinePicture, event: PointerEvent, moved: () => void): void {
  const box = chart.host.getBoundingClientRect();
  const to = (e: PointerEvent) => {
    const t = ((e.clientX - box.left - picture.gutter) / (chart.width - picture.gutter)) * picture.model.duration;
    picture.show(t - (picture.to - picture.from) / 2, picture.to - picture.from);
    moved();
  };
  const up = () => {
    window.removeEventListener("pointermove", to);
    window.removeEventListener("pointerup", up);
  };
  to(event);
  window.addEventListener("pointermove", to);
  window.addEventListener("pointerup", up);
}

export function spanOf(model: Model, hit: { kind: string; row: number }): [number, number] | null {
  if (hit.kind === "sample" && hit.row >= 0) {
    const [start, length] = stretchOf(model)(hit.row);
    return [start, start + length];
  }
  if (hit.kind === "gap" && hit.row >= 0 && hit.row < model.rows("gaps")) {
    const start = model.column("gaps", "start")[hit.row];
    return [start, start + model.column("gaps", "duration")[hit.row]];
  }
  if (hit.kind === "step") return [model.steps[hit.row].start, model.steps[hit.row].end];
  const table = { op: "ops", kernel: "kernels", launch: "launches" }[hit.kind];
  if (!table || hit.row < 0) return null;
  const start = model.column(table, "start")[hit.row];
  return [start, start + model.column(table, "duration")[hit.row]];
}

export function describe(model: Model, picture: TimelinePicture, hit: Hit, at: number, perPixel: number): [string, Lines] {
  if (hit.kind === "step") {
    const step = model.steps[hit.row];
    return [`Step ${step.number}${hit.row < model.warmup ? " (warm-up)" : ""}`, [["duration", format.time(step.length)], ["click: select it in every view"]]];
  }
  if (hit.kind === "op") {
    const node = model.column("ops", "node")[hit.row];
    const call = model.column("opnodes", "call")[node];
    const signature = model.column("ops", "signature")[hit.row];
    const lines: Lines = [
      ["duration", format.time(model.column("ops", "duration")[hit.row])],
      ["self", format.time(model.column("ops", "self")[hit.row])],
      ["kind", KINDS[model.column("calls", "kind")[call]]],
    ];
    const shapes = model.text(model.column("signatures", "shapes")[signature]);
    if (shapes) lines.push(["shapes", shapes.slice(0, 160)]);
    const module = model.text(model.column("calls", "module")[call]);
    if (module) lines.push(["module", module]);
    const file = model.text(model.column("calls", "file")[call]);
    if (file) lines.push(["line", `${format.baseName(file)}:${model.column("calls", "line")[call]}`]);
    const allocated = model.column("ops", "allocated")[hit.row];
    if (allocated) lines.push(["allocated", format.bytes(allocated)]);
    const device = model.column("ops", "device")[hit.row];
    if (device) lines.push(["GPU time launched", format.time(device)]);
    return [picture.name("ops", hit.row), lines];
  }
  if (hit.kind === "kernel") {
    const column = (name: string) => model.column("kernels", name)[hit.row];
    const lines: Lines = [["duration", format.time(column("duration"))], ["work", GPU_WORK[column("work")]]];
    if (column("launch") >= 0) lines.push(["launched", `${format.time(column("start") - model.column("launches", "start")[column("launch")])} before it started`]);
    if (column("op") >= 0) lines.push(["operator", picture.name("ops", column("op"))]);
    if (column("grid") >= 0) lines.push(["grid × block", `${model.text(column("grid"))} × ${model.text(column("block"))}`]);
    if (column("occupancy") > 0) lines.push(["occupancy", `${format.digits(column("occupancy"))} %`]);
    if (column("bytes") > 0) lines.push(["bytes", format.bytes(column("bytes"))]);
    return [shortKernel(model, hit.row), lines];
  }
  if (hit.kind === "launch") {
    return [picture.name("launches", hit.row), [["duration", format.time(model.column("launches", "duration")[hit.row])], ["kind", model.text(model.column("launches", "kind")[hit.row])]]];
  }
  if (hit.kind === "gap") return [gapSentence(model, hit.row), [["click: what ended it, and what the host did"]]];
  if (hit.kind === "module") return [model.text(picture.lanes[hit.lane].modules[hit.row].module), [["module"]]];
  if (hit.kind === "label" && picture.lanes[hit.lane]?.kind === "thread") return [picture.lanes[hit.lane].label, [[roleOf(model, picture.lanes[hit.lane].thread).why || roleOf(model, picture.lanes[hit.lane].thread).words]]];
  if (hit.kind === "samples") return describeSamples(model, picture, hit, at, perPixel);
  return ["", []];
}

// The sample of a lane that stands for a moment, or is nearest to it; -1 when none is near.
export function sampleAt(model: Model, lane: Lane, at: number, perPixel: number): number {
  const time = model.column("samples", "time");
  const stretch = stretchOf(model);
  const reach = Math.max(perPixel * 2, model.slot, 1);
  const from = lowerBound(lane.samples, time, at - lane.longest - reach);
  let best = -1;
  for (let i = from; i < lane.samples.length && time[lane.samples[i]] <= at + lane.longest + reach; i++) {
    const row = lane.samples[i];
    const [start, length] = stretch(row);
    if (at >= start - reach && at <= start + length + reach && (best < 0 || Math.abs(time[row] - at) < Math.abs(time[best] - at))) best = row;
  }
  return best;
}

function describeSamples(model: Model, picture: TimelinePicture, hit: Hit, at: number, perPixel: number): [string, Lines] {
  const lane = picture.lanes[hit.lane];
  const time = model.column("samples", "time");
  const best = sampleAt(model, lane, at, perPixel);
  if (best < 0) return [lane.label, [["no sample near this moment: the thread was idle or not yet started"]]];
  const names: string[] = [];
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  for (let node = model.column("samples", "stack")[best]; node >= 0 && names.length < 12; node = parent[node]) {
    const f = functionOf[frame[node]];
    if (!model.column("functions", "runtime")[f]) names.push(model.text(model.column("functions", "name")[f]));
  }
  const reason = model.text(model.column("samples", "reason")[best]);
  const category = model.category[best];
  return [
    `${NAMES[category]}${reason ? ` (${reason})` : ""}`,
    [["stands for", format.time(model.column("samples", "weight")[best])], ["at", format.time(time[best])], ...names.map((name) => [name] as [string])],
  ];
}

export function countMatches(picture: TimelinePicture, codes: Uint8Array | null): number {
  if (!codes) return 0;
  let found = 0;
  for (const lane of picture.lanes) {
    for (const level of lane.slices) {
      const table = lane.kind === "stream" ? "kernels" : "ops";
      for (const row of level) if (codes[nameCode(picture.model, table, row)]) found++;
    }
  }
  return found;
}

export function sliceCsv(model: Model, picture: TimelinePicture): string {
  const rows: (string | number)[][] = [["lane", "kind", "name", "start_ns", "duration_ns"]];
  for (const lane of picture.lanes) {
    const parts: ["ops" | "kernels" | "launches", Int32Array][] = [
      ...lane.slices.map((level) => [lane.kind === "stream" ? "kernels" : "ops", level] as ["ops" | "kernels", Int32Array]),
      ["launches", lane.launches],
    ];
    for (const [table, list] of parts) {
      for (const row of list) {
        const start = model.column(table, "start")[row];
        const duration = model.column(table, "duration")[row];
        if (start + duration < picture.from || start > picture.to || rows.length > 100_000) continue;
        rows.push([lane.label, table, picture.name(table, row), start, duration]);
      }
    }
  }
  return csv(rows);
}
