// What each device did: union of kernel times, by kind of work, and overlap.

import type { GpuDevice } from "../data/answers";
import { GPU_WORK, type Model } from "../data/model";

type Idle = "idle_host_ms" | "idle_kernel_ms" | "idle_sync_ms" | "idle_other_ms";
type Summed = "process" | "device" | "events" | "window_ms" | "busy_ms" | "idle_ms" | "compute_ms" | "communication_ms" | "copy_ms" | "overlap_ms";

// A row of `sonde show REC gpu`. Of a range only what can be summed is known: not why the device was idle.
export type DeviceRow = Pick<GpuDevice, Summed> & Partial<Pick<GpuDevice, Idle>>;

type Interval = [number, number];

export function union(intervals: Interval[]): Interval[] {
  const sorted = [...intervals].sort((a, b) => a[0] - b[0]);
  const out: Interval[] = [];
  for (const [start, end] of sorted) {
    const last = out[out.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else out.push([start, end]);
  }
  return out;
}

export function lengthOf(intervals: Interval[]): number {
  return intervals.reduce((sum, [start, end]) => sum + end - start, 0);
}

export function intersection(a: Interval[], b: Interval[]): number {
  let sum = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    sum += Math.max(0, Math.min(a[i][1], b[j][1]) - Math.max(a[i][0], b[j][0]));
    if (a[i][1] < b[j][1]) i++;
    else j++;
  }
  return sum;
}

export function deviceRows(model: Model, range: [number, number] | null): DeviceRow[] {
  const told = range ? null : model.answer("gpu");
  if (told) return told.devices;
  const rows = model.rows("kernels");
  const groups = new Map<string, { process: number; device: number; byWork: Interval[][] }>();
  for (let i = 0; i < rows; i++) {
    let start = model.column("kernels", "start")[i];
    let end = start + model.column("kernels", "duration")[i];
    const work = model.column("kernels", "work")[i];
    if (GPU_WORK[work] === "sync") continue;
    if (range) {
      if (end < range[0] || start > range[1]) continue;
      start = Math.max(start, range[0]);
      end = Math.min(end, range[1]);
    }
    const process = model.column("kernels", "process")[i];
    const device = model.column("kernels", "device")[i];
    const key = `${process}:${device}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { process, device, byWork: GPU_WORK.map(() => []) }));
    group.byWork[work].push([start, end]);
  }
  return [...groups.values()].map(({ process, device, byWork }) => {
    const all = union(byWork.flat());
    const parts = byWork.map(union);
    const window = all.length ? all[all.length - 1][1] - all[0][0] : 0;
    const busy = lengthOf(all);
    return {
      process, device, events: byWork.reduce((n, list) => n + list.length, 0),
      window_ms: window / 1e6, busy_ms: busy / 1e6, idle_ms: (window - busy) / 1e6,
      compute_ms: lengthOf(parts[0]) / 1e6, communication_ms: lengthOf(parts[1]) / 1e6, copy_ms: lengthOf(parts[2]) / 1e6,
      overlap_ms: intersection(parts[0], parts[1]) / 1e6,
    };
  });
}
