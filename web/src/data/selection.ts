// The one thing that is selected in the whole page, and its word in the address. A row is a row of a table of this
// page, so a copied link means the same thing for everyone who has the same file.
//
//   sel=op:1204   sel=kernel:77   sel=step:7   sel=function:forward@vae.py   sel=line:/home/me/vae.py:30

import type { Model } from "./model";

export const ROW_KINDS = ["op", "kernel", "launch", "sample", "step", "thread", "gap"] as const;
export const NAME_KINDS = ["function", "opname", "kname", "module", "line"] as const;
export type RowKind = (typeof ROW_KINDS)[number];
export type NameKind = (typeof NAME_KINDS)[number];

export type Selection = { kind: RowKind; row: number } | { kind: NameKind; name: string };

const TABLE: Record<RowKind, string | null> = { op: "ops", kernel: "kernels", launch: "launches", sample: "samples", step: null, thread: null, gap: null };

export function selectionWord(selection: Selection): string {
  return `${selection.kind}:${"row" in selection ? selection.row : selection.name}`;
}

// Null for a word that means nothing in this recording: an address is input like any other.
export function readSelection(word: string, model: Model): Selection | null {
  const at = word.indexOf(":");
  const kind = word.slice(0, at);
  const rest = word.slice(at + 1);
  if ((NAME_KINDS as readonly string[]).includes(kind)) return rest ? { kind: kind as NameKind, name: rest } : null;
  if (!(ROW_KINDS as readonly string[]).includes(kind) || !/^\d{1,9}$/.test(rest)) return null;
  const row = Number(rest);
  const table = TABLE[kind as RowKind];
  const rows = table ? model.rows(table) : kind === "step" ? model.steps.length : Infinity;
  return row < rows ? { kind: kind as RowKind, row } : null;
}

// A line as one word, and back.
export function lineWord(file: string, line: number): string {
  return `${file}:${line}`;
}

export function readLine(word: string): { file: string; line: number } {
  const at = word.lastIndexOf(":");
  return { file: word.slice(0, at), line: Number(word.slice(at + 1)) || -1 };
}
