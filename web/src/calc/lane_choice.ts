// Which lanes of the timeline are drawn, and in which order: pinned ones first, closed processes as their title alone,
// idle threads of a process as one line that opens. The choice is words in the address.

import type { Model } from "../data/model";
import type { Store } from "../data/store";
import type { Lane } from "./lanes";
import { roleOf } from "./roles";

export interface LaneChoice {
  pinned: Set<string>;
  hidden: Set<string>;
  closed: Set<string>; // ids of process titles, and of idle lines that are open
  process: number; // -1: all
}

const words = (store: Store, name: string) => new Set(store.get(name, "").split(",").filter(Boolean));

export function readChoice(store: Store): LaneChoice {
  return { pinned: words(store, "timeline.pinned"), hidden: words(store, "timeline.hidden"), closed: words(store, "timeline.closed"), process: store.number("timeline.process", -1) };
}

export function toggled(store: Store, name: "pinned" | "hidden" | "closed", id: string): void {
  const set = words(store, `timeline.${name}`);
  if (!set.delete(id)) set.add(id);
  store.set({ [`timeline.${name}`]: set.size ? [...set].join(",") : null });
}

export function chosenLanes(model: Model, lanes: Lane[], choice: LaneChoice): Lane[] {
  const pinned = lanes.filter((lane) => choice.pinned.has(lane.id));
  const out: Lane[] = [...pinned];
  for (const head of lanes.filter((lane) => lane.kind === "process")) {
    if (choice.process >= 0 && head.process !== choice.process) continue;
    const own = lanes.filter((lane) => lane.kind !== "process" && lane.process === head.process && !choice.hidden.has(lane.id) && !pinned.includes(lane));
    if (!own.length) continue;
    out.push(head);
    if (choice.closed.has(head.id)) continue;
    const idle = own.filter((lane) => lane.kind === "thread" && !lane.slices.length && !lane.launches.length && roleOf(model, lane.thread).idle);
    const folded = idle.length > 0 && !choice.closed.has(`i${head.process}`);
    const threads = own.filter((lane) => lane.kind === "thread" && !idle.includes(lane));
    out.push(...threads, ...own.filter((lane) => lane.kind === "stream"));
    if (!idle.length) continue;
    const harmless = idle.every((lane) => roleOf(model, lane.thread).words === "idle pool thread");
    out.push({ ...head, kind: "idle", id: `i${head.process}`, label: `${folded ? "▸" : "▾"} ${idle.length} idle ${harmless ? "pool " : ""}${idle.length === 1 ? "thread" : "threads"}`, note: harmless ? "harmless: no work was given" : "" });
    if (!folded) out.push(...idle);
  }
  return out;
}
