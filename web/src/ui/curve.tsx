// A curve in the page, in a card of its own that can save it. A drag selects the range for every view, as in
// the timeline; zoom moves all curves of the report together, since they share the address's word for it.

import { useMemo, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { CurvePicture, curveColour, type Series } from "../draw/curve";
import type { Chart } from "../draw/chart";
import { Canvas } from "./canvas";
import { ExportMenu, Legend, linkItem, pictureItems } from "./parts";
import { csv, download } from "./save";
import { hideTooltip, showTooltip } from "./tooltip";
import { keyZoom, useZoom, wheelZoom } from "./zoom";
import type { ViewProps } from "./context";
import * as format from "../calc/format";

export type { Series };

interface CurveProps extends Pick<ViewProps, "store" | "theme"> {
  label: string;
  times: number[]; // ns since the start
  series: Series[];
  show: (value: number) => string;
  height?: number;
  moment?: number | null; // marked on the curve
  onMoment?: (time: number) => void; // a click, or Enter at the middle
}

export function CurveCard(props: CurveProps & { title: ComponentChildren; note: ComponentChildren; file: string; unit: string; children?: ComponentChildren }) {
  const chart = useRef<Chart | null>(null);
  const rows = () => [["time_ns", ...props.series.map((s) => `${s.name} (${props.unit})`)], ...props.times.map((t, i) => [t, ...props.series.map((s) => s.values[i] ?? NaN)])];
  return (
    <article class="card" data-role="curve">
      <header>
        <h2>{props.title}</h2>
        <span class="note">{props.note}</span>
        <ExportMenu
          items={[
            ["CSV of this curve", () => download(`${props.file}.csv`, csv(rows()), "text/csv")],
            ...pictureItems(props.file, () => chart.current),
            linkItem(props.store),
          ]}
        />
      </header>
      <Curve {...props} chartRef={(c) => (chart.current = c)} />
      {props.children}
    </article>
  );
}

function Curve(props: CurveProps & { chartRef: (chart: Chart | null) => void }) {
  const { store } = props;
  const tall = props.height ?? 220;
  const picture = useMemo(() => new CurvePicture(props.times, props.series, props.show, tall, props.show === format.bytes), [props.times, props.series]);
  const changed = useZoom(picture, store.get("curve.shown", ""), (word) => store.set({ "curve.shown": word }));
  picture.selection = store.range;
  picture.moment = props.moment ?? null;
  return (
    <>
      <Canvas
        picture={picture}
        theme={props.theme}
        label={`${props.label}. Ctrl+wheel or W S zooms, A D moves, 0 shows all.`}
        height={`${tall}px`}
        class="flat"
        chartRef={props.chartRef}
        handlers={{
          move(chart, x, _y, event) {
            picture.hover = picture.indexAt(x, chart.width);
            chart.redraw();
            const lines = picture.series.map((s) => [s.name, s.values[picture.hover] === null ? "–" : props.show(s.values[picture.hover]!)] as [string, string]);
            showTooltip(event.clientX, event.clientY, format.time(picture.times[picture.hover]), [...lines, ["drag to select a range for every view, Ctrl+wheel to zoom"]]);
          },
          leave(chart) {
            picture.hover = -1;
            hideTooltip();
            chart.redraw();
          },
          down(chart, x, _y, event) {
            const box = chart.host.getBoundingClientRect();
            const start = picture.timeAt(x, chart.width);
            const at = (e: PointerEvent) => picture.timeAt(e.clientX - box.left, chart.width);
            const move = (e: PointerEvent) => {
              picture.selection = [Math.min(start, at(e)), Math.max(start, at(e))];
              chart.redraw();
            };
            const up = (e: PointerEvent) => {
              window.removeEventListener("pointermove", move);
              window.removeEventListener("pointerup", up);
              if (Math.abs(e.clientX - event.clientX) <= 4) props.onMoment?.(start);
              else store.setRange([Math.min(start, at(e)), Math.max(start, at(e))]);
            };
            window.addEventListener("pointermove", move);
            window.addEventListener("pointerup", up);
          },
          wheel(chart, x, _y, event) {
            if (!wheelZoom(picture, event, chart.width, picture.shareAt(x, chart.width))) return false;
            changed(chart);
            return true;
          },
          key(chart, event) {
            if (props.onMoment && (event.key === "Enter" || ((event.key === "ArrowLeft" || event.key === "ArrowRight") && !event.shiftKey))) {
              const by = event.key === "Enter" ? 0 : ((picture.to - picture.from) / 100) * (event.key === "ArrowRight" ? 1 : -1);
              props.onMoment(Math.max(picture.low, Math.min(picture.high, (props.moment ?? (picture.from + picture.to) / 2) + by)));
              return true;
            }
            if (!keyZoom(picture, event)) return false;
            changed(chart);
            return true;
          },
        }}
      />
      {props.series.length > 1 && <Legend items={props.series.map((s, i) => [s.name, curveColour(props.theme, i)])} />}
    </>
  );
}
