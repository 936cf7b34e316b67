// The small facts of a report, as sonde/render/html writes them. Answers of views have generated types (answers.ts).

import type { Answers } from "./answers";
import type { Comparison } from "./comparison";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface Meta {
  sonde_version?: string;
  source?: string;
  program?: string;
  directory?: string;
  started?: string;
  command?: string[];
  duration_s?: number;
  exit_code?: number | null;
  complete?: boolean;
  options?: Json;
  environment?: Json;
  machine?: Json;
  versions?: Json;
  clock?: { uncertainty_ns?: number };
  details?: Json;
}

export interface InsightEvidence {
  text: string;
  kind?: string;
  name?: string;
  file?: string;
  line?: number;
}

export interface Insight {
  title: string;
  why?: string | null;
  evidence?: InsightEvidence | InsightEvidence[] | string | null;
  saving?: string | { low_ms?: number; high_ms?: number } | null;
  saving_ms_per_step?: { low: number; high: number } | null;
  saving_share?: number | null;
  confidence?: string | number | null;
  pointer?: boolean; // only names the first place to look
  fix?: string | null;
  experiment?: { note?: string } | null;
  resource?: string;
  rule?: string;
  saving_words?: string;
  status?: string; // proved, refuted or open
  file?: string | null;
  line?: number | null;
  unit?: string;
  link?: string;
}

export interface Finding {
  what?: string;
  title?: string;
  severity?: string;
  why?: string;
  fix?: string | null;
}

export interface Peak {
  process: number;
  device: string;
  time: number;
  bytes: number;
  known: number;
  blocks: number;
  rows: number[][];
}

export interface Kept {
  profile?: { samples: number; rows: number; slot_ns: number; pruned_nodes: number; pruned_ns: number };
  ops?: { ops: number; rows: number; pruned_calls: number; pruned_self_ns: number; longest_pruned_ns: number };
  device?: { kernels?: number; rows?: number; pruned?: number; before_trace?: number; without_launch?: number };
}

export interface Facts {
  title?: string;
  level?: number;
  duration_ns?: number;
  origin_ns?: number;
  notes?: string[];
  meta?: Meta;
  insights?: Insight[];
  findings?: Finding[];
  taken_away?: string | null;
  closing?: string | null;
  headroom?: string | null;
  peaks?: Peak[];
  kept?: Kept;
  source?: { files: { file: number; lines: string[]; changed: boolean }[]; skipped: string[]; off: boolean };
  roof?: { peak: number; bandwidth: number } | null;
  primitives?: Json;
  comparison?: Comparison;
  // Rows of views are tables of their own; these are the rest of each answer.
  answers?: { [Name in keyof Answers]?: Name extends "ops" ? Record<string, object> : object | null };
}
