// Sandwich: every function with self and total time; for the chosen one its
// callers above and its callees below.

import { useMemo, useRef } from "preact/hooks";
import { calleeTree, callerTree, functionTable, wholeTable, type FunctionRow } from "../calc/functions";
import { measuresOf, rowsOf, type Measure } from "../calc/weights";
import { FlameChart, amount } from "../ui/flamechart";
import { Choice, Empty, ExportMenu, linkItem, pictureItems, Toggle } from "../ui/parts";
import type { Chart } from "../draw/chart";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import { drawnFill, drawnWord } from "../data/model";
import * as format from "../calc/format";

export function SandwichView({ model, store, theme, match }: ViewProps) {
  const measures = useMemo(() => measuresOf(model), [model]);
  const measure = (measures.includes(store.get("flame.measure", "") as Measure) ? store.get("flame.measure", "") : measures[0]) as Measure;
  const thread = store.number("thread", -1);
  const hide = store.flag("flame.hide", true);
  const range = store.range;
  const rows = useMemo(
    () => (measure ? rowsOf(model, measure, { range, thread, owners: false }) : null),
    [model, measure, thread, range?.[0], range?.[1]],
  );
  const whole = measure === "cpu" && !range && thread < 0;
  const table = useMemo(() => (!rows ? [] : whole ? wholeTable(model) : functionTable(rows)), [rows, whole]);
  if (!rows) {
    return (
      <Empty title="No functions to list" command="sonde run your_script.py">
        Self and total time come from samples or operator calls, and this recording has neither.
      </Empty>
    );
  }
  const { labels } = rows.source;
  const sum = table.reduce((total, row) => total + row.self, 0) || 1;
  const shown = table.filter((row) => {
    const label = labels[row.key];
    if (hide && label.runtime) return false;
    return !match.active || match.test(label.name) || match.test(label.file);
  });
  const wanted = store.get("sandwich.name", "");
  // Without a choice the row on top, so that the picture is never empty.
  const top = shown.reduce<FunctionRow | null>((best, row) => (best && best.self >= row.self ? best : row), null);
  const focus = wanted === "-" ? -1 : ((wanted ? table.find((row) => nameOf(labels, row) === wanted) : top)?.key ?? -1);
  return (
    <section class="view" data-view="sandwich">
      <div class="bar">
        <Choice
          label="What is measured"
          value={measure}
          options={measures.map((m) => [m, { cpu: "On CPU", off: "Off CPU", both: "Both", ops: "Operators", gpu: "GPU", memory: "Memory" }[m]])}
          onChange={(v) => store.set({ "flame.measure": v, "sandwich.name": null })}
        />
        <Toggle name="hide" on={hide} title="Leave interpreter and dispatcher functions out" onChange={(on) => store.set({ "flame.hide": on ? null : "0" })}>
          Hide runtime
        </Toggle>
        <span class="note">percentages are of {amount(rows, sum)}, {rows.whole}</span>
      </div>
      <div class={focus >= 0 ? "split" : ""}>
        <DataTable<FunctionRow>
          id="sandwich"
          store={store}
          rows={shown}
          file="functions"
          sort="self"
          selected={(row) => row.key === focus}
          onPick={(row) => store.set({ "sandwich.name": nameOf(labels, row), "sandwich.callers": null, "sandwich.callees": null, sel: `function:${nameOf(labels, row)}` })}
          note={focus < 0 ? "pick a row to see its callers and callees" : undefined}
          columns={[
            {
              id: "name", title: "Function", meaning: "Name of the function, operator or module", width: "minmax(160px, 2fr)",
              value: (row) => labels[row.key].name,
              show: (row) => (
                <>
                  <i class="dot" style={{ background: drawnFill(labels[row.key], theme) }} title={drawnWord(labels[row.key])} />
                  {labels[row.key].name}
                </>
              ),
            },
            { id: "self", title: "Self", meaning: "Time in the function itself, not in what it called", width: "minmax(112px, 142px)", value: (row) => row.self, show: (row) => `${amount(rows, row.self)}  ${format.percent(row.self / sum)}`, bar: (row) => row.self / sum },
            { id: "total", title: "Total", meaning: "Time in the function and everything it called; recursion counted once", width: "minmax(112px, 142px)", value: (row) => row.total, show: (row) => `${amount(rows, row.total)}  ${format.percent(row.total / sum)}`, bar: (row) => row.total / sum },
            { id: "count", title: rows.samples ? "Samples" : "Calls", meaning: rows.samples ? "Samples behind the total: few samples, rough number" : "Calls of the function itself", width: "80px", wide: true, value: (row) => row.count, show: (row) => format.count(row.count) },
            // Beside the picture the name needs the room.
            { id: "where", title: "Where", meaning: "File or library", width: "minmax(90px, 0.5fr)", wide: true, hidden: focus >= 0, value: (row) => labels[row.key].file || labels[row.key].library, show: (row) => format.baseName(labels[row.key].file || labels[row.key].library) },
          ]}
        />
        {focus >= 0 && <Focus key={`${focus}`} rows={rows} focus={focus} hide={hide} theme={theme} match={match} store={store} close={() => store.set({ "sandwich.name": "-" })} />}
      </div>
    </section>
  );
}

function nameOf(labels: { name: string; file: string; library: string }[], row: FunctionRow): string {
  const label = labels[row.key];
  return `${label.name}@${label.file || label.library}`;
}

function Focus(props: { rows: ReturnType<typeof rowsOf>; focus: number; hide: boolean; theme: ViewProps["theme"]; match: ViewProps["match"]; store: ViewProps["store"]; close: () => void }) {
  const { rows, focus, hide, theme, match, store } = props;
  const charts = useRef<{ callers: Chart | null; callees: Chart | null }>({ callers: null, callees: null });
  const zoomed = (part: "callers" | "callees") => ({
    zoom: store.get(`sandwich.${part}`, ""),
    onZoom: (word: string | null) => store.set({ [`sandwich.${part}`]: word }),
    chartRef: (chart: Chart | null) => (charts.current[part] = chart),
  });
  const callers = useMemo(() => callerTree(rows, focus, hide), [rows, focus, hide]);
  const callees = useMemo(() => calleeTree(rows, focus, hide), [rows, focus, hide]);
  const label = rows.source.labels[focus];
  return (
    <div class="focus" data-role="focus">
      <header>
        <b>
          <bdi>{label.name}</bdi>
        </b>
        <ExportMenu
          items={[
            ...pictureItems("callers", () => charts.current.callers, "the callers"),
            ...pictureItems("callees", () => charts.current.callees, "the callees"),
            linkItem(store),
          ]}
        />
        <button type="button" class="toggle" onClick={props.close}>
          Close
        </button>
      </header>
      <p class="note">Callers: who called it, by the time spent in it</p>
      <FlameChart tree={callers} theme={theme} match={match} label={`Callers of ${label.name}`} flip height="38vh" {...zoomed("callers")} />
      <p class="note">Callees: where its time goes</p>
      <FlameChart tree={callees} theme={theme} match={match} label={`Callees of ${label.name}`} height="38vh" {...zoomed("callees")} />
    </div>
  );
}
