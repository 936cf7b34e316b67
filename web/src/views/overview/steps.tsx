// Steps as bars: click one to select it and its time.

import { useMemo, useRef } from "preact/hooks";
import { steadyStep } from "../../calc/bound";
import { readSelection } from "../../data/selection";
import { Canvas } from "../../ui/canvas";
import { showTooltip, hideTooltip } from "../../ui/tooltip";
import { keyZoom, useZoom, wheelZoom } from "../../ui/zoom";
import type { Chart } from "../../draw/chart";
import { StepsPicture } from "../../draw/steps";
import { ExportMenu, linkItem, pictureItems } from "../../ui/parts";
import { csv, download } from "../../ui/save";
import type { ViewProps } from "../../ui/context";
import * as format from "../../calc/format";

export function Steps({ model, store, theme }: ViewProps) {
  const range = store.range;
  const picture = useMemo(() => new StepsPicture(model.steps, model.warmup, 150, steadyStep(model)), [model]);
  const chart = useRef<Chart | null>(null);
  const changed = useZoom(picture, store.get("steps.shown", ""), (word) => store.set({ "steps.shown": word }));
  picture.range = range;
  const chosen = readSelection(store.get("sel", ""), model);
  picture.selected = chosen?.kind === "step" ? chosen.row : -1;
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
                if (i >= 0) store.set({ sel: `step:${i}`, range: `${Math.round(model.steps[i].start)}-${Math.round(model.steps[i].end)}` });
              },
              wheel(c, x, _y, event) {
                if (!wheelZoom(picture, event, c.width, picture.shareAt(x, c.width))) return false;
                changed(c);
                return true;
              },
              key(c, event) {
                if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && !event.shiftKey) {
                  const next = picture.selected < 0 ? model.warmup : picture.selected + (event.key === "ArrowRight" ? 1 : -1);
                  if (model.steps[next]) store.select({ kind: "step", row: next });
                  return true;
                }
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
