// Details of a stretch in which a device was idle: why, what ended it, and what the host did meanwhile.

import { type Model } from "../../data/model";
import { callAt, callersOf, opName, placeOf } from "../calls";
import * as format from "../format";
import { shortKernel } from "./call";
import { blank, type Details } from "./types";

export const GAP_CAUSES = ["host", "sync", "kernel", "other"] as const;
export const GAP_WORDS: Record<(typeof GAP_CAUSES)[number], string> = {
  host: "the host had not launched the next work yet",
  sync: "the launching thread sat in a call that waits for the device",
  kernel: "turn-around between queued kernels",
  other: "queued work waited for another stream or an event, or its launch is not in the trace",
};

export function ofGap(model: Model, row: number): Details | null {
  if (row >= model.rows("gaps")) return null;
  const column = (name: string) => model.column("gaps", name)[row];
  const cause = GAP_CAUSES[column("cause")] ?? "other";
  const details = blank("GPU idle", `GPU ${column("device")} idle for ${format.time(column("duration"))}`);
  const next = column("next");
  details.span = [column("start"), column("start") + column("duration")];
  details.names = [];
  details.facts = [
    ["duration", format.time(column("duration"))],
    ["starts at", format.time(column("start"))],
    ["why", GAP_WORDS[cause]],
  ];
  const order = Array.from(model.column("gaps", "start")).map((start, i) => [start, i] as const).sort((a, b) => a[0] - b[0]).map(([, i]) => i);
  details.siblings = { list: order, at: order.indexOf(row), of: "gaps listed" };
  const launch = next >= 0 ? model.column("kernels", "launch")[next] : -1;
  if (next >= 0) {
    details.chain.push({ layer: "kernel", text: shortKernel(model, next), note: "ends the gap", selection: { kind: "kernel", row: next }, here: false });
    details.launch = launch;
  }
  const host = hostDuring(model, row);
  if (host) {
    details.facts.push(["host meanwhile", host.words]);
    details.chain.unshift({ layer: "operator", text: host.name, note: "open on the launching thread", selection: { kind: "op", row: host.op }, here: false });
    const { file, line } = placeOf(model, host.op);
    details.place = file ? { file, line } : null;
  }
  return details;
}

// The call in which the launching thread was in the middle of the gap, outermost annotation left out.
export function hostDuring(model: Model, row: number): { op: number; name: string; words: string } | null {
  const column = (name: string) => model.column("gaps", name)[row];
  const thread = column("thread");
  if (thread < 0 || !model.rows("ops")) return null;
  const op = callAt(model, thread, column("start") + column("duration") / 2);
  if (op < 0) return null;
  const around = callersOf(model, op).map((at) => opName(model, at)).filter((name) => !/^ProfilerStep#/.test(name));
  const name = opName(model, op);
  const outer = around[around.length - 1];
  return { op, name, words: /^ProfilerStep#/.test(name) ? "in Python, outside any operator" : `inside ${name}${outer && outer !== name ? `, called by ${outer}` : ""}` };
}
