// Diff: two recordings in one picture. Blue got faster, red got slower; width
// is the mean of both, so that what vanished can still be seen.

import { useMemo, useRef } from "preact/hooks";
import { diffTable, diffTree, perStep, sideOf, type DiffRow } from "../calc/diff";
import { measuresOf, type Measure } from "../calc/weights";
import { median } from "../calc/steps";
import { FlameChart, amount } from "../ui/flamechart";
import { Choice, Empty, ExportMenu, Legend, linkItem, pictureItems, Toggle } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { Chart } from "../draw/chart";
import type { ViewProps } from "../ui/context";
import type { Model } from "../data/model";
import * as format from "../calc/format";

export function DiffView({ model, before, store, theme, match }: ViewProps) {
  const after = model;
  const first = before!;
  const shared = useMemo(() => measuresOf(first).filter((m) => measuresOf(after).includes(m)), [first, after]);
  const measure = (shared.includes(store.get("flame.measure", "") as Measure) ? store.get("flame.measure", "") : shared[0]) as Measure;
  const byStep = perStep(first, after) && store.get("diff.per", "step") === "step";
  const hide = store.flag("flame.hide", true);
  const self = store.get("diff.by", "self") === "self";
  const everything = store.flag("diff.all", false);
  const chart = useRef<Chart | null>(null);
  const sides = useMemo(() => (measure ? ([sideOf(first, measure, byStep), sideOf(after, measure, byStep)] as const) : null), [first, after, measure, byStep]);
  const both = useMemo(() => (sides ? diffTree(sides[0], sides[1], hide) : null), [sides, hide]);
  const table = useMemo(() => (sides ? diffTable(sides[0], sides[1], self) : []), [sides, self]);
  if (!sides || !both) {
    return (
      <Empty title="Nothing to compare" command="sonde diff before.sonde after.sonde --html diff.html">
        The two recordings have no kind of data in common.
      </Empty>
    );
  }
  const unit = both.tree;
  const [a, b] = [both.before[0], both.after[0]];
  const rows = table.filter((row) => (!hide || !row.label.runtime) && (everything || row.sure) && (!match.active || match.test(row.label.name)));
  const appeared = table.filter((row) => row.before === 0 && row.after > 0.002 * b && !row.label.runtime).sort((x, y) => y.after - x.after);
  const vanished = table.filter((row) => row.after === 0 && row.before > 0.002 * a && !row.label.runtime).sort((x, y) => y.before - x.before);
  const colour = (node: number) => {
    const change = both.after[node] - both.before[node];
    const most = Math.max(both.after[node], both.before[node]) || 1;
    // What sampling alone could have done stays grey.
    const noise = both.deviation[node];
    const sure = Math.max(0, Math.min(1, (Math.abs(change) - noise) / (noise + 0.001 * unit.sum)));
    return Math.sign(change) * Math.sqrt(Math.abs(change) / most) * sure;
  };
  return (
    <section class="view" data-view="diff">
      <div class="verdict">
        <h1 data-role="diff-verdict">{headline(first, after, a, b, unit.unit)}</h1>
        <p>
          Before, {String(first.facts.title)}: {amount(unit, a)}; after, {String(after.facts.title)}: {amount(unit, b)} of {sides[0].rows.whole.split(" of ")[0]}
          {byStep ? ` per steady step (${sides[0].steps} and ${sides[1].steps} steps)` : " in all"}.
        </p>
      </div>
      <div class="bar">
        <Choice
          label="What is measured"
          value={measure}
          options={shared.map((m) => [m, { cpu: "On CPU", off: "Off CPU", both: "Both", ops: "Operators", gpu: "GPU", memory: "Memory" }[m]])}
          onChange={(v) => store.set({ "flame.measure": v, "diff.zoom": null })}
        />
        {perStep(first, after) && <Choice label="Per" value={byStep ? "step" : "all"} options={[["step", "Per steady step"], ["all", "In all"]]} onChange={(v) => store.set({ "diff.per": v })} />}
        <Toggle name="hide" on={hide} title="Hide interpreter and dispatcher frames" onChange={(on) => store.set({ "flame.hide": on ? null : "0" })}>
          Hide runtime
        </Toggle>
        <Legend items={[["slower", rgb(theme.worse)], ["same", theme.dark ? "#3a3f48" : "#e2e4e8"], ["faster", rgb(theme.better)]]} />
        <ExportMenu
          items={[
            ...pictureItems("diff", () => chart.current),
            linkItem(store),
          ]}
        />
      </div>
      <FlameChart
        tree={both.tree}
        theme={theme}
        match={match}
        label="Difference of two recordings"
        colour="diff"
        diff={colour}
        height="46vh"
        zoom={store.get("diff.zoom", "")}
        onZoom={(zoom) => store.set({ "diff.zoom": zoom })}
        chartRef={(c) => (chart.current = c)}
        extra={(node) => [
          ["before", amount(unit, both.before[node])],
          ["after", amount(unit, both.after[node])],
          ["change", `${both.after[node] >= both.before[node] ? "+" : "−"}${amount(unit, Math.abs(both.after[node] - both.before[node]))}`],
        ]}
      />
      {(appeared.length > 0 || vanished.length > 0) && (
        <div class="cards">
          <Names title="Appeared" note="only in the second" rows={appeared} value={(row) => amount(unit, row.after)} />
          <Names title="Vanished" note="only in the first" rows={vanished} value={(row) => amount(unit, row.before)} />
        </div>
      )}
      <div class="bar">
        <Choice label="By" value={self ? "self" : "total"} options={[["self", "Self"], ["total", "Total"]]} onChange={(v) => store.set({ "diff.by": v })} />
        <Toggle name="all" on={everything} title="Also show rows whose interval holds zero" onChange={(on) => store.set({ "diff.all": on ? "1" : null })}>
          Also uncertain
        </Toggle>
        <span class="note">{byStep ? "95 % intervals from the spread between steps (Welch)" : "95 % intervals cover sampling only, not the difference between runs"}</span>
      </div>
      <DataTable<DiffRow>
        id="diff"
        store={store}
        rows={rows}
        sort="size"
        file="diff"
        height="60vh"
        note={everything ? undefined : "only rows whose 95 % interval does not hold zero"}
        columns={[
          { id: "name", title: "Function", meaning: "Function, operator or module", width: "minmax(110px, 1fr)", value: (row) => row.label.name, show: (row) => <><i class="dot" style={{ background: theme.layer[row.label.layer] }} />{row.label.name}</> },
          { id: "before", title: "Before", meaning: "In the first recording", width: "100px", wide: true, value: (row) => row.before, show: (row) => amount(unit, row.before) },
          { id: "after", title: "After", meaning: "In the second recording", width: "100px", wide: true, value: (row) => row.after, show: (row) => amount(unit, row.after) },
          { id: "size", title: "Change", meaning: "After less before; sorted by size", width: "100px", value: (row) => Math.abs(row.after - row.before), show: (row) => <span class={row.after > row.before ? "worse" : "better"}>{signed(row.after - row.before, (v) => amount(unit, v))}</span> },
          { id: "interval", title: "95 % interval", meaning: "Where the true change lies, with 95 % confidence", width: "minmax(150px, 200px)", value: (row) => row.low, show: (row) => (Number.isFinite(row.low) ? `${signed(row.low, (v) => amount(unit, v))} … ${signed(row.high, (v) => amount(unit, v))}` : "unknown") },
          { id: "ratio", title: "Ratio", meaning: "After divided by before", width: "80px", wide: true, value: (row) => row.after / row.before, show: (row) => (row.before > 0 ? `× ${format.digits(row.after / row.before)}` : "new") },
        ]}
      />
    </section>
  );
}

function Names(props: { title: string; note: string; rows: DiffRow[]; value: (row: DiffRow) => string }) {
  return (
    <article class="card">
      <header>
        <h2>{props.title}</h2>
        <span class="note">{props.note}, at least 0.2 % of the time</span>
      </header>
      <div class="chips">
        {props.rows.slice(0, 30).map((row) => (
          <span>
            <bdi>{row.label.name}</bdi> <b>{props.value(row)}</b>
          </span>
        ))}
        {!props.rows.length && <span>nothing</span>}
      </div>
    </article>
  );
}

function headline(first: Model, after: Model, a: number, b: number, unit: "time" | "bytes"): string {
  const told = after.facts.comparison;
  if (told?.verdict) {
    const ratio = typeof told.ratio === "number" ? `: ratio ${format.digits(told.ratio)} (${format.digits(told.low)} to ${format.digits(told.high)})` : "";
    return `Verdict: ${told.verdict}${ratio}.`;
  }
  const steps = [first, after].map((m) => m.steps.slice(m.warmup).map((s) => s.end - s.start));
  if (steps.every((s) => s.length >= 3)) {
    const [x, y] = steps.map((s) => median(s));
    const [lowX, highX] = medianInterval(steps[0]);
    const [lowY, highY] = medianInterval(steps[1]);
    const word = highY < lowX ? "faster" : lowY > highX ? "slower" : null;
    const text = `a steady step takes ${format.time(x)} before and ${format.time(y)} after (× ${format.digits(y / x)})`;
    return word ? `The second is ${word}: ${text}.` : `No sure difference: ${text}, within the spread between steps.`;
  }
  const show = unit === "time" ? format.time : format.bytes;
  return `${show(a)} before, ${show(b)} after (× ${format.digits(b / a)}); without steps, runs of different length cannot be judged.`;
}

// 95 % interval of the median by order statistics.
function medianInterval(values: number[]): [number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  const half = 0.98 * Math.sqrt(sorted.length);
  const low = Math.max(0, Math.floor(sorted.length / 2 - half));
  const high = Math.min(sorted.length - 1, Math.ceil(sorted.length / 2 + half));
  return [sorted[low], sorted[high]];
}

function signed(value: number, show: (value: number) => string): string {
  return `${value < 0 ? "−" : "+"}${show(Math.abs(value))}`;
}

function rgb(colour: [number, number, number]): string {
  return `rgb(${colour.join(" ")})`;
}
