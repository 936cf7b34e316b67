// Flame: where the time, the waiting or the memory is, as one picture.

import { useMemo, useRef } from "preact/hooks";
import { buildTree, matchedTotal, type Tree } from "../calc/tree";
import { measuresOf, rowsOf, type Measure } from "../calc/weights";
import { steadyRange } from "../calc/layers";
import { readTransforms, transformsWord, TRANSFORM_WORDS } from "../calc/transforms";
import { labelId } from "../calc/details/named";
import { FlameChart, amount, labelMatches } from "../ui/flamechart";
import { Choice, Empty, ExportMenu, Legend, linkItem, Pick, pictureItems, Toggle } from "../ui/parts";
import { copyText, csv, download } from "../ui/save";
import type { ViewProps } from "../ui/context";
import type { Chart } from "../draw/chart";
import { drawnFill, drawnWord, LAYERS, type Drawn, type Model } from "../data/model";
import * as format from "../calc/format";

const MEASURES: Record<Measure, [string, string]> = {
  cpu: ["On CPU", "time that threads spent running, from samples"],
  off: ["Off CPU", "time that threads spent waiting, from samples"],
  both: ["Both", "running and waiting time of all threads"],
  ops: ["Operators", "time inside recorded operator calls"],
  gpu: ["GPU", "device time of kernels under the operators that launched them"],
  memory: ["Memory", "bytes allocated by operators (frees not subtracted)"],
};

export function FlameView({ model, store, theme, match }: ViewProps) {
  const measures = useMemo(() => measuresOf(model), [model]);
  const measure = (measures.includes(store.get("flame.measure", "") as Measure) ? store.get("flame.measure", "") : measures[0]) as Measure;
  const threads = store.get("flame.threads", "merged");
  const thread = store.number("thread", -1);
  const hide = store.flag("flame.hide", true);
  const invert = store.flag("flame.invert", false);
  const flip = store.flag("flame.flip", false);
  const colour = store.get("flame.colour", "layer") as "layer" | "library" | "module";
  const steady = useMemo(() => steadyRange(model), [model]);
  const sampled = measure === "cpu" || measure === "off" || measure === "both";
  const onlySteady = store.flag("flame.steady", true) && sampled && Boolean(steady);
  const range = store.range ?? (onlySteady ? steady : null);
  const merge = store.flag("flame.merge", true);
  const word = store.get("flame.path", "");
  const transforms = useMemo(() => readTransforms(word), [word]);
  const chart = useRef<Chart | null>(null);
  const tree = useMemo(() => {
    if (!measure) return null;
    const rows = rowsOf(model, measure, { range, thread, owners: threads === "owners", merge });
    const byGroup = threads === "merged" ? null : (group: number) => model.threadLabel(group);
    return buildTree(rows, { hideRuntime: hide, byGroup, invert, transforms });
  }, [model, measure, threads, thread, hide, invert, merge, transforms, range?.[0], range?.[1]]);
  const found = useMemo(() => {
    const matches = tree && labelMatches(tree, match);
    return matches ? matchedTotal(tree, matches) : 0;
  }, [tree, match]);
  const used = useMemo(() => (tree ? legendOf(tree.labels, [...new Set(tree.label)], theme) : []), [tree, theme]);
  if (!tree) {
    return (
      <Empty title="No stacks in this recording" command="sonde run your_script.py">
        A flame needs samples or operator calls. Record the program to get both:
      </Empty>
    );
  }
  return (
    <section class="view fill" data-view="flame">
      <div class="bar">
        <Choice label="What is measured" value={measure} options={measures.map((m) => [m, ...MEASURES[m]])} onChange={(v) => store.set({ "flame.measure": v, "flame.zoom": null })} />
        <Choice
          label="Threads"
          value={threads}
          options={[
            ["merged", "Merged", "all threads in one tree"],
            ["thread", "By thread", "one tree per thread"],
            ["owners", "By owner", "pool workers under the thread that gave them work"],
          ]}
          onChange={(v) => store.set({ "flame.threads": v, "flame.zoom": null })}
        />
        <Pick label="Thread" bare value={String(thread)} options={threadOptions(model)} onChange={(v) => store.set({ thread: v === "-1" ? null : v, "flame.zoom": null })} />
        <Pick label="Colour" bare value={colour} options={[["layer", "Colour by layer"], ["library", "by library"], ["module", "by module"]]} onChange={(v) => store.set({ "flame.colour": v })} />
        <Toggle name="hide" on={hide} title="Interpreter and dispatcher frames are hidden; their time counts for the frame above" onChange={(on) => store.set({ "flame.hide": on ? null : "0", "flame.zoom": null })}>
          Hide runtime
        </Toggle>
        <Toggle name="invert" on={invert} title="Start at the innermost frame and show who called it" onChange={(on) => store.set({ "flame.invert": on ? "1" : null, "flame.zoom": null })}>
          Invert
        </Toggle>
        <Toggle name="flip" on={flip} title="Root at the bottom" onChange={(on) => store.set({ "flame.flip": on ? "1" : null })}>
          Flip
        </Toggle>
        <Toggle name="merge" on={merge} title="Equal layers of the model are one frame" onChange={(on) => store.set({ "flame.merge": on ? null : "0", "flame.zoom": null })}>
          Merge layers
        </Toggle>
        {sampled && steady && !store.range && (
          <Toggle name="steady" on={onlySteady} title="Leave out start, warm-up and end" onChange={(on) => store.set({ "flame.steady": on ? null : "0", "flame.zoom": null })}>
            Steady steps only
          </Toggle>
        )}
        {store.get("flame.zoom", "") && (
          <button type="button" class="toggle" onClick={() => store.set({ "flame.zoom": null })}>
            Reset zoom
          </button>
        )}
        <ExportMenu
          items={[
            ...pictureItems("flame", () => chart.current),
            ["CSV of this tree", () => download("flame.csv", treeCsv(tree), "text/csv")],
            ["Copy as collapsed stacks", () => void copyText(collapsed(tree))],
            linkItem(store),
          ]}
        />
      </div>
      {transforms.length > 0 && (
        <nav class="bar crumbs" aria-label="What was done to this flame" data-role="crumbs">
          <button type="button" class="toggle" onClick={() => store.set({ "flame.path": null, "flame.zoom": null })}>All</button>
          {transforms.map((t, i) => (
            <button type="button" class="toggle" title="Undo this one" onClick={() => store.set({ "flame.path": transformsWord(transforms.filter((_, at) => at !== i)), "flame.zoom": null })}>
              {TRANSFORM_WORDS[t.kind]} <bdi>{t.id.slice(0, t.id.lastIndexOf("@"))}</bdi> ×
            </button>
          ))}
        </nav>
      )}
      <div class="bar under">
        <Legend items={colour === "layer" ? used : []} />
        <span class="note" data-role="flame-note">
          {amount(tree, tree.sum)} = 100 % = {tree.whole}
          {match.active && (match.error ? ` · not a valid expression: ${match.error}` : ` · matches hold ${format.percent(found / tree.sum)} (${amount(tree, found)})`)}
        </span>
      </div>
      {tree.sum > 0 ? (
        <FlameChart
          tree={tree}
          theme={theme}
          match={match}
          label="Flame graph"
          flip={flip}
          colour={colour}
          height="100%"
          zoom={store.get("flame.zoom", "")}
          onZoom={(zoom) => store.set({ "flame.zoom": zoom })}
          onPick={(node) => store.select(node > 0 ? { kind: "function", name: labelId(tree.labels[tree.label[node]]) } : null)}
          chartRef={(c) => (chart.current = c)}
        />
      ) : (
        <Empty title="Nothing here for this choice">
          {measure === "off" ? "No waiting was seen" : "There are no samples"} for this thread and range. Clear the range or choose another thread.
        </Empty>
      )}
    </section>
  );
}

export function threadOptions(model: Model): [string, string][] {
  return [["-1", "All threads"], ...model.threads.map((t) => [String(t.id), `${model.threadLabel(t.id)}${t.kind ? ` (${t.kind})` : ""}`] as [string, string])];
}

function path(tree: Tree, node: number): string {
  const names: string[] = [];
  for (let at = node; at > 0; at = tree.parent[at]) names.push(tree.labels[tree.label[at]].name.replace(/;/g, ","));
  return names.reverse().join(";");
}

function collapsed(tree: Tree): string {
  const lines: string[] = [];
  for (let i = 1; i < tree.parent.length && lines.length < 20000; i++) {
    if (tree.self[i] > 0) lines.push(`${path(tree, i)} ${Math.round(tree.self[i])}`);
  }
  return lines.join("\n");
}

function treeCsv(tree: Tree): string {
  const unit = tree.unit === "time" ? "ns" : "bytes";
  const rows: (string | number)[][] = [["depth", "name", "layer", `self (${unit})`, `total (${unit})`, "samples", "path"]];
  for (let i = 1; i < tree.parent.length && rows.length < 50000; i++) {
    const label = tree.labels[tree.label[i]];
    rows.push([tree.depth[i], label.name, LAYERS[label.layer], tree.self[i], tree.total[i], tree.count[i], tree.depth[i] < 200 ? path(tree, i) : ""]);
  }
  return csv(rows);
}

// From the root to the leaves, as stacks grow.
const LEGEND = ["Python", "module", "framework", "operator", "compute kernel", "native code", "operating system", "GPU kernel", "other"];

function legendOf(labels: Drawn[], used: number[], theme: ViewProps["theme"]): [string, string][] {
  const fills = new Map(used.map((label) => [drawnWord(labels[label]), drawnFill(labels[label], theme)]));
  return LEGEND.flatMap((word) => (fills.has(word) ? [[word, fills.get(word)!] as [string, string]] : []));
}
