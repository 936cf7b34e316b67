// Ranks: one row each, the one that others wait for first, and who came late to which collective.

import { useMemo, useRef } from "preact/hooks";
import { lateSentence, rankLines, type RankLine } from "../calc/ranks";
import { HeatPicture } from "../draw/heat";
import type { Chart } from "../draw/chart";
import { Canvas } from "../ui/canvas";
import { Empty, ExportMenu, Legend, linkItem, Pick, pictureItems } from "../ui/parts";
import { csv, download } from "../ui/save";
import { DataTable } from "../ui/table";
import { hideTooltip, showTooltip } from "../ui/tooltip";
import type { ViewProps } from "../ui/context";
import * as format from "../calc/format";

type Part = "compute" | "communication" | "waiting" | "host" | "idle";
type Parts = [Part, string][];
const DEVICE: Parts = [["compute", "compute"], ["communication", "exposed communication"], ["waiting", "waiting for the last"], ["host", "idle: host"], ["idle", "idle: other"]];
const THREAD: Parts = [["compute", "own work"], ["communication", "transfer"], ["waiting", "waiting for the last"], ["host", "waiting for messages"]];

export function RanksView(props: ViewProps) {
  const { model, store, theme } = props;
  const lines = useMemo(() => rankLines(model), [model]);
  if (lines.length < 2) {
    return (
      <Empty title="One rank only" command="sonde report folder-of-traces/">
        A job of several ranks is opened as the folder that holds the traces or recordings of all of them.
      </Empty>
    );
  }
  const told = model.answer("ranks");
  const devices = model.answer("gpu");
  const gpu = devices?.devices.length ? devices : null;
  const parts = gpu ? DEVICE : THREAD;
  const colours: Record<Part, string> = { compute: theme.gpu[0], communication: theme.gpu[1], waiting: theme.named.red, host: theme.named.blue, idle: theme.named.grey };
  const ms = (value: number | null) => (value === null ? "–" : format.time(value * 1e6));
  const order = (line: RankLine) => (line.why ? (gpu?.stragglers.findIndex((s) => s.rank === line.rank) ?? 0) : lines.length);
  const worst = [...lines].sort((a, b) => order(a) - order(b) || (b.last ?? 0) - (a.last ?? 0) || b.host - a.host);
  const shown = props.match.active ? worst.filter((line) => props.match.test(`rank ${line.rank} ${line.source}`)) : worst;
  const late = lateSentence(model);
  return (
    <section class="view" data-view="ranks">
      <div class="verdict">
        <h1 data-role="late"><bdi>{late ?? (gpu ? null : told?.sentence) ?? `No rank stands out among ${format.count(lines.length)}.`}</bdi></h1>
        {!told?.late && gpu?.stragglers.slice(0, 3).map((s) => <p><bdi>{`Rank ${s.rank}: ${s.evidence}`}</bdi></p>)}
        <p class="note">{told?.clock}{gpu?.alignment && !gpu.alignment.aligned ? `; clocks are not aligned: ${gpu.alignment.reason}, so who came last is not known` : ""}</p>
      </div>
      <div class="bar">
        <Legend items={parts.map(([part, title]) => [title, colours[part]])} />
        {gpu && <Against {...props} lines={worst} />}
      </div>
      <DataTable<RankLine>
        id="ranks" store={store} rows={shown} sort="order" file="ranks" height="44vh"
        note={`the ranks that others wait for first; parts are ${gpu ? "of the window from the first to the last event" : "of a mean step of the thread that makes them"}`}
        onPick={(line) => store.open("timeline", { "timeline.process": String(processOf(model, line.rank)) })}
        columns={[
          { id: "order", title: "", meaning: "The ranks that others wait for first", width: "4px", value: (l) => -worst.indexOf(l), show: () => "" },
          { id: "rank", title: "Rank", meaning: "Click to see only its lanes in the timeline", width: "70px", value: (l) => l.rank },
          {
            id: "parts", title: "Where its time goes", meaning: parts.map(([, title]) => title).join(", "), width: "minmax(140px, 1fr)", value: (l) => l.compute / (l.window || 1),
            show: (l) => <span class="stack thin" role="img" aria-label={parts.map(([part, title]) => `${title} ${format.percent((l[part] ?? 0) / (l.window || 1))}`).join(", ")}>{parts.map(([part]) => <i style={{ width: `${((l[part] ?? 0) / (l.window || 1)) * 100}%`, background: colours[part] }} />)}</span>,
          },
          ...parts.map(([part, title]) => ({ id: part, title, meaning: title, width: "138px", wide: true, value: (l: RankLine) => l[part] ?? NaN, show: (l: RankLine) => (l[part] === null ? "–" : `${ms(l[part])}  ${format.percent((l[part] ?? 0) / (l.window || 1))}`) })),
          { id: "last", title: "Came last", meaning: "Shared collectives that it came to last", width: "100px", value: (l) => l.last ?? NaN, show: (l) => (l.last === null ? "–" : format.count(l.last)) },
          { id: "why", title: "Why", meaning: "What makes it late", width: "minmax(90px, 0.6fr)", wide: true, value: (l) => l.why || (gpu ? l.source : "") },
        ]}
      />
      <Arrivals {...props} order={worst.map((line) => line.rank)} />
    </section>
  );
}

function processOf(model: ViewProps["model"], rank: number): number {
  const at = model.rows("processes") ? model.column("processes", "rank").indexOf(rank) : -1;
  return at < 0 ? -1 : model.column("processes", "process")[at];
}

// Two ranks of one file become two sides of a comparison by a command; the page holds one recording.
function Against({ store, lines }: ViewProps & { lines: RankLine[] }) {
  const [a, b] = [store.number("ranks.a", lines[0].rank), store.number("ranks.b", lines[lines.length - 1].rank)];
  const options = lines.map((line) => [String(line.rank), `rank ${line.rank}`] as [string, string]);
  const file = (rank: number) => lines.find((line) => line.rank === rank)?.source || `rank${rank}`;
  return (
    <>
      <Pick label="Compare" value={String(a)} options={options} onChange={(v) => store.set({ "ranks.a": v })} />
      <Pick label="with" value={String(b)} options={options} onChange={(v) => store.set({ "ranks.b": v })} />
      <code data-role="against">{`sonde diff ${file(a)} ${file(b)} --html diff.html`}</code>
    </>
  );
}

function Arrivals({ model, store, theme, order }: ViewProps & { order: number[] }) {
  const chart = useRef<Chart | null>(null);
  const found = useMemo(() => {
    const rows = model.rows("arrivals");
    if (!rows) return null;
    const [rank, collective, late, name, start] = ["rank", "collective", "late", "name", "start"].map((column) => model.column("arrivals", column));
    const columns = collective[rows - 1] + 1;
    const base = new Map<number, number>();
    for (let i = 0; i < rows; i += columns) base.set(rank[i], i);
    const ranks = order.filter((r) => base.has(r));
    const at = (r: number, c: number) => base.get(ranks[r])! + c;
    return { ranks, columns, late, name, start, at, picture: new HeatPicture(ranks, columns, (r, c) => late[at(r, c)], late) };
  }, [model]);
  if (!found) return null;
  const { picture, ranks, at } = found;
  return (
    <article class="card" data-role="arrivals">
      <header>
        <h2>Who came late</h2>
        <span class="note">{format.count(found.columns)} collectives with the widest spread; click one to see it in the timeline</span>
        <ExportMenu items={[["CSV of arrivals", () => download("arrivals.csv", csv([["rank", "collective", "operation", "start_ns", "late_ns"], ...ranks.flatMap((rank, r) => Array.from({ length: found.columns }, (_, c) => [rank, c, model.text(found.name[at(r, c)]), found.start[at(r, c)], found.late[at(r, c)]]))]), "text/csv")], ...pictureItems("arrivals", () => chart.current), linkItem(store)]} />
      </header>
      <Canvas
        picture={picture} theme={theme} class="flat" height={`${Math.min(460, picture.height())}px`} chartRef={(c) => (chart.current = c)}
        label={`Arrival of ${ranks.length} ranks at ${found.columns} collectives; the table above and the CSV have the figures`}
        handlers={{
          move(c, x, y, event) {
            picture.hover = picture.at(x, y, c.width);
            c.redraw();
            if (!picture.hover) return hideTooltip();
            const row = at(...picture.hover);
            showTooltip(event.clientX, event.clientY, `rank ${ranks[picture.hover[0]]}, ${model.text(found.name[row])}`, [["late", found.late[row] < 0 ? "not a member" : format.time(found.late[row])], ["first rank came at", format.time(found.start[row])]]);
          },
          leave(c) {
            picture.hover = null;
            hideTooltip();
            c.redraw();
          },
          click(c, x, y) {
            const hit = picture.at(x, y, c.width);
            if (!hit) return;
            const start = found.start[at(...hit)];
            const room = Math.max(1e6, found.late[at(...hit)] * 2);
            store.open("timeline", { "timeline.shown": `${Math.max(0, Math.round(start - room))}-${Math.round(start + 2 * room)}`, "timeline.process": null });
          },
        }}
      />
    </article>
  );
}
