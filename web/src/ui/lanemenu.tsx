// Which lanes of the timeline are shown: a list with a check and a pin for each, and a choice of one process or rank.

import { useState } from "preact/hooks";
import { readChoice, toggled } from "../calc/lane_choice";
import type { Lane } from "../calc/lanes";
import type { Model } from "../data/model";
import type { Store } from "../data/store";
import { Pick } from "./parts";

const MOST = 300;

export function LaneMenu({ model, lanes, store }: { model: Model; lanes: Lane[]; store: Store }) {
  const [open, setOpen] = useState(false);
  const [filter, setFilter] = useState("");
  const choice = readChoice(store);
  const heads = lanes.filter((lane) => lane.kind === "process");
  const named = lanes.filter((lane) => lane.kind !== "process" && `${lane.label} ${lane.note}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <>
      {heads.length > 1 && <Pick label="Process" bare value={String(choice.process)} options={[["-1", `All ${heads.length} processes`], ...heads.map((head) => [String(head.process), head.label] as [string, string])]} onChange={(v) => store.set({ "timeline.process": v === "-1" ? null : v })} />}
      <div class="lane-menu">
        <button type="button" class="toggle" aria-expanded={open} onClick={() => setOpen(!open)} title="Show, hide and pin threads and streams">
          Lanes{choice.hidden.size ? ` (${choice.hidden.size} hidden)` : ""}
        </button>
        {open && (
          <div class="menu" role="group" aria-label="Lanes">
            <input type="search" placeholder="Filter lanes" aria-label="Filter lanes" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
            <div class="bar">
              <button type="button" onClick={() => store.set({ "timeline.hidden": null, "timeline.pinned": null, "timeline.closed": null })}>All</button>
              <button type="button" onClick={() => store.set({ "timeline.hidden": lanes.filter((lane) => lane.kind !== "process" && !named.includes(lane)).map((lane) => lane.id).join(",") || null })}>Only these</button>
            </div>
            {named.slice(0, MOST).map((lane) => (
              <div class="lane-row">
                <label>
                  <input type="checkbox" checked={!choice.hidden.has(lane.id)} onChange={() => toggled(store, "hidden", lane.id)} />
                  <span>{lane.label}</span> <span class="note">{lane.note}{heads.length > 1 ? `, ${heads.find((head) => head.process === lane.process)?.label}` : ""}</span>
                </label>
                <button type="button" aria-pressed={choice.pinned.has(lane.id)} title="Keep it at the top" onClick={() => toggled(store, "pinned", lane.id)}>
                  {choice.pinned.has(lane.id) ? "unpin" : "pin"}
                </button>
              </div>
            ))}
            {named.length > MOST && <span class="note">{named.length - MOST} more; filter to see them</span>}
            {model.threads.length === 0 && <span class="note">no threads</span>}
          </div>
        )}
      </div>
    </>
  );
}
