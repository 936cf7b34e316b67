// Details of a sample, a thread and a step.

import { CATEGORY_WORDS, type Model } from "../../data/model";
import { lineWord, type Selection } from "../../data/selection";
import { isTaken, stretchOf } from "../clip";
import * as format from "../format";
import { roleOf } from "../roles";
import { sourceLine } from "./call";
import { blank, type ChainLink, type Details } from "./types";

export function ofSample(model: Model, row: number): Details {
  const column = (name: string) => model.column("samples", name)[row];
  const reason = model.text(column("reason"));
  const taken = isTaken(model)(row);
  const waits = column("state") === 3;
  const [start, length] = stretchOf(model)(row);
  const stack = framesOf(model, column("stack"));
  const leaf = stack[stack.length - 1];
  const title = taken ? "ready, but off the CPU" : waits ? `waiting: ${reason || "unknown reason"}` : (leaf?.name ?? "(no stack recorded)");
  const details = blank(waits ? "wait" : "sample", title);
  const thread = column("thread");
  const own = model.samplesOf(thread);
  details.siblings = { list: own, at: own.indexOf(row), of: `samples of ${model.threadLabel(thread)}` };
  details.span = [Math.max(0, start), start + length];
  details.thread = thread;
  details.facts = [
    [waits ? "waited" : "stands for", format.time(column("weight")), waits ? "time off the CPU" : "the CPU time since the sample before it"],
    ["at", format.time(column("time"))],
    ["thread", `${model.threadLabel(thread)} · ${roleOf(model, thread).words}`],
    ["layer", CATEGORY_WORDS[model.category[row]]],
  ];
  if (column("count") > 1) details.facts.push(["samples in this row", format.count(column("count")), "equal samples close to each other are one row, to keep the page small"]);
  details.stack = stack.map((frame) => frame.name);
  const inner = [...stack].reverse();
  const python = inner.find((frame) => frame.layer === 0 && frame.file);
  const mine = inner.find((frame) => frame.layer === 0 && frame.mine) ?? python;
  const link = (layer: ChainLink["layer"], text: string, note: string, selection: Selection | null, here = false): ChainLink => ({ layer, text, note, selection, here });
  if (mine) {
    details.place = { file: mine.file, line: mine.line };
    details.chain.push(link("line", `${format.baseName(mine.file)}:${mine.line}`, sourceLine(model, mine.file, mine.line), { kind: "line", name: lineWord(mine.file, mine.line) }));
  }
  const module = inner.find((frame) => frame.layer === 1);
  if (module) details.chain.push(link("module", module.name, "", { kind: "module", name: module.name }));
  const op = inner.find((frame) => frame.layer === 2);
  if (op) details.chain.push(link("operator", op.name, "", { kind: "opname", name: op.name }));
  if (leaf && leaf !== op && leaf !== module) details.chain.push(link(leaf.layer === 4 || leaf.layer === 3 ? "kernel" : "function", leaf.name, "", { kind: "function", name: leaf.id }, true));
  details.names = [leaf?.name ?? "", op?.name ?? "", module?.name ?? ""].filter(Boolean);
  details.flame = leaf ? { measure: waits ? "off" : "cpu", name: leaf.name } : null;
  return details;
}

interface Frame {
  name: string;
  id: string; // name@file, as the flame's functions are called in the address
  layer: number;
  file: string;
  line: number;
  mine: boolean; // in a file that the recording carries
}

// Frames of a stack, outermost first, without the interpreter's and the dispatcher's own.
export function framesOf(model: Model, stack: number): Frame[] {
  const [parent, frame] = ["parent", "frame"].map((name) => model.column("stacks", name));
  const [functionOf, line] = ["function", "line"].map((name) => model.column("frames", name));
  const functions = (name: string) => model.column("functions", name);
  const own = new Set((model.facts.source?.files ?? []).map((entry) => entry.file));
  const found: Frame[] = [];
  for (let node = stack; node >= 0 && found.length < 400; node = parent[node]) {
    const f = functionOf[frame[node]];
    if (functions("runtime")[f]) continue;
    const file = model.text(functions("file")[f]);
    const name = model.text(functions("name")[f]) || "(unnamed)";
    found.unshift({ name, id: `${name}@${file || model.text(functions("library")[f])}`, layer: functions("layer")[f], file, line: line[frame[node]], mine: own.has(functions("file")[f]) });
  }
  return found;
}

export function ofThread(model: Model, thread: number): Details | null {
  const actor = model.threadById.get(thread);
  if (!actor) return null;
  const role = roleOf(model, thread);
  const details = blank("thread", model.threadLabel(thread));
  const told = model.answer("threads")?.rows.find((row) => row.thread === thread);
  details.thread = thread;
  details.facts = [["role", role.words], ["thread id", String(actor.tid)], ["process", String(actor.process)]];
  if (told) {
    const all = told.on_cpu_ms + told.waiting_ms || 1;
    for (const [name, ms] of [["running", told.running_ms], ["busy-waiting", told.spinning_ms], ["waiting for slower threads", told.imbalance_ms], ["waiting", told.waiting_ms]] as const) {
      if (ms > 0) details.facts.push([name, `${format.time(ms * 1e6)} · ${format.percent(ms / all)}`]);
    }
    details.facts.push(["samples", format.count(told.samples)]);
  }
  if (role.idle) details.facts.push(["why idle", role.why]);
  details.names = [];
  return details;
}

export function ofStep(model: Model, row: number): Details {
  const step = model.steps[row];
  const told = model.answer("steps");
  const details = blank("step", `Step ${step.number}`);
  const median = told?.median_ms ?? null;
  details.span = [step.start, step.end];
  details.siblings = { list: model.steps.map((_, i) => i), at: row, of: "steps" };
  details.names = [];
  details.facts = [
    ["duration", format.time(step.length)],
    ["starts at", format.time(step.start)],
  ];
  if (median) details.facts.push(["median step", `${format.time(median * 1e6)} · this one ${signed(step.length / (median * 1e6) - 1)}`]);
  if (row < model.warmup) details.facts.push(["warm-up", "yes: left out of medians"]);
  const answer = told?.steps[row];
  if (answer?.in_window) details.facts.push(["profiling window", "yes: recording every call slowed it down; left out of medians"]);
  if (answer && answer.taken_ms > 0) details.facts.push(["ready but off the CPU", format.time(answer.taken_ms * 1e6), "not in the duration"]);
  for (const [name, ns] of phasesIn(model, step.start, step.end)) details.facts.push([name, `${format.time(ns)} · ${format.percent(ns / Math.max(1, step.end - step.start))}`]);
  return details;
}

// Time of the phases that the program or an observer marked inside a stretch.
export function phasesIn(model: Model, from: number, to: number): [string, number][] {
  const sums = new Map<string, number>();
  const column = (name: string) => model.column("marks", name);
  for (let i = 0; i < model.rows("marks"); i++) {
    if (model.text(column("kind")[i]) !== "phase") continue;
    const inside = Math.min(to, column("end")[i]) - Math.max(from, column("start")[i]);
    if (inside > 0) sums.set(model.text(column("name")[i]), (sums.get(model.text(column("name")[i])) ?? 0) + inside);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function signed(share: number): string {
  return `${share < 0 ? "−" : "+"}${format.percent(Math.abs(share))}`;
}
