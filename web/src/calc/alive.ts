// What was alive at a moment: the blocks that had begun and not ended, summed by who asked for them, module and category.

import type { Model } from "../data/model";

export interface AliveRow {
  op: string;
  module: string;
  category: string;
  bytes: number;
  blocks: number;
}

export function aliveAt(model: Model, process: number, device: string, moment: number): AliveRow[] {
  const [who, where, start, end, window, bytes, op, module, category, older] = ["process", "device", "start", "end", "window", "bytes", "op", "module", "category", "older"].map((name) => model.column("blocks", name));
  // Nothing is carried from one window to the next: blocks count in the window that the moment lies in.
  let here = -1;
  for (let i = 0; i < who.length && start[i] <= moment; i++) if (who[i] === process && model.text(where[i]) === device) here = window[i];
  const groups = new Map<string, AliveRow>();
  for (let i = 0; i < who.length; i++) {
    if (window[i] !== here || who[i] !== process || model.text(where[i]) !== device || start[i] > moment || (end[i] >= 0 && end[i] <= moment)) continue;
    const name = model.text(op[i]) || (older[i] ? "(before the window)" : "(outside any operator)");
    const id = `${name}\u0001${module[i]}\u0001${category[i]}`;
    let row = groups.get(id);
    if (!row) groups.set(id, (row = { op: name, module: model.text(module[i]), category: model.text(category[i]) || "unknown", bytes: 0, blocks: 0 }));
    row.bytes += bytes[i];
    row.blocks++;
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes);
}
