// Details of what has a name and many places: a function of the flame, an operator, a kernel, a module, a line.

import { CATEGORY_WORDS, drawnWord, type Model } from "../../data/model";
import { lineWord, readLine, type Selection } from "../../data/selection";
import { callOf, callerOf, opName, placeOf, sameName } from "../calls";
import * as format from "../format";
import { fileTimes } from "../lines";
import { neighbours, totalsOf } from "../related";
import type { Label } from "../source";
import { measuresOf, rowsOf, type Measure, type Rows } from "../weights";
import { shortKernel, sourceLine } from "./call";
import { blank, type Details, type Relative } from "./types";

export type Range = [number, number] | null;

export function labelId(label: Label): string {
  return `${label.name}@${label.file || label.library}`;
}

export function ofFunction(model: Model, name: string, measure: Measure, range: Range): Details | null {
  const found = rowsWith(model, name, measure, range);
  if (!found) return null;
  const { rows, key, measure: used } = found;
  const label = rows.source.labels[key];
  const details = blank(label.layer === 2 ? "operator" : label.layer === 7 ? "label" : label.layer === 1 ? "module" : `${drawnWord(label)} function`, label.name);
  details.full = label.full !== label.name ? label.full : "";
  const { self, total, count } = totalsOf(rows, key);
  const whole = rows.weightSum;
  const shown = (value: number) => `${rows.unit === "time" ? format.time(value) : format.bytes(value)} · ${format.percent(value / Math.max(1, whole))}`;
  details.facts = [
    ["total", shown(total), `of ${rows.whole}; with what it called, recursion counted once`],
    ["self", shown(self), "without what it called"],
  ];
  if (rows.samples) details.facts.push(["samples", `${format.count(count)} ± ${(format.shareError(total / Math.max(1, whole), rows.sampleSum) * 100).toFixed(1)} points`, "few samples, rough number"]);
  details.facts.push(["100 % is", rows.whole]);
  if (label.file) details.facts.push(["file", label.file]);
  if (label.library && label.library !== label.file) details.facts.push([label.layer === 2 ? "module" : "library", label.library]);
  const { callers, callees } = neighbours(rows, key, true);
  const relative = (list: { key: number; value: number }[], none: string): Relative[] =>
    list.slice(0, 100).map((n) => {
      const at = n.key >= 0 ? rows.source.labels[n.key] : null;
      return { name: at ? at.name : none, layer: at ? at.layer : -1, work: at?.work, value: n.value, selection: at ? { kind: "function", name: labelId(at) } : null };
    });
  details.callers = { title: "Callers", rows: relative(callers, "(nothing: it is a root)"), whole: total, unit: rows.unit };
  details.callees = { title: "Callees", rows: relative(callees, "(its own time, with hidden frames)"), whole: total, unit: rows.unit };
  const line = label.layer === 0 && label.file ? hottestLine(model, name, range) : -1;
  details.place = label.file ? { file: label.file, line: line > 0 ? line : label.line } : null;
  details.flame = { measure: used, name: label.name };
  if (label.layer === 2) details.names.push(label.name.replace(/^aten::/, ""));
  return details;
}

// The measure asked for when it knows the function, else the first that does: a link may come from another view.
function rowsWith(model: Model, name: string, wanted: Measure, range: Range): { rows: Rows & { weightSum: number; sampleSum: number }; key: number; measure: Measure } | null {
  const all = measuresOf(model);
  for (const measure of [...all.filter((m) => m === wanted), ...all]) {
    const rows = rowsOf(model, measure, { range, thread: -1, owners: false, merge: name.includes("*") });
    const key = rows.source.labels.findIndex((label) => labelId(label) === name);
    if (key < 0) continue;
    let [weightSum, sampleSum] = [0, 0];
    for (let i = 0; i < rows.weight.length; i++) {
      weightSum += rows.weight[i];
      if (rows.samples) sampleSum += rows.samples[i];
    }
    return { rows: { ...rows, weightSum, sampleSum }, key, measure };
  }
  return null;
}

// The line of a Python function in which most of its time is.
function hottestLine(model: Model, id: string, range: Range): number {
  if (!model.has("samples")) return -1;
  const [functionOf, line] = ["function", "line"].map((name) => model.column("frames", name));
  const [parent, frame] = ["parent", "frame"].map((name) => model.column("stacks", name));
  const functions = (name: string) => model.column("functions", name);
  const rows = rowsOf(model, "cpu", { range, thread: -1, owners: false });
  const total = new Float64Array(parent.length);
  for (let i = 0; i < rows.node.length; i++) total[rows.node[i]] += rows.weight[i];
  for (let i = parent.length - 1; i >= 0; i--) if (parent[i] >= 0) total[parent[i]] += total[i];
  const sums = new Map<number, number>();
  const wanted = new Set<number>();
  for (let f = 0; f < model.rows("functions"); f++) {
    if (`${model.text(functions("name")[f]) || "(unnamed)"}@${model.text(functions("file")[f]) || model.text(functions("library")[f])}` === id) wanted.add(f);
  }
  for (let i = 0; i < parent.length; i++) {
    if (wanted.has(functionOf[frame[i]]) && line[frame[i]] > 0) sums.set(line[frame[i]], (sums.get(line[frame[i]]) ?? 0) + total[i]);
  }
  return [...sums].sort((a, b) => b[1] - a[1])[0]?.[0] ?? -1;
}

export function ofOperator(model: Model, name: string, range: Range): Details | null {
  const details = blank("operator", name);
  const told = model.operators("name")?.rows.find((row) => row.name === name) ?? null;
  const code = model.strings.indexOf(name);
  const calls = model.rows("ops") && code >= 0 ? sameName(model, "ops", code) : new Int32Array(0);
  if (!told && !calls.length) return ofFunction(model, `${name}@`, "cpu", range);
  const whole = model.operators("name")?.self_ms ?? 0;
  if (told) {
    details.facts = [
      ["self", `${format.time(told.self_ms * 1e6)} · ${format.percent(told.self_ms / (whole || 1))}`, "of the self time of all operators"],
      ["total", format.time(told.total_ms * 1e6), "with the operators it calls"],
    ];
    if (told.calls !== null) details.facts.push(["calls", format.count(told.calls)]);
    if (told.calls) details.facts.push(["mean", format.time((told.total_ms / told.calls) * 1e6)]);
    if (told.device_total_ms) details.facts.push(["device time", format.time(told.device_total_ms * 1e6), "of what it launched"]);
    if (told.cpu_mem_bytes) details.facts.push(["memory", format.bytes(told.cpu_mem_bytes), "allocated less freed"]);
  }
  const shapes = (model.operators("shape")?.rows ?? []).filter((row) => row.name === name && row.key).sort((a, b) => b.self_ms - a.self_ms);
  shapes.slice(0, 5).forEach((row, i) => details.facts.push([i ? "" : "shapes", `${row.key} · ${format.time(row.self_ms * 1e6)}${row.calls ? `, ${format.count(row.calls)} calls` : ""}`]));
  details.flame = { measure: model.has("ops") ? "ops" : "cpu", name };
  if (calls.length) {
    const duration = model.column("ops", "duration");
    const longest = calls.reduce((best, row) => (duration[row] > duration[best] ? row : best), calls[0]);
    details.callers = callersByName(model, calls);
    const place = commonPlace(model, calls);
    details.place = place.file ? place : null;
    details.chain = [
      ...(place.file ? [{ layer: "line" as const, text: `${format.baseName(place.file)}:${place.line}`, note: sourceLine(model, place.file, place.line), selection: { kind: "line", name: lineWord(place.file, place.line) } as Selection, here: false }] : []),
      { layer: "operator", text: `longest call of ${name}`, note: format.time(duration[longest]), selection: { kind: "op", row: longest }, here: false },
    ];
  }
  return details;
}

function callersByName(model: Model, calls: Int32Array): Details["callers"] {
  const duration = model.column("ops", "duration");
  const sums = new Map<string, { value: number; row: number }>();
  let whole = 0;
  for (const row of calls.subarray(0, 20_000)) {
    const above = callerOf(model, row);
    const name = above >= 0 ? opName(model, above) : "(outside any call)";
    const found = sums.get(name) ?? { value: 0, row: above };
    sums.set(name, { value: found.value + duration[row], row: above });
    whole += duration[row];
  }
  const rows = [...sums].map(([name, { value, row }]) => ({ name, layer: row >= 0 ? 2 : -1, value, selection: row >= 0 ? ({ kind: "opname", name } as Selection) : null }));
  return { title: "Callers", rows: rows.sort((a, b) => b.value - a.value).slice(0, 100), whole, unit: "time" };
}

function commonPlace(model: Model, calls: Int32Array): { file: string; line: number } {
  const duration = model.column("ops", "duration");
  const sums = new Map<string, number>();
  for (const row of calls.subarray(0, 2000)) {
    const { file, line } = placeOf(model, row);
    if (file) sums.set(lineWord(file, line), (sums.get(lineWord(file, line)) ?? 0) + duration[row]);
  }
  const best = [...sums].sort((a, b) => b[1] - a[1])[0];
  return best ? readLine(best[0]) : { file: "", line: -1 };
}

// A kernel by its full name: all of its runs, and the operators and lines that launch it.
export function ofKernelName(model: Model, name: string): Details | null {
  const code = model.strings.indexOf(name);
  if (code < 0 || !model.rows("kernels")) return null;
  const runs = sameName(model, "kernels", code);
  const totals = (column: string) => model.column("kerneltotals", column);
  const at = Array.from(totals("name")).findIndex((value) => value === code);
  const short = runs.length ? shortKernel(model, runs[0]) : name;
  const details = blank("kernel, all runs", short);
  details.full = name;
  details.names = [name, short];
  details.flame = { measure: "gpu", name };
  if (at >= 0) {
    details.facts = [
      ["total", format.time(totals("total")[at])],
      ["runs", format.count(totals("calls")[at])],
      ["mean", format.time(totals("total")[at] / Math.max(1, totals("calls")[at]))],
      ["longest", format.time(totals("longest")[at])],
    ];
  }
  const [duration, op] = ["duration", "op"].map((column) => model.column("kernels", column));
  const sums = new Map<string, { value: number; row: number }>();
  for (const row of runs) {
    const by = op[row] >= 0 ? opName(model, op[row]) : "(no operator known)";
    sums.set(by, { value: (sums.get(by)?.value ?? 0) + duration[row], row: op[row] });
  }
  const whole = runs.reduce((all, row) => all + duration[row], 0);
  details.callers = {
    title: "Launched by", unit: "time", whole,
    rows: [...sums].map(([by, { value, row }]) => ({ name: by, layer: row >= 0 ? 2 : -1, value, selection: row >= 0 ? ({ kind: "opname", name: by } as Selection) : null })).sort((a, b) => b.value - a.value),
  };
  if (runs.length) {
    const longest = runs.reduce((best, row) => (duration[row] > duration[best] ? row : best), runs[0]);
    const calls = Int32Array.from(new Set(Array.from(runs.subarray(0, 2000), (row) => op[row]).filter((row) => row >= 0)));
    const place = commonPlace(model, calls);
    details.place = place.file ? place : null;
    if (place.file) details.chain.push({ layer: "line", text: `${format.baseName(place.file)}:${place.line}`, note: sourceLine(model, place.file, place.line), selection: { kind: "line", name: lineWord(place.file, place.line) }, here: false });
    details.chain.push({ layer: "kernel", text: "its longest run", note: format.time(duration[longest]), selection: { kind: "kernel", row: longest }, here: false });
  }
  return details;
}

export function ofModule(model: Model, path: string, range: Range): Details | null {
  const sampled = model.has("samples") ? ofFunction(model, functionIdOf(model, path) ?? "", "cpu", range) : null;
  const details = sampled ?? blank("module", path);
  details.what = "module";
  if (!sampled && model.rows("ops")) {
    const modules = model.column("calls", "module");
    const [node, own] = ["node", "self"].map((name) => model.column("ops", name));
    const call = model.column("opnodes", "call");
    const code = model.strings.indexOf(path);
    const sums = new Map<string, number>();
    let whole = 0;
    for (let i = 0; i < node.length; i++) {
      if (modules[call[node[i]]] !== code) continue;
      const name = opName(model, i);
      sums.set(name, (sums.get(name) ?? 0) + own[i]);
      whole += own[i];
    }
    if (!sums.size) return null;
    details.facts = [["self time of its calls", format.time(whole)]];
    details.callees = { title: "Operators inside", unit: "time", whole, rows: [...sums].map(([name, value]) => ({ name, layer: 2, value, selection: { kind: "opname", name } as Selection })).sort((a, b) => b.value - a.value) };
  }
  details.names = [path];
  return details;
}

function functionIdOf(model: Model, path: string): string | null {
  const [layer, name, file, library] = ["layer", "name", "file", "library"].map((column) => model.column("functions", column));
  for (let f = 0; f < layer.length; f++) if (layer[f] === 1 && model.text(name[f]) === path) return `${path}@${model.text(file[f]) || model.text(library[f])}`;
  return null;
}

export function ofLine(model: Model, word: string, range: Range): Details {
  const { file, line } = readLine(word);
  const details = blank("line", `${format.baseName(file)}:${line}`);
  details.full = file;
  details.place = { file, line };
  details.names = [];
  const files = fileTimes(model, range);
  const whole = files.reduce((all, f) => all + f.sum, 0) || 1;
  const time = files.find((f) => f.file === file)?.lines.get(line);
  if (time) {
    details.facts = [
      ["from this line", `${format.time(time.sum)} · ${format.percent(time.sum / whole)}`, "innermost line of your files on the stack"],
      ["on the stack", format.time(time.total), "with this line anywhere on the stack"],
      ...time.own.map((value, i) => [CATEGORY_WORDS[i], value] as const).filter(([, value]) => value > 0).map(([name, value]) => [name, `${format.time(value)} · ${format.percent(value / Math.max(1, time.sum))}`] as [string, string]),
    ];
  }
  details.callees = operatorsOfLine(model, file, line);
  return details;
}

function operatorsOfLine(model: Model, file: string, line: number): Details["callees"] {
  if (!model.rows("ops")) return null;
  const [node, own] = ["node", "self"].map((name) => model.column("ops", name));
  const [files, lines] = ["file", "line"].map((name) => model.column("calls", name));
  const code = model.strings.indexOf(file);
  const sums = new Map<string, number>();
  let whole = 0;
  for (let i = 0; i < node.length; i++) {
    const call = callOf(model, i);
    if (files[call] !== code || lines[call] !== line) continue;
    const name = opName(model, i);
    sums.set(name, (sums.get(name) ?? 0) + own[i]);
    whole += own[i];
  }
  if (!sums.size) return null;
  return { title: "Operators called here", unit: "time", whole, rows: [...sums].map(([name, value]) => ({ name, layer: 2, value, selection: { kind: "opname", name } as Selection })).sort((a, b) => b.value - a.value) };
}
