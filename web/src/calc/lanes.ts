// The lanes of the timeline: one per thread and one per GPU stream, grouped by
// process, main thread first, busiest next. A lane knows its rows in the order
// in which they can be searched by time.

import { stretchOf } from "./clip";
import { CATEGORY_ORDER, type Model } from "../data/model";

export interface Lane {
  kind: "process" | "thread" | "stream";
  label: string;
  note: string;
  process: number;
  thread: number;
  samples: Int32Array; // rows of `samples`, by time
  slices: Int32Array[]; // rows of `ops` by depth, by start; for a stream rows of `kernels`
  launches: Int32Array; // rows of `launches`, by start
  weight: number; // CPU time
  longest: number; // longest time that one sample stands for
  bins: Float32Array | null; // sampled time by bin and category, for drawing from afar
}

const NONE = new Int32Array(0);
const MAX_DEPTH = 64;

export function buildLanes(model: Model): Lane[] {
  const threads = new Map<number, Lane>();
  const laneOf = (thread: number): Lane => {
    let lane = threads.get(thread);
    if (!lane) {
      const actor = model.threadById.get(thread);
      lane = {
        kind: "thread", label: model.threadLabel(thread), note: actor ? `${actor.kind || "thread"} ${actor.tid}` : "",
        process: actor?.process ?? -1, thread, samples: NONE, slices: [], launches: NONE, weight: 0, longest: 0, bins: null,
      };
      threads.set(thread, lane);
    }
    return lane;
  };
  const stretch = model.rows("samples") ? stretchOf(model) : (): [number, number] => [0, 0];
  for (const actor of model.threads) {
    const lane = laneOf(actor.id);
    lane.samples = model.samplesOf(actor.id);
    const weight = lane.samples.length ? model.column("samples", "weight") : [];
    const state = lane.samples.length ? model.column("samples", "state") : [];
    for (const row of lane.samples) {
      lane.weight += state[row] === 3 ? 0 : weight[row];
      lane.longest = Math.max(lane.longest, stretch(row)[1]);
    }
  }
  addOps(model, laneOf);
  addLaunches(model, laneOf);
  const streams = streamLanes(model);
  const roles = new Map<number, string>();
  const ranks = new Map<number, number>();
  for (let i = 0; i < model.rows("processes"); i++) {
    const id = model.column("processes", "process")[i];
    roles.set(id, `${model.text(model.column("processes", "role")[i]) || "process"} ${model.column("processes", "pid")[i]}`);
    ranks.set(id, model.column("processes", "rank")[i]);
  }
  const lanes = [...threads.values()].filter((lane) => lane.samples.length || lane.slices.length || lane.launches.length);
  const processes = [...new Set([...lanes, ...streams].map((lane) => lane.process))].sort((a, b) => a - b);
  const out: Lane[] = [];
  for (const process of processes) {
    const number = ranks.get(process) ?? -1;
    const own = lanes.filter((lane) => lane.process === process);
    own.sort((a, b) => rank(model, a) - rank(model, b) || b.weight - a.weight || a.thread - b.thread);
    const name = `${roles.get(process) ?? "process"}${number >= 0 ? `, rank ${number}` : ""}`;
    out.push({ kind: "process", label: name, note: `${own.length} threads`, process, thread: -1, samples: NONE, slices: [], launches: NONE, weight: 0, longest: 0, bins: null });
    out.push(...own, ...streams.filter((lane) => lane.process === process));
  }
  return out;
}

// The main thread first, our own last.
function rank(model: Model, lane: Lane): number {
  const kind = model.threadById.get(lane.thread)?.kind;
  return kind === "main" ? 0 : kind === "sonde" ? 2 : 1;
}

function addOps(model: Model, laneOf: (thread: number) => Lane): void {
  const rows = model.rows("ops");
  if (!rows) return;
  const node = model.column("ops", "node");
  const thread = model.column("ops", "thread");
  const parent = model.column("opnodes", "parent");
  const depth = new Int32Array(parent.length);
  for (let i = 0; i < depth.length; i++) depth[i] = parent[i] >= 0 ? depth[parent[i]] + 1 : 0;
  const byLane = new Map<number, number[][]>();
  for (let i = 0; i < rows; i++) {
    let levels = byLane.get(thread[i]);
    if (!levels) byLane.set(thread[i], (levels = []));
    const level = Math.min(MAX_DEPTH - 1, depth[node[i]]);
    while (levels.length <= level) levels.push([]);
    levels[level].push(i);
  }
  // A level that lost all of its calls to pruning takes no room.
  for (const [id, levels] of byLane) {
    laneOf(id).slices = levels.filter((l) => l.length).map((l) => Int32Array.from(l));
  }
}

function addLaunches(model: Model, laneOf: (thread: number) => Lane): void {
  const rows = model.rows("launches");
  if (!rows) return;
  const thread = model.column("launches", "thread");
  const byLane = new Map<number, number[]>();
  for (let i = 0; i < rows; i++) {
    if (!byLane.has(thread[i])) byLane.set(thread[i], []);
    byLane.get(thread[i])!.push(i);
  }
  for (const [id, list] of byLane) laneOf(id).launches = Int32Array.from(list);
}

function streamLanes(model: Model): Lane[] {
  const rows = model.rows("kernels");
  if (!rows) return [];
  const process = model.column("kernels", "process");
  const device = model.column("kernels", "device");
  const stream = model.column("kernels", "stream");
  const groups = new Map<string, { lane: Lane; rows: number[]; device: number; stream: number }>();
  for (let i = 0; i < rows; i++) {
    const key = `${process[i]}:${device[i]}:${stream[i]}`;
    let group = groups.get(key);
    if (!group) {
      const lane: Lane = {
        kind: "stream", label: `GPU ${device[i]} stream ${stream[i]}`, note: "kernels and copies", process: process[i], thread: -1,
        samples: NONE, slices: [], launches: NONE, weight: 0, longest: 0, bins: null,
      };
      groups.set(key, (group = { lane, rows: [], device: device[i], stream: stream[i] }));
    }
    group.rows.push(i);
  }
  return [...groups.values()]
    .sort((a, b) => a.device - b.device || a.stream - b.stream)
    .map((group) => {
      group.lane.slices = [Int32Array.from(group.rows)];
      return group.lane;
    });
}

export const BINS = 8192;

// A lane's samples summed into BINS equal stretches of the recording.
export function binsOf(model: Model, lane: Lane): Float32Array {
  if (lane.bins) return lane.bins;
  const kinds = CATEGORY_ORDER.length;
  const out = new Float32Array(BINS * kinds);
  const weight = model.column("samples", "weight");
  const width = model.duration / BINS;
  const stretch = stretchOf(model);
  for (const row of lane.samples) {
    const [start, length] = stretch(row);
    const density = weight[row] / length;
    const first = Math.max(0, Math.floor(start / width));
    const last = Math.min(BINS - 1, Math.floor((start + length) / width));
    for (let bin = first; bin <= last; bin++) {
      const covered = Math.min(start + length, (bin + 1) * width) - Math.max(start, bin * width);
      if (covered > 0) out[bin * kinds + model.category[row]] += covered * density;
    }
  }
  return (lane.bins = out);
}

// First position in `rows` whose `column` value is at least `value`.
export function lowerBound(rows: Int32Array, column: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[rows[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
