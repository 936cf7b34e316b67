// Kernels by name. Of the whole recording the writer has summed them; of a range the kernels that began in it count.

import type { Model } from "../data/model";

export interface KernelRow {
  name: string;
  short: string;
  device: number;
  work: number;
  calls: number;
  total: number;
  longest: number;
  occupancy: number;
  origin: string; // who made it; of the whole recording
  tensor: boolean;
}

const SYNC = 3;

export function kernelRows(model: Model, range: [number, number] | null): KernelRow[] {
  if (!range) {
    const column = (name: string) => model.column("kerneltotals", name);
    return Array.from({ length: model.rows("kerneltotals") }, (_, i) => ({
      name: model.text(column("name")[i]), short: model.text(column("short")[i]), device: column("device")[i], work: column("work")[i], calls: column("calls")[i],
      total: column("total")[i], longest: column("longest")[i], occupancy: column("occupancy")[i],
      origin: model.text(column("origin")[i]), tensor: column("tensor")[i] === 1,
    })).filter((row) => row.work !== SYNC);
  }
  const groups = new Map<string, KernelRow & { known: number }>();
  const [start, work, name, short, device, duration, occupancy] = ["start", "work", "name", "short", "device", "duration", "occupancy"].map((c) => model.column("kernels", c));
  for (let i = 0; i < start.length; i++) {
    if (start[i] < range[0] || start[i] > range[1] || work[i] === SYNC) continue;
    const key = `${name[i]}:${device[i]}`;
    let row = groups.get(key);
    if (!row) groups.set(key, (row = { name: model.text(name[i]), short: model.text(short[i]), device: device[i], work: work[i], calls: 0, total: 0, longest: 0, occupancy: NaN, origin: "", tensor: false, known: 0 }));
    row.calls++;
    row.total += duration[i];
    row.longest = Math.max(row.longest, duration[i]);
    if (occupancy[i] >= 0) {
      row.occupancy = ((row.known ? row.occupancy : 0) * row.known + occupancy[i]) / (row.known + 1);
      row.known++;
    }
  }
  return [...groups.values()];
}
