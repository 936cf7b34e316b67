// One row per rank: what its devices did, who waits for whom. Figures are those of `sonde show gpu` and `sonde show ranks`.

import type { Model } from "../data/model";

export interface RankLine {
  rank: number;
  window: number; // ms: what the parts are of: of a device's trace the whole, of a recorded job a mean step
  compute: number;
  communication: number; // exposed: not at the same time as compute, without waiting
  waiting: number | null; // for the last rank to come
  host: number; // the device waits for it; of a recorded job: the thread waits for messages
  idle: number; // for other reasons
  last: number | null; // collectives that it came to last
  step: number | null;
  source: string;
  why: string; // of a rank that the others wait for
}

// Which ranks the others wait for; null: none, or it is not known.
export function lateSentence(model: Model): string | null {
  const late = model.answer("gpu")?.stragglers ?? [];
  const told = model.answer("ranks")?.late?.sentence;
  if (told || !late.length) return told ?? null;
  return `The others wait for ${late.length > 1 ? "ranks" : "rank"} ${late.map((s) => s.rank).join(", ")}: ${late[0].cause}.`;
}

export function rankLines(model: Model): RankLine[] {
  const gpu = model.answer("gpu");
  const told = model.answer("ranks")?.rows ?? [];
  const lines = new Map<number, RankLine>();
  for (const d of gpu?.devices ?? []) {
    const line = lines.get(d.rank) ?? { rank: d.rank, window: 0, compute: 0, communication: 0, waiting: null, host: 0, idle: 0, last: null, step: null, source: "", why: "" };
    const waiting = d.waiting_ms === null ? null : Math.min(d.waiting_ms, d.communication_ms);
    line.window += d.window_ms;
    line.compute += d.compute_ms;
    line.waiting = waiting === null ? line.waiting : (line.waiting ?? 0) + waiting;
    line.communication += Math.max(0, d.communication_ms - d.overlap_ms - (waiting ?? 0));
    line.host += d.idle_host_ms;
    line.idle += Math.max(0, d.idle_ms - d.idle_host_ms);
    lines.set(d.rank, line);
  }
  for (const line of lines.values()) {
    const late = gpu?.stragglers.find((s) => s.rank === line.rank);
    line.last = gpu?.alignment?.last_arrivals[line.rank] ?? null;
    line.source = gpu?.ranks.find((r) => r.rank === line.rank)?.source ?? "";
    line.why = late ? `${late.cause}: ${late.evidence}` : "";
  }
  for (const row of told) {
    if (lines.has(row.rank)) continue;
    // Several collectives may be under way at a time: what the thread stood still for them is divided as they are.
    const [step, exposed, messages] = [row.mean_ms ?? row.step_ms ?? 0, row.exposed_ms ?? 0, row.message_ms ?? 0];
    const last = (row.waiting_ms ?? 0) / ((row.waiting_ms ?? 0) + (row.transfer_ms ?? 0) || 1);
    lines.set(row.rank, {
      rank: row.rank, window: step, compute: Math.max(0, step - exposed - messages), communication: exposed * (1 - last), waiting: exposed * last, host: messages, idle: 0,
      last: row.last_in, step: row.step_ms, source: row.host ?? "", why: model.answer("ranks")?.late?.rank === row.rank ? model.answer("ranks")!.late!.sentence : "",
    });
  }
  return [...lines.values()].filter((line) => line.rank >= 0);
}
