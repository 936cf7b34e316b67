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

// How far the recording can be trusted, in a few words: the first doubt by name, and how many there are.
export function trustOf(model: Model): { good: boolean; words: string } {
  const doubts = qualityLines(model).filter(([, , , bad]) => bad);
  if (!doubts.length) return { good: true, words: "Trust: good" };
  const [name, value] = doubts[0];
  return { good: false, words: `Trust: check ${name.toLowerCase()} (${value})${doubts.length > 1 ? ` and ${doubts.length - 1} more` : ""}` };
}

type Line = [string, string, string, boolean?];

export function qualityLines(model: Model): Line[] {
  const told = model.answer("quality");
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
  const all = told?.attributed.all;
  if (samples && all && all.python !== null && all.op !== null && all.leaf !== null) {
    lines.push(["Attributed to Python", format.percent(all.python), "Share of on-CPU time with a Python frame of the program"]);
    lines.push(["Attributed to an operator", format.percent(all.op), "Share of on-CPU time inside an operator"]);
    lines.push(["Named innermost frame", format.percent(all.leaf), "Share of on-CPU time whose innermost frame has a name", all.leaf < 0.8]);
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
