// A curve in the page. A drag selects the range for every view, as in the timeline.

import { useMemo } from "preact/hooks";
import { CurvePicture, curveColour, type Series } from "../draw/curve";
import type { Chart } from "../draw/chart";
import type { Theme } from "../draw/theme";
import { Canvas } from "./canvas";
import { Legend } from "./parts";
import { hideTooltip, showTooltip } from "./tooltip";
import * as format from "../calc/format";

export type { Series };

export function Curve(props: {
  label: string;
  times: number[]; // ns since the start
  series: Series[];
  show: (value: number) => string;
  theme: Theme;
  height?: number;
  range: [number, number] | null;
  onRange: (range: [number, number]) => void;
  chartRef?: (chart: Chart | null) => void;
}) {
  const tall = props.height ?? 220;
  const picture = useMemo(() => new CurvePicture(props.times, props.series, props.show, tall, props.show === format.bytes), [props.times, props.series]);
  picture.selection = props.range;
  return (
    <>
      <Canvas
        picture={picture}
        theme={props.theme}
        label={props.label}
        height={`${tall}px`}
        class="flat"
        chartRef={props.chartRef}
        handlers={{
          move(chart, x, _y, event) {
            picture.hover = picture.indexAt(x, chart.width);
            chart.redraw();
            const lines = picture.series.map((s) => [s.name, s.values[picture.hover] === null ? "–" : props.show(s.values[picture.hover]!)] as [string, string]);
            showTooltip(event.clientX, event.clientY, format.time(picture.times[picture.hover]), [...lines, ["drag to select a range for every view"]]);
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
              if (Math.abs(e.clientX - event.clientX) > 4) props.onRange([Math.min(start, at(e)), Math.max(start, at(e))]);
            };
            window.addEventListener("pointermove", move);
            window.addEventListener("pointerup", up);
          },
        }}
      />
      {props.series.length > 1 && <Legend items={props.series.map((s, i) => [s.name, curveColour(props.theme, i)])} />}
    </>
  );
}
