// Numbers for people: three significant digits, a unit, and no more precision
// than the samples behind them allow.

import type { Unit } from "../data/answers";

const TIMES: [number, string][] = [
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

export function digits(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, Math.min(6, significant - 1 - size));
  const text = value.toFixed(decimals);
  return Math.abs(value) >= 10000 ? Number(text).toLocaleString("en-US") : text;
}

export function time(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  if (ns === 0) return "0";
  const size = Math.abs(ns);
  for (const [scale, unit] of TIMES) {
    if (size >= scale) return `${digits(ns / scale)} ${unit}`;
  }
  return `${digits(ns)} ns`;
}

// A time as precise as steps of `unit` ask for: what a ruler adds to its base.
export function offset(ns: number, unit: number): string {
  const [scale, name] = TIMES.find(([size, word]) => word !== "min" && unit >= size / 1000 && Math.abs(ns) >= size) ?? TIMES.find(([size]) => unit >= size) ?? [1, "ns"];
  const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(unit / scale) - 1e-9)));
  return `${(ns / scale).toFixed(decimals)} ${name}`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [scale, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const) {
    if (size >= scale) return `${digits(value / scale)} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

export function scaled(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (size >= scale) return `${digits(value / scale)} ${prefix}${unit}`;
  }
  return `${digits(value)} ${unit}`;
}

export function count(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.1) return "< 0.1 %";
  return `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`;
}

// A number of a declared column, by its unit.
export function unit(value: number, of: Unit): string {
  if (!Number.isFinite(value)) return "–";
  if (of === "ms") return time(value * 1e6);
  if (of === "us") return time(value * 1e3);
  if (of === "ns") return time(value);
  if (of === "bytes") return bytes(value);
  if (of === "count") return count(value);
  if (of === "share") return percent(value);
  if (of === "percent") return percent(value / 100);
  return of === "FLOP" ? scaled(value, of) : of ? `${digits(value)} ${of}` : digits(value);
}

// Half width of the 95 % interval of a share seen in n samples (Wilson).
export function shareError(share: number, n: number): number {
  if (n <= 0) return NaN;
  const z = 1.96;
  return (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
