// Calls, launches and kernels of a lane as slices, and the arrows from a launch to its kernel. What is narrower
// than a pixel is drawn once per pixel.

import { lowerBound } from "../calc/lanes";
import type { Model } from "../data/model";
import { fade } from "./flame";
import { fit, type Pen } from "./pen";
import type { Theme } from "./theme";
import { GAP, RULER, type TimelinePicture } from "./timeline";

export type SliceTable = "ops" | "kernels" | "launches";

export function drawSlices(on: TimelinePicture, pen: Pen, rows: Int32Array, table: SliceTable, y: number, tall: number, width: number, theme: Theme): void {
  const { model } = on;
  const start = model.column(table, "start");
  const duration = model.column(table, "duration");
  const scale = (width - on.gutter) / (on.to - on.from);
  let i = Math.max(0, lowerBound(rows, start, on.from) - 1);
  // Neighbours narrower than a pixel and of one colour become one rectangle: thousands are slow to fill.
  let run = 0;
  let runEnd = 0;
  let runFill = "";
  const flush = () => {
    if (runFill) pen.rect(run, y, runEnd - run, tall, runFill);
    runFill = "";
  };
  while (i < rows.length) {
    const row = rows[i];
    if (start[row] > on.to) break;
    const left = Math.max(on.gutter, on.x(start[row], width));
    const right = Math.min(width, on.x(start[row] + duration[row], width));
    if (right < on.gutter) {
      i++;
      continue;
    }
    const fill = fillOf(on, table, row, theme);
    if (right - left < 1) {
      const pixel = Math.floor(left);
      if (fill !== runFill || pixel > runEnd) {
        flush();
        run = pixel;
        runFill = fill;
      }
      runEnd = pixel + 1;
      // No other short one can be told apart inside this pixel, but a long one may begin in it.
      const end = on.from + (Math.floor(left - on.gutter) + 1) / scale;
      for (i++; i < rows.length && start[rows[i]] < end && duration[rows[i]] * scale < 1; ) i++;
      continue;
    }
    flush();
    pen.rect(left, y, right - left - (right - left > 3 ? 0.6 : 0), tall, fill);
    const hovered = on.hover.row === row && on.hover.kind === KIND[table];
    if (hovered) pen.frame(left, y, right - left, tall, theme.text, 1.5);
    if (right - left > 26 && tall > 12) {
      const text = fit(on.name(table, row), right - left - 6, 10.5);
      if (text) pen.text(text, left + 3, y + 10.5, theme.onFill, 10.5);
    }
    i++;
  }
  flush();
  drawSelected(on, pen, rows, table, y, tall, width, theme);
}

const KIND = { ops: "op", kernels: "kernel", launches: "launch" } as const;

// The selected slice is framed whatever its width: it must be found from afar.
function drawSelected(on: TimelinePicture, pen: Pen, rows: Int32Array, table: SliceTable, y: number, tall: number, width: number, theme: Theme): void {
  const { selected, model } = on;
  if (!selected || !("row" in selected) || selected.kind !== KIND[table]) return;
  const start = model.column(table, "start");
  const { row } = selected;
  let at = lowerBound(rows, start, start[row]);
  while (at < rows.length && rows[at] !== row && start[rows[at]] === start[row]) at++;
  if (rows[at] !== row) return;
  const left = Math.max(on.gutter, on.x(start[row], width));
  const right = Math.min(width, on.x(start[row] + model.column(table, "duration")[row], width));
  if (right >= on.gutter && left <= width) pen.frame(left - 1, y - 1, Math.max(4, right - left + 2), tall + 2, theme.accent, 2);
}

export function nameCode(model: Model, table: SliceTable, row: number): number {
  if (table !== "ops") return model.column(table, "name")[row]; // the full one: that is what is searched
  return model.column("calls", "name")[model.column("opnodes", "call")[model.column("ops", "node")[row]]];
}

function fillOf(on: TimelinePicture, table: SliceTable, row: number, theme: Theme): string {
  const { model } = on;
  const base =
    table === "launches"
      ? theme.hues[7]
      : table === "kernels"
        ? theme.gpu[model.column("kernels", "work")[row]]
        : theme.kind[model.column("calls", "kind")[model.column("opnodes", "call")[model.column("ops", "node")[row]]]];
  if (!on.matchName) return base;
  return on.matchName(nameCode(model, table, row)) ? theme.match : fade(base, theme);
}

// From a launch on its thread to the kernel on its stream: for the one under
// the pointer always, for all when they can be told apart.
export function drawArrows(on: TimelinePicture, pen: Pen, width: number, top: number, height: number, theme: Theme): void {
  const { model } = on;
  if (!model.rows("kernels") || !model.rows("launches")) return;
  const start = model.column("kernels", "start");
  const link = model.column("kernels", "launch");
  const launched = model.column("launches", "start");
  const thread = model.column("launches", "thread");
  const laneOfThread = new Map<number, number>();
  on.lanes.forEach((lane, i) => lane.kind === "thread" && laneOfThread.set(lane.thread, i));
  const hovered = on.hover;
  on.lanes.forEach((lane, index) => {
    if (lane.kind !== "stream") return;
    const rows = lane.slices[0];
    const a = lowerBound(rows, start, on.from);
    const b = lowerBound(rows, start, on.to);
    const all = b - a <= 150;
    for (let i = a; i < b; i++) {
      const row = rows[i];
      const bold = (hovered.kind === "kernel" && hovered.row === row) || (hovered.kind === "launch" && hovered.row === link[row]);
      if ((!all && !bold) || link[row] < 0) continue;
      const from = laneOfThread.get(thread[link[row]]);
      if (from === undefined) continue;
      const x1 = on.x(launched[link[row]], width);
      const x2 = on.x(start[row], width);
      if (x1 < on.gutter - 400 || x2 < on.gutter) continue;
      const y1 = on.tops[from + 1] - top - GAP - 2;
      const y2 = on.tops[index] - top + 1;
      if ((y1 < RULER && y2 < RULER) || (y1 > height && y2 > height)) continue;
      const middle = (y1 + y2) / 2;
      pen.line([Math.max(on.gutter, x1), y1, Math.max(on.gutter, x1), middle, x2, middle, x2, y2], bold ? theme.accent : theme.faint, bold ? 2 : 0.6);
    }
  });
}
