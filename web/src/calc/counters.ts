// Counters as curves. Growing totals (CPU time, faults, switches) become rates.

import type { Model } from "../data/model";

export interface Counter {
  name: string;
  label: string;
  process: number;
  rate: boolean;
  times: number[];
  series: { name: string; values: (number | null)[] }[];
}

const TOTALS = /_ns$|faults$|switches$|_total$|_count$/;

export function counterSeries(model: Model): Counter[] {
  const rows = model.rows("counters");
  const groups = new Map<string, number[]>();
  for (let i = 0; i < rows; i++) {
    const key = `${model.column("counters", "name")[i]}:${model.column("counters", "process")[i]}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key)!.push(i);
  }
  return [...groups.values()].map((list) => {
    const name = model.text(model.column("counters", "name")[list[0]]);
    const process = model.column("counters", "process")[list[0]];
    const times = list.map((i) => model.column("counters", "time")[i]);
    const raw = list.map((i) => model.column("counters", "value")[i]);
    const rate = TOTALS.test(name);
    const values = rate ? raw.map((v, i) => (i && times[i] > times[i - 1] ? ((v - raw[i - 1]) / (times[i] - times[i - 1])) * 1e9 : null)) : raw;
    const who = process < 0 ? "machine" : `process ${process}`;
    return { name, label: `${who}, ${name}`, process, rate, times, series: [{ name: rate ? `${name} per second` : name, values }] };
  });
}

// Memory of the program's processes: not Sonde's own counters, and not one reading, which draws no curve.
export function isResident(counter: Pick<Counter, "name" | "times">): boolean {
  return /rss_bytes$|pss_bytes$|memory_bytes$/.test(counter.name) && !counter.name.startsWith("agent_") && counter.times.length > 1;
}
