// The recording's own quality: how many samples, what was lost, how much is
// attributed, what recording cost. A profile without this is an opinion.

import { useMemo } from "preact/hooks";
import type { Model } from "../data/model";
import * as format from "../calc/format";

export function QualityBox({ model }: { model: Model }) {
  const lines = useMemo(() => qualityLines(model), [model]);
  const losses = model.answer("losses")?.rows ?? [];
  const causes = new Set(losses.map((row) => row.cause)).size;
  return (
    <article class="card" data-role="quality">
      <header>
        <h2>Quality of this recording</h2>
      </header>
      <dl class="facts">
        {lines.map(([name, value, meaning, bad]) => (
          <div title={meaning} class={bad ? "bad" : ""}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {losses.length > 0 && (
        <details>
          <summary>What is missing or doubtful ({causes} {causes === 1 ? "cause" : "causes"})</summary>
          <ul class="losses">
            {losses.map(({ cause, count, unit, detail }) => (
              <li>
                <b>{cause}</b>: {format.count(count)} {unit}
                {detail ? ` – ${detail}` : ""}
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  );
}

type Line = [string, string, string, boolean?];

export function qualityLines(model: Model): Line[] {
  const told = model.facts.quality;
  const kept = model.facts.kept ?? {};
  const lines: Line[] = [];
  const samples = kept.profile?.samples ?? 0;
  if (samples) lines.push(["Samples", format.count(samples), "Moments at which a thread was seen; a share p of n samples is uncertain by about 1/√n"]);
  if (kept.ops?.ops) lines.push(["Operator calls", format.count(kept.ops.ops), "Calls recorded in windows"]);
  if (kept.device?.kernels) lines.push(["GPU events", format.count(kept.device.kernels), "Kernels, copies and sets"]);
  const losses = model.answer("losses")?.rows ?? [];
  const lost = losses.filter((row) => row.unit === "samples").reduce((sum, row) => sum + row.count, 0);
  const other = new Set(losses.filter((row) => row.unit !== "samples").map((row) => row.cause)).size;
  if (other) lines.push(["Other losses", `${format.count(other)} ${other === 1 ? "cause" : "causes"}, listed below`, "What else is missing or doubtful: events, files, threads"]);
  if (samples) lines.push(["Lost samples", `${format.count(lost)} (${format.percent(lost / (lost + samples))} of all)`, "Samples known to be missing or cut short, by every cause", lost / (lost + samples) > 0.05]);
  const all = told?.attributed?.all;
  if (all) {
    lines.push(["Attributed to Python", format.percent(all.python), "Share of on-CPU time with a Python frame of the program"]);
    lines.push(["Attributed to an operator", format.percent(all.op), "Share of on-CPU time inside an operator"]);
    lines.push(["Named innermost frame", format.percent(all.leaf), "Share of on-CPU time whose innermost frame has a name", all.leaf < 0.8]);
  } else if (samples) {
    const { python, op, named } = attributed(model);
    lines.push(["Attributed to Python", format.percent(python), "Share of on-CPU time whose stack holds a Python frame"]);
    lines.push(["Attributed to an operator", format.percent(op), "Share of on-CPU time whose stack holds an operator"]);
    lines.push(["Named innermost frame", format.percent(named), "Share of on-CPU time whose innermost frame has a name", named < 0.8]);
  }
  const overhead = told?.overhead;
  lines.push([
    "Overhead",
    typeof overhead?.share === "number" ? `${format.percent(overhead.share)}${typeof overhead.low === "number" && typeof overhead.high === "number" ? ` (${format.percent(overhead.low)} to ${format.percent(overhead.high)})` : ""}` : "not measured",
    "How much slower the program ran because it was recorded, measured in the same run",
    (overhead?.share ?? 0) > 0.1,
  ]);
  const cpu = told?.cpu_s;
  if (typeof cpu?.share === "number") lines.push(["CPU time accounted for", format.percent(cpu.share), "Share of the CPU time that the system counted for all processes of the job", cpu.share < 0.9]);
  if (model.facts.meta?.clock?.uncertainty_ns) lines.push(["Clock uncertainty", format.time(model.facts.meta.clock.uncertainty_ns), "How far times of different sources may be apart"]);
  if (kept.profile && kept.profile.rows < samples) lines.push(["Joined in this page", `within ${format.time(kept.profile.slot_ns)}`, "To keep this file small, equal samples within this time are one row; sums are exact"]);
  if (kept.profile?.pruned_nodes) lines.push(["Pruned stacks", `${format.count(kept.profile.pruned_nodes)} nodes, ${format.time(kept.profile.pruned_ns)}`, "Rare stack nodes shown as (pruned); their time is kept"]);
  if (kept.ops?.pruned_calls) lines.push(["Pruned calls", `${format.count(kept.ops.pruned_calls)} shorter than ${format.time(kept.ops.longest_pruned_ns)}`, "Calls not drawn in the timeline; the operator table is exact"]);
  if (model.facts.meta && model.facts.meta.complete === false) lines.push(["Complete", "no", "The program was still running or was killed", true]);
  return lines;
}

function attributed(model: Model): { python: number; op: number; named: number } {
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  const layer = model.column("functions", "layer");
  const name = model.column("functions", "name");
  const flags = new Uint8Array(parent.length);
  for (let i = 0; i < parent.length; i++) {
    const f = functionOf[frame[i]];
    const text = model.text(name[f]);
    const unnamed = !text || text.startsWith("(no stack") || /^(0x|\[unknown|\?\?)/.test(text);
    flags[i] = ((parent[i] >= 0 ? flags[parent[i]] : 0) & 3) | (layer[f] === 0 ? 1 : 0) | (layer[f] === 2 ? 2 : 0) | (unnamed ? 4 : 0);
  }
  const stack = model.column("samples", "stack");
  const weight = model.column("samples", "weight");
  const state = model.column("samples", "state");
  const sums = [0, 0, 0, 0];
  for (let i = 0; i < stack.length; i++) {
    if (state[i] === 3) continue;
    sums[3] += weight[i];
    if (flags[stack[i]] & 1) sums[0] += weight[i];
    if (flags[stack[i]] & 2) sums[1] += weight[i];
    if (!(flags[stack[i]] & 4)) sums[2] += weight[i];
  }
  return { python: sums[0] / sums[3], op: sums[1] / sums[3], named: sums[2] / sums[3] };
}
