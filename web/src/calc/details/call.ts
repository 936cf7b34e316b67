// Details of an operator call, a kernel, a launch: things with a start and an end, and their chain.

import { KINDS, GPU_WORK, type Model } from "../../data/model";
import { lineWord, type Selection } from "../../data/selection";
import { callOf, calleesOf, callersOf, kernelOfLaunch, kernelsOf, opName, placeOf, sameName } from "../calls";
import * as format from "../format";
import { blank, type ChainLink, type Details, type Relative } from "./types";

const LAYER_OF_KIND = [2, 7, 0, 1, 2, 4];

export function shortKernel(model: Model, row: number): string {
  return model.text(model.column("kernels", "short")[row]) || model.text(model.column("kernels", "name")[row]);
}

export function ofCall(model: Model, op: number): Details {
  const column = (name: string) => model.column("ops", name)[op];
  const call = callOf(model, op);
  const code = model.column("calls", "name")[call];
  const kind = KINDS[model.column("calls", "kind")[call]];
  const details = blank(kind === "op" ? "operator call" : kind === "annotation" ? "region" : `${kind} call`, model.text(code));
  const { file, line } = placeOf(model, op);
  const list = sameName(model, "ops", code);
  const kernels = kernelsOf(model, op);
  details.span = [column("start"), column("start") + column("duration")];
  details.thread = column("thread");
  details.siblings = { list, at: list.indexOf(op), of: details.title };
  details.place = file ? { file, line } : null;
  details.flame = { measure: "ops", name: details.title };
  details.facts = [
    ["duration", withStep(model, column("duration"), column("start"))],
    ["self", `${format.time(column("self"))} · ${format.percent(column("self") / Math.max(1, column("duration")))} of it`, "without the calls that it made"],
    ["starts at", format.time(column("start"))],
    ["thread", model.threadLabel(column("thread"))],
  ];
  if (column("taken") > 0) details.facts.push(["ready but off the CPU", format.time(column("taken")), "other programs or threads had the CPU"]);
  const signature = column("signature");
  const shapes = model.text(model.column("signatures", "shapes")[signature]);
  if (shapes) details.facts.push(["shapes", shapes]);
  const dtypes = model.text(model.column("signatures", "dtypes")[signature]);
  if (dtypes) details.facts.push(["types", dtypes]);
  const flops = model.column("signatures", "flops")[signature];
  if (flops > 0) details.facts.push(["FLOP", format.scaled(flops, "FLOP"), "counted from shapes"]);
  if (column("allocated")) details.facts.push(["allocated", format.bytes(column("allocated"))]);
  if (kernels.length) details.facts.push(["device time", `${format.time(sum(model, kernels))} in ${format.count(kernels.length)} ${kernels.length === 1 ? "kernel" : "kernels"}`]);
  details.chain = chainOf(model, op, kernels.length ? longest(model, kernels) : -1, "operator");
  details.launch = kernels.length ? model.column("kernels", "launch")[kernels[0]] : -1;
  const duration = model.column("ops", "duration");
  const asRelative = (row: number): Relative => ({ name: opName(model, row), layer: LAYER_OF_KIND[model.column("calls", "kind")[callOf(model, row)]], value: duration[row], selection: { kind: "op", row } });
  const callers = callersOf(model, op).reverse();
  if (callers.length) details.callers = { title: "Called by, innermost first", rows: callers.map(asRelative), whole: duration[callers[callers.length - 1]], unit: "time" };
  const inner = calleesOf(model, op);
  if (inner.length || kernels.length) {
    const rows = [...inner.map(asRelative), ...(inner.length ? [] : kernels.map((row) => kernelRelative(model, row)))];
    details.callees = { title: inner.length ? "Calls inside" : "Kernels launched", rows: rows.sort((a, b) => b.value - a.value).slice(0, 200), whole: inner.length ? duration[op] : sum(model, kernels), unit: "time" };
  }
  return details;
}

export function ofKernel(model: Model, row: number): Details {
  const column = (name: string) => model.column("kernels", name)[row];
  const details = blank(GPU_WORK[column("work")] === "copy" ? "copy" : "kernel", shortKernel(model, row));
  details.full = model.text(column("name"));
  details.names = [details.title, details.full];
  const list = sameName(model, "kernels", column("name"));
  details.siblings = { list, at: list.indexOf(row), of: details.title };
  details.span = [column("start"), column("start") + column("duration")];
  details.facts = [
    ["duration", withStep(model, column("duration"), column("start"))],
    ["starts at", format.time(column("start"))],
    ["where", `GPU ${column("device")}, stream ${column("stream")}${rankOf(model, column("process"))}`],
    ["work", GPU_WORK[column("work")]],
  ];
  if (column("grid") >= 0) details.facts.push(["grid × block", `${model.text(column("grid"))} × ${model.text(column("block"))}`]);
  if (column("registers") > 0) details.facts.push(["registers", format.count(column("registers")), "per thread"]);
  if (column("shared") > 0) details.facts.push(["shared memory", format.bytes(column("shared")), "per block"]);
  if (column("occupancy") > 0) details.facts.push(["occupancy", `${format.digits(column("occupancy"))} %`, "estimated, achieved"]);
  if (column("bytes") > 0) {
    details.facts.push(["bytes", `${format.bytes(column("bytes"))} · ${format.scaled((column("bytes") / Math.max(1, column("duration"))) * 1e9, "B/s")}`]);
  }
  const total = list.reduce((all, at) => all + model.column("kernels", "duration")[at], 0);
  details.facts.push(["all of its name", `${format.count(list.length)} runs, ${format.time(total)}`]);
  details.launch = column("launch");
  const op = column("op");
  details.flame = { measure: "gpu", name: details.full };
  if (op >= 0) {
    const { file, line } = placeOf(model, op);
    details.place = file ? { file, line } : null;
    details.thread = model.column("ops", "thread")[op];
    const duration = model.column("ops", "duration");
    const rows = [op, ...callersOf(model, op).reverse()];
    details.callers = {
      title: "Launched by, innermost first", unit: "time", whole: duration[rows[rows.length - 1]],
      rows: rows.map((at) => ({ name: opName(model, at), layer: LAYER_OF_KIND[model.column("calls", "kind")[callOf(model, at)]], value: duration[at], selection: { kind: "op", row: at } })),
    };
  }
  details.chain = chainOf(model, op, row, "kernel");
  return details;
}

export function ofLaunch(model: Model, row: number): Details {
  const column = (name: string) => model.column("launches", name)[row];
  const details = blank("launch", model.text(column("name")));
  const kernel = kernelOfLaunch(model, row);
  const list = sameName(model, "launches", column("name"));
  details.siblings = { list, at: list.indexOf(row), of: details.title };
  details.span = [column("start"), column("start") + column("duration")];
  details.thread = column("thread");
  details.launch = row;
  details.facts = [
    ["duration", withStep(model, column("duration"), column("start"))],
    ["starts at", format.time(column("start"))],
    ["thread", model.threadLabel(column("thread"))],
    ["kind", model.text(column("kind"))],
  ];
  const op = kernel >= 0 ? model.column("kernels", "op")[kernel] : -1;
  if (op >= 0) {
    const { file, line } = placeOf(model, op);
    details.place = file ? { file, line } : null;
  }
  details.chain = chainOf(model, op, kernel, "launch", row);
  return details;
}

// Python line → module → operator (shapes) → launch → queue → kernel, as far as the recording knows them.
function chainOf(model: Model, op: number, kernel: number, here: ChainLink["layer"], launch = kernel >= 0 ? model.column("kernels", "launch")[kernel] : -1): ChainLink[] {
  const links: ChainLink[] = [];
  const add = (layer: ChainLink["layer"], text: string, note: string, selection: Selection | null) => links.push({ layer, text, note, selection, here: layer === here });
  if (op >= 0) {
    const { file, line, module } = placeOf(model, op);
    if (file) add("line", `${format.baseName(file)}:${line}`, sourceLine(model, file, line), { kind: "line", name: lineWord(file, line) });
    if (module) add("module", module, "", { kind: "module", name: module });
    const shapes = model.text(model.column("signatures", "shapes")[model.column("ops", "signature")[op]]);
    add("operator", opName(model, op), shapes || format.time(model.column("ops", "duration")[op]), { kind: "op", row: op });
  }
  if (launch >= 0) add("launch", model.text(model.column("launches", "name")[launch]), format.time(model.column("launches", "duration")[launch]), { kind: "launch", row: launch });
  if (kernel >= 0) {
    if (launch >= 0) {
      const waited = model.column("kernels", "start")[kernel] - model.column("launches", "start")[launch] - model.column("launches", "duration")[launch];
      add("queue", waited > 0 ? `${format.time(waited)} in the queue` : "started during the launch", "", null);
    }
    add("kernel", shortKernel(model, kernel), format.time(model.column("kernels", "duration")[kernel]), { kind: "kernel", row: kernel });
  }
  return links;
}

export function sourceLine(model: Model, file: string, line: number): string {
  const found = model.facts.source?.files.find((entry) => model.text(entry.file) === file);
  return found?.lines[line - 1]?.trim() ?? "";
}

export function kernelRelative(model: Model, row: number): Relative {
  return { name: shortKernel(model, row), layer: 6, value: model.column("kernels", "duration")[row], selection: { kind: "kernel", row } };
}

function withStep(model: Model, duration: number, start: number): string {
  const step = model.steps.find((s) => s.start <= start && start < s.end);
  return step ? `${format.time(duration)} · ${format.percent(duration / Math.max(1, step.end - step.start))} of step ${step.number}` : format.time(duration);
}

function rankOf(model: Model, process: number): string {
  if (!model.rows("processes")) return "";
  const row = model.column("processes", "process").indexOf(process);
  const rank = row >= 0 ? model.column("processes", "rank")[row] : -1;
  return rank >= 0 ? `, rank ${rank}` : "";
}

function sum(model: Model, kernels: number[]): number {
  const duration = model.column("kernels", "duration");
  return kernels.reduce((all, row) => all + duration[row], 0);
}

function longest(model: Model, kernels: number[]): number {
  const duration = model.column("kernels", "duration");
  return kernels.reduce((best, row) => (duration[row] > duration[best] ? row : best), kernels[0]);
}
