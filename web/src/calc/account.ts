// The account of a step for the overview: kinds of work as parts of one bar, and the lines with most of it. All figures
// are those of `sonde show account`; here they are only summed by kind and by line.

import type { AccountAnswer, SliceRow } from "../data/answers";

export interface KindPart {
  kind: string;
  work: string; // the kind for people
  ms: number;
  share: number;
  floor_ms: number | null; // null: not known of all of its slices
  why: string;
}

export interface LinePart {
  place: string;
  file: string;
  line: number;
  ms: number;
  share: number;
  kinds: { kind: string; work: string; ms: number }[];
}

// Without what other programs took: shares are of the rest, as everywhere in the page.
export function kindsOf(account: AccountAnswer): KindPart[] {
  const parts = new Map<string, KindPart>();
  for (const row of account.rows) {
    if (row.kind === "taken") continue;
    let part = parts.get(row.kind);
    if (!part) parts.set(row.kind, (part = { kind: row.kind, work: row.work, ms: 0, share: 0, floor_ms: 0, why: row.reason }));
    part.ms += row.ms;
    part.share += row.own_share ?? row.share;
    part.floor_ms = part.floor_ms === null || row.floor_ms === null ? null : part.floor_ms + row.floor_ms;
  }
  return [...parts.values()].sort((a, b) => b.ms - a.ms);
}

// Lines of the user's own code, most time first; of one kind, or of all but what other programs took.
export function linesOf(account: AccountAnswer, kind: string | null): LinePart[] {
  const wanted = (row: SliceRow) => (kind ? row.kind === kind : row.kind !== "taken");
  const lines = new Map<string, LinePart>();
  for (const row of account.rows.filter(wanted)) {
    const id = `${row.file}:${row.line}:${row.line < 0 ? row.place : ""}`;
    let part = lines.get(id);
    if (!part) lines.set(id, (part = { place: row.place, file: row.file, line: row.line, ms: 0, share: 0, kinds: [] }));
    part.ms += row.ms;
    part.share += row.own_share ?? row.share;
    part.kinds.push({ kind: row.kind, work: row.work, ms: row.ms });
  }
  return [...lines.values()].sort((a, b) => b.ms - a.ms);
}

// The name of a kind's hue in sonde/layers.json: the colour its layer has in every other view.
export const KIND_HUE: Record<string, "blue" | "violet" | "teal" | "sand" | "orange" | "green" | "mauve" | "grey" | "red" | "mint"> = {
  arithmetic: "orange", memory: "sand", copies: "mauve", random: "sand", gather: "sand", allocation: "mauve", python: "blue", native: "sand",
  dispatch: "violet", autograd: "mint", loading: "green", io: "green", gc: "blue", locks: "red", barriers: "red", communication: "green",
  compiling: "teal", debugging: "teal", sleep: "grey", waiting: "grey", unseen: "grey", taken: "grey",
};
