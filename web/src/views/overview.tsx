// Overview: the verdict, time by layer, steps, insights and the quality of the
// recording itself, on one screen.

import { useMemo, useRef } from "preact/hooks";
import { verdict, steadyStep } from "../calc/bound";
import { layerSums, steadyRange } from "../calc/layers";
import { Canvas } from "../ui/canvas";
import { showTooltip, hideTooltip } from "../ui/tooltip";
import { keyZoom, useZoom, wheelZoom } from "../ui/zoom";
import type { Chart } from "../draw/chart";
import { StepsPicture } from "../draw/steps";
import { ExportMenu, linkItem, pictureItems } from "../ui/parts";
import { csv, download } from "../ui/save";
import { CATEGORY_MEANING, CATEGORY_ORDER, WAIT } from "../data/model";
import type { ViewProps } from "../ui/context";
import * as format from "../calc/format";
import { deviceRows } from "../calc/gpu";
import { Insights } from "./insights";
import { QualityBox } from "./quality";

const NAMES = ["Python", "Framework", "Operator", "Kernel", "Other", "Spin", "Wait"];

export function OverviewView(props: ViewProps) {
  const { model, store } = props;
  const range = store.range;
  const notes = model.facts.notes ?? [];
  const said = useMemo(() => verdict(model, range), [model, range?.[0], range?.[1]]);
  return (
    <section class="view overview" data-view="overview">
      {notes.length > 0 && (
        <ul class="notes" data-role="notes">
          {notes.map((note) => (
            <li>
              <bdi>{note}</bdi>
            </li>
          ))}
        </ul>
      )}
      <div class="verdict">
        {!range && model.facts.taken_away && <p data-role="taken">{model.facts.taken_away}</p>}
        <h1 data-role="verdict">
          <bdi>{said.sentence}</bdi>
        </h1>
        {said.evidence.slice(1).map((line) => (
          <p>
            <bdi>{line}</bdi>
          </p>
        ))}
      </div>
      <Insights {...props} />
      <div class="cards">
        <Layers {...props} />
        <Steps {...props} />
        <QualityBox model={model} />
      </div>
      <p class="note">
        Next: <a href="#timeline" onClick={go(store, "timeline")}>see it over time</a>, <a href="#flame" onClick={go(store, "flame")}>where it is spent</a>,{" "}
        <a href="#guide" onClick={go(store, "guide")}>how to read this report</a>.
      </p>
    </section>
  );
}

function go(store: ViewProps["store"], view: string) {
  return (event: Event) => {
    event.preventDefault();
    store.open(view);
  };
}

function Layers({ model, store, theme }: ViewProps) {
  const range = store.range;
  const stretch = range ?? steadyRange(model);
  const rows = useMemo(() => {
    if (!model.has("samples")) return [];
    const main = model.threads.find((t) => t.kind === "main")?.id ?? -1;
    const list: { name: string; sums: number[]; all: number; note: string }[] = [];
    const every = layerSums(model, stretch);
    list.push({ name: "All threads, on CPU", sums: every.sums.map((v, i) => (i === WAIT ? 0 : v)), all: every.running, note: `${format.count(every.samples)} samples` });
    if (main >= 0) {
      const own = layerSums(model, stretch, main);
      list.push({ name: "Main thread, with waiting", sums: own.sums, all: own.all, note: `${format.count(own.samples)} samples${own.taken > 0.1 * (own.all + own.taken) ? `; ${format.time(own.taken)} more ready but off the CPU` : ""}` });
    }
    return list;
  }, [model, stretch?.[0], stretch?.[1]]);
  const gpu = useMemo(() => deviceRows(model, range), [model, range?.[0], range?.[1]]);
  const scope = range ? "in the selected range" : stretch ? (model.warmup ? `in steady steps (${model.warmup} of warm-up left out)` : "in all steps (no warm-up found)") : "in the whole recording";
  return (
    <article class="card wide-card" data-role="layers">
      <header>
        <h2>Time by layer</h2>
        <span class="note">{scope}</span>
        <ExportMenu
          items={[
            ["CSV", () => download("layers.csv", csv([["what", ...NAMES, "unit"], ...rows.map((r) => [r.name, ...r.sums, "ns"])]), "text/csv")],
            linkItem(store),
          ]}
        />
      </header>
      {rows.map((row) => (
        <div class="layer-row">
          <div class="layer-title">
            <span>{row.name}</span>
            <span class="num">
              {format.time(row.all)} <span class="note">= 100 %, {row.note}</span>
            </span>
          </div>
          <div class="stack" role="img" aria-label={CATEGORY_ORDER.map((c) => `${NAMES[c]} ${format.percent(row.sums[c] / row.all)}`).join(", ")}>
            {CATEGORY_ORDER.filter((c) => row.sums[c] / row.all > 0.002).map((c) => (
              <div
                style={{ width: `${(row.sums[c] / row.all) * 100}%`, background: theme.category[c], color: theme.onFill }}
                onMouseMove={(event) => showTooltip(event.clientX, event.clientY, NAMES[c], [[row.name, `${format.time(row.sums[c])} · ${format.percent(row.sums[c] / row.all)}`], [CATEGORY_MEANING[c]]])}
                onMouseLeave={hideTooltip}
              >
                {row.sums[c] / row.all > 0.07 ? format.percent(row.sums[c] / row.all) : ""}
              </div>
            ))}
          </div>
        </div>
      ))}
      {rows.length > 0 && (
        <div class="legend">
          {CATEGORY_ORDER.map((c) => (
            <span title={CATEGORY_MEANING[c]}>
              <i style={{ background: theme.category[c] }} />
              {NAMES[c]}
            </span>
          ))}
        </div>
      )}
      {gpu.slice(0, 8).map((row) => (
        <div class="layer-row">
          <div class="layer-title">
            <span>
              GPU {row.device}
              {gpu.length > 1 ? ` of process ${row.process}` : ""}
            </span>
            <span class="num">
              {format.time(row.window)} <span class="note">= 100 %, first to last kernel</span>
            </span>
          </div>
          <div class="stack">
            {(
              [
                ["compute", row.compute, theme.gpu[0]],
                ["communication, not hidden", row.communication - row.overlap, theme.gpu[1]],
                ["copies and other, not hidden", Math.max(0, row.busy - row.compute - row.communication + row.overlap), theme.gpu[2]],
                ["idle", row.idle, theme.layer[7]],
              ] as [string, number, string][]
            ).map(([name, value, colour]) => (
              <div
                style={{ width: `${(value / row.window) * 100}%`, background: colour, color: theme.onFill }}
                onMouseMove={(event) => showTooltip(event.clientX, event.clientY, name, [["time", `${format.time(value)} · ${format.percent(value / row.window)}`], ["of the time between the first and the last kernel"]])}
                onMouseLeave={hideTooltip}
              >
                {value / row.window > 0.12 ? `${name.split(",")[0]} ${format.percent(value / row.window)}` : ""}
              </div>
            ))}
          </div>
        </div>
      ))}
      {!rows.length && !gpu.length && <p class="note">No samples: time by layer needs a recording made with sonde run.</p>}
    </article>
  );
}

function Steps({ model, store, theme }: ViewProps) {
  const range = store.range;
  const picture = useMemo(() => new StepsPicture(model.steps, model.warmup, 150, steadyStep(model)), [model]);
  const chart = useRef<Chart | null>(null);
  const changed = useZoom(picture, store.get("steps.shown", ""), (word) => store.set({ "steps.shown": word }));
  picture.range = range;
  const steady = steadyStep(model);
  const told = model.answer("steps");
  return (
    <article class="card" data-role="steps">
      <header>
        <h2>Steps</h2>
        {steady !== null && (
          <span class="note">
            median {format.time(steady)}
            {told && told.count > 3 && <>, 10–90 %: {format.time((told.p10_ms ?? 0) * 1e6)} – {format.time((told.p90_ms ?? 0) * 1e6)}</>}, {format.count(told?.count ?? 0)} steps
            {model.warmup > 0 && <>, first {model.warmup} warm-up</>}
          </span>
        )}
        <ExportMenu
          items={[
            ["CSV", () => download("steps.csv", csv([["step", "start_ns", "duration_ns", "warm-up"], ...model.steps.map((s, i) => [s.number, s.start, s.length, i < model.warmup ? 1 : 0])]), "text/csv")],
            ...(model.steps.length ? pictureItems("steps", () => chart.current) : []),
            linkItem(store),
          ]}
        />
      </header>
      {model.steps.length ? (
        <>
          <Canvas
            picture={picture}
            theme={theme}
            label={`Duration of ${model.steps.length} steps, median ${steady ? format.time(steady) : "unknown"}. Ctrl+wheel or W S zooms, A D moves, 0 shows all.`}
            height="150px"
            class="flat"
            chartRef={(c) => (chart.current = c)}
            handlers={{
              move(chart, x, _y, event) {
                const i = picture.indexAt(x, chart.width);
                if (i !== picture.hover) {
                  picture.hover = i;
                  chart.redraw();
                }
                if (i < 0) return hideTooltip();
                const step = model.steps[i];
                showTooltip(event.clientX, event.clientY, `Step ${step.number}${i < model.warmup ? " (warm-up)" : ""}`, [
                  ["duration", format.time(step.length)],
                  ["starts at", format.time(step.start)],
                  ["click: select this step in every view"],
                ]);
              },
              leave(chart) {
                picture.hover = -1;
                hideTooltip();
                chart.redraw();
              },
              click(chart, x) {
                const i = picture.indexAt(x, chart.width);
                if (i >= 0) store.setRange([model.steps[i].start, model.steps[i].end]);
              },
              wheel(c, x, _y, event) {
                if (!wheelZoom(picture, event, c.width, picture.shareAt(x, c.width))) return false;
                changed(c);
                return true;
              },
              key(c, event) {
                if (!keyZoom(picture, event)) return false;
                changed(c);
                return true;
              },
            }}
          />
          <div class="legend">
            <span>
              <i style={{ background: theme.layer[0] }} />
              steady
            </span>
            <span>
              <i style={{ background: theme.layer[3] }} />
              warm-up
            </span>
            <span>- - median of steady steps</span>
          </div>
          {told && told.run.length > 1 && (
            <p class="note" data-role="run">
              The run: {told.run.map((part) => `${part.name} ${format.time(part.ms * 1e6)} (${format.percent(part.share)}${part.count ? `, ${format.count(part.count)}` : ""})`).join("; ")}.
            </p>
          )}
        </>
      ) : (
        <p class="note">
          No steps were found. Mark the end of each iteration with <code>sonde.step()</code> (Python) or{' '}
          <code>sonde_step()</code> of sonde.h (C, C++).
        </p>
      )}
    </article>
  );
}

