// What `sonde diff --json` says, as the page holds it. Computed once, in Python
// (sonde/render/text/diff.py); the page shows it and calculates none of it.

import type { Model } from "./model";

export interface ComparisonRow {
  dimension: string;
  source: string;
  name: string;
  measure: "ms" | "bytes";
  unit: "step" | "run";
  a: number;
  b: number;
  difference: number;
  low: number | null; // null: not known
  high: number | null;
  sure: boolean; // significant
  note: string;
}

export interface ComparisonTable {
  dimension: string;
  source: string;
  title: string;
}

export interface Comparison {
  headline: string;
  notes: string[];
  tables: ComparisonTable[];
  rows: ComparisonRow[];
  scatter: { deviation: number; runs: number } | null;
  steady: { a: [number, number][]; b: [number, number][] }; // numbers of the steps compared, as ranges
}

export function comparisonOf(model: Model): Comparison | null {
  return model.facts.comparison ?? null;
}

export function rowsOfTable(comparison: Comparison, table: ComparisonTable): ComparisonRow[] {
  return comparison.rows.filter((row) => row.dimension === table.dimension && row.source === table.source);
}

// The table to open with: the first that has a significant row.
export function firstTable(comparison: Comparison): ComparisonTable | null {
  const found = comparison.tables.find((table) => rowsOfTable(comparison, table).some((row) => row.sure));
  return found ?? comparison.tables[0] ?? null;
}
