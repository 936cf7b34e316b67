// Diff: two recordings in one picture. Blue got faster, red got slower; width
// is the mean of both, so that what vanished can still be seen.

import { useMemo, useRef } from "preact/hooks";
import { diffTree, sideOf } from "../calc/diff";
import { measuresOf, type Measure } from "../calc/weights";
import { comparisonOf, firstTable, rowsOfTable, type Comparison, type ComparisonRow } from "../data/comparison";
import { FlameChart, amount } from "../ui/flamechart";
import { Choice, Empty, ExportMenu, Legend, linkItem, Pick, pictureItems, Toggle } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { Chart } from "../draw/chart";
import type { ViewProps } from "../ui/context";
import * as format from "../calc/format";

// Parts of a program vary more from run to run than the whole; as ROW_SCATTER in sonde/compare/rows.py.
const ROW_SCATTER = 2;

export function DiffView({ model, before, store, theme, match }: ViewProps) {
  const after = model;
  const first = before!;
  const comparison = comparisonOf(after);
  const shared = useMemo(() => measuresOf(first).filter((m) => measuresOf(after).includes(m)), [first, after]);
  const measure = (shared.includes(store.get("flame.measure", "") as Measure) ? store.get("flame.measure", "") : shared[0]) as Measure;
  const hide = store.flag("flame.hide", true);
  const chart = useRef<Chart | null>(null);
  const both = useMemo(() => {
    if (!measure || !comparison) return null;
    const { a, b } = comparison.steady;
    return diffTree(sideOf(first, measure, b.length ? a : []), sideOf(after, measure, a.length ? b : []), hide);
  }, [first, after, measure, hide]);
  if (!comparison || !both) {
    return (
      <Empty title="Nothing to compare" command="sonde diff before.sonde after.sonde --html diff.html">
        The two recordings have no kind of data in common.
      </Empty>
    );
  }
  const unit = both.tree;
  const colour = (node: number) => {
    const change = both.after[node] - both.before[node];
    const most = Math.max(both.after[node], both.before[node]) || 1;
    // What sampling or another run alone could have done stays grey.
    const runs = ROW_SCATTER * (comparison.scatter?.deviation ?? 0) * Math.hypot(both.before[node], both.after[node]);
    const noise = 2 * Math.hypot(both.deviation[node], runs);
    const sure = Math.max(0, Math.min(1, (Math.abs(change) - noise) / (noise + 0.001 * unit.sum)));
    return Math.sign(change) * Math.sqrt(Math.abs(change) / most) * sure;
  };
  return (
    <section class="view" data-view="diff">
      <div class="verdict">
        <h1 data-role="diff-verdict">{comparison.headline}</h1>
        {comparison.notes.map((line) => (
          <p data-role="diff-note">{line}</p>
        ))}
      </div>
      <p class="note" data-role="sides">A is <b><bdi>{first.facts.title}</bdi></b>{side(first)}, B is <b><bdi>{after.facts.title}</bdi></b>{side(after)}</p>
      <Tables comparison={comparison} store={store} match={match} />
      <div class="bar">
        <Choice
          label="What is measured"
          value={measure}
          options={shared.map((m) => [m, { cpu: "On CPU", off: "Off CPU", both: "Both", ops: "Operators", gpu: "GPU", memory: "Memory" }[m]])}
          onChange={(v) => store.set({ "flame.measure": v, "diff.zoom": null })}
        />
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
    </section>
  );
}

function Tables({ comparison, store, match }: { comparison: Comparison; store: ViewProps["store"]; match: ViewProps["match"] }) {
  const key = (table: { dimension: string; source: string }) => `${table.dimension}, ${table.source}`;
  const wanted = store.get("diff.table", "");
  const table = comparison.tables.find((t) => key(t) === wanted) ?? firstTable(comparison);
  const everything = store.flag("diff.all", false);
  if (!table) return null;
  const rows = rowsOfTable(comparison, table).filter((row) => (everything || row.sure) && (!match.active || match.test(row.name)));
  const significant = comparison.rows.some((row) => row.sure);
  return (
    <>
      <div class="bar">
        <Pick label="Table" value={key(table)} options={comparison.tables.map((t) => [key(t), t.title])} onChange={(v) => store.set({ "diff.table": v })} />
        <Toggle name="all" on={everything} title="Also show rows that are not significant" onChange={(on) => store.set({ "diff.all": on ? "1" : null })}>
          All rows
        </Toggle>
        <span class="note" data-role="diff-rows">{significant ? "Significant differences (FDR 5 %), with 95 % intervals" : "No significant differences (FDR 5 %)"}</span>
      </div>
      <DataTable<ComparisonRow>
        id="diff"
        store={store}
        rows={rows}
        sort="size"
        file="diff"
        height="42vh"
        note={everything ? undefined : "only significant rows"}
        columns={[
          { id: "name", title: "Name", meaning: table.title, width: "minmax(110px, 1fr)", value: (row) => row.name },
          { id: "before", title: "A", meaning: "In the first recording", width: "100px", wide: true, value: (row) => row.a, show: (row) => shown(row, row.a) },
          { id: "after", title: "B", meaning: "In the second recording", width: "100px", wide: true, value: (row) => row.b, show: (row) => shown(row, row.b) },
          { id: "size", title: "Change", meaning: "B less A; sorted by size", width: "100px", value: (row) => Math.abs(row.difference), show: (row) => <span class={row.difference > 0 ? "worse" : "better"}>{signed(row, row.difference)}</span> },
          { id: "interval", title: "95 % interval", meaning: "Where the true change lies, with 95 % confidence", width: "minmax(150px, 200px)", value: (row) => row.low ?? NaN, show: (row) => (row.low === null || row.high === null ? "not known" : `${signed(row, row.low)} … ${signed(row, row.high)}`) },
          { id: "note", title: "", meaning: "new, gone, moved, renamed, fused or another instruction set", width: "80px", wide: true, value: (row) => noteOf(row) },
        ]}
      />
    </>
  );
}

// When a side was made and with what, as far as the two can be told apart by it.
function side(model: ViewProps["model"]): string {
  const { started, command } = model.facts.meta ?? {};
  return ` (${[started?.slice(0, 16).replace("T", " "), command?.slice(-3).join(" ")].filter(Boolean).join(", ")})`;
}

function noteOf(row: ComparisonRow): string {
  return row.note || (row.a === 0 ? "new" : row.b === 0 ? "gone" : "");
}

function shown(row: ComparisonRow, value: number): string {
  return row.measure === "ms" ? format.time(value * 1e6) : format.bytes(value);
}

function signed(row: ComparisonRow, value: number): string {
  return `${value < 0 ? "−" : "+"}${shown(row, Math.abs(value))}`;
}

function rgb(colour: [number, number, number]): string {
  return `rgb(${colour.join(" ")})`;
}
