// Time per source line. "From the line" is additive: each sample counts for the
// innermost line of the user's own files; "total" also counts lines further up.

import { clipped } from "./clip";
import { CATEGORIES, type Model } from "../data/model";
import { outermostBy } from "./functions";

export interface LineTime {
  own: number[]; // by category
  sum: number;
  total: number;
}

export interface FileTime {
  file: string;
  sum: number;
  lines: Map<number, LineTime>;
  source: { lines: string[]; changed: boolean } | null;
}

const recent = new WeakMap<Model, { id: string; files: FileTime[] }>();

export function fileTimes(model: Model, range: [number, number] | null): FileTime[] {
  const id = String(range);
  const known = recent.get(model);
  if (known?.id === id) return known.files;
  const files = countedFiles(model, range);
  recent.set(model, { id, files });
  return files;
}

function countedFiles(model: Model, range: [number, number] | null): FileTime[] {
  const files = new Map<string, FileTime>();
  const mine = new Map<string, FileTime["source"]>();
  for (const entry of model.facts.source?.files ?? []) mine.set(model.text(entry.file), entry);
  const fileOf = (name: string): FileTime => {
    let found = files.get(name);
    if (!found) files.set(name, (found = { file: name, sum: 0, lines: new Map(), source: mine.get(name) ?? null }));
    return found;
  };
  const lineOf = (file: FileTime, line: number): LineTime => {
    let found = file.lines.get(line);
    if (!found) file.lines.set(line, (found = { own: CATEGORIES.map(() => 0), sum: 0, total: 0 }));
    return found;
  };
  for (const name of mine.keys()) fileOf(name);
  if (model.has("samples")) sampled(model, range, mine, fileOf, lineOf);
  else if (model.has("ops")) called(model, range, fileOf, lineOf);
  return [...files.values()].filter((file) => file.sum > 0 || file.source).sort((a, b) => b.sum - a.sum);
}

function sampled(
  model: Model,
  range: [number, number] | null,
  mine: Map<string, FileTime["source"]>,
  fileOf: (name: string) => FileTime,
  lineOf: (file: FileTime, line: number) => LineTime,
): void {
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  const line = model.column("frames", "line");
  const file = model.column("functions", "file");
  // One key per (file, line) that can be shown: project files, or without any all files.
  const keys = new Map<string, number>();
  const places: [string, number][] = [];
  const keyOfFrame = new Int32Array(functionOf.length).fill(-1);
  for (let i = 0; i < functionOf.length; i++) {
    const name = model.text(file[functionOf[i]]);
    if (!name || line[i] <= 0 || (mine.size && !mine.has(name))) continue;
    const id = `${name}:${line[i]}`;
    if (!keys.has(id)) {
      keys.set(id, places.length);
      places.push([name, line[i]]);
    }
    keyOfFrame[i] = keys.get(id)!;
  }
  const own = new Int32Array(parent.length);
  const nearest = new Int32Array(parent.length);
  for (let i = 0; i < parent.length; i++) {
    own[i] = keyOfFrame[frame[i]];
    nearest[i] = own[i] >= 0 ? own[i] : parent[i] >= 0 ? nearest[parent[i]] : -1;
  }
  const total = new Float64Array(parent.length);
  const stack = model.column("samples", "stack");
  const inside = clipped(model, range);
  for (let i = 0; i < stack.length; i++) {
    const weight = inside(i);
    if (!weight) continue;
    total[stack[i]] += weight;
    const key = nearest[stack[i]];
    if (key < 0) continue;
    const home = fileOf(places[key][0]);
    const row = lineOf(home, places[key][1]);
    row.own[model.category[i]] += weight;
    row.sum += weight;
    home.sum += weight;
  }
  for (let i = parent.length - 1; i >= 0; i--) if (parent[i] >= 0) total[parent[i]] += total[i];
  const outer = outermostBy(parent, own, places.length);
  for (let i = 0; i < parent.length; i++) {
    if (outer[i] && total[i] > 0) lineOf(fileOf(places[own[i]][0]), places[own[i]][1]).total += total[i];
  }
}

function called(model: Model, range: [number, number] | null, fileOf: (name: string) => FileTime, lineOf: (file: FileTime, line: number) => LineTime): void {
  const call = model.column("opnodes", "call");
  const column = (name: string) => model.column("ops", name);
  for (let i = 0; i < model.rows("ops"); i++) {
    if (range && (column("start")[i] < range[0] || column("start")[i] > range[1])) continue;
    const c = call[column("node")[i]];
    const name = model.text(model.column("calls", "file")[c]);
    if (!name) continue;
    const home = fileOf(name);
    const row = lineOf(home, model.column("calls", "line")[c]);
    row.own[2] += column("self")[i];
    row.sum += column("self")[i];
    row.total += column("self")[i];
    home.sum += column("self")[i];
  }
}
