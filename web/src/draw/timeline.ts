// The timeline picture: steps as bands, per thread a strip of sampled time by
// category, operator calls as slices, launches, GPU streams, and arrows from
// launch to kernel. What is narrower than a pixel is drawn once per pixel.

import { CATEGORY_ORDER, SPIN, type Model } from "../data/model";
import { BINS, binsOf, lowerBound, type Lane } from "../calc/lanes";
import { time as showTime } from "../calc/format";
import { timeStep } from "./curve";
import { fade } from "./flame";
import { fit, type Pen } from "./pen";
import type { Picture } from "./chart";
import type { Theme } from "./theme";

export const RULER = 44;
const STRIP = 26;
const SLICE = 15;
const GAP = 7;
const HEAD = 24;
const COLLAPSED_LEVELS = 6;

export interface Hit {
  lane: number;
  kind: "samples" | "op" | "kernel" | "launch" | "step" | "label" | "none";
  row: number;
}

export class TimelinePicture implements Picture {
  from = 0;
  to: number;
  gutter = 170;
  selection: [number, number] | null = null;
  hover: Hit = { lane: -1, kind: "none", row: -1 };
  matchName: ((code: number) => boolean) | null = null; // on string codes
  colour: "layer" | "state" = "layer";
  expanded = new Set<number>();
  arrows = true;
  private tops: number[] = [];
  private columns = new Float64Array(0);

  constructor(
    readonly model: Model,
    readonly lanes: Lane[],
  ) {
    this.to = model.duration;
    this.place();
  }

  place(): void {
    let y = RULER;
    this.tops = this.lanes.map((lane, i) => {
      const top = y;
      y += this.laneHeight(lane, i);
      return top;
    });
    this.tops.push(y);
  }

  levels(lane: Lane, index: number): number {
    return this.expanded.has(index) ? lane.slices.length : Math.min(COLLAPSED_LEVELS, lane.slices.length);
  }

  private laneHeight(lane: Lane, index: number): number {
    if (lane.kind === "process") return HEAD;
    const strip = lane.samples.length ? STRIP : 0;
    return Math.max(18, strip + this.levels(lane, index) * SLICE + (lane.launches.length ? SLICE - 3 : 0)) + GAP;
  }

  height(): number {
    return this.tops[this.tops.length - 1] + 8;
  }

  x(t: number, width: number): number {
    return this.gutter + ((t - this.from) / (this.to - this.from)) * (width - this.gutter);
  }

  timeAt(x: number, width: number): number {
    return this.from + ((x - this.gutter) / (width - this.gutter)) * (this.to - this.from);
  }

  zoomAt(share: number, factor: number): void {
    const span = this.to - this.from;
    const wanted = Math.min(this.model.duration, Math.max(200, span * factor));
    const centre = this.from + span * share;
    this.show(centre - wanted * share, wanted);
  }

  pan(share: number): void {
    const span = this.to - this.from;
    this.show(this.from + span * share, span);
  }

  show(from: number, span: number): void {
    this.from = Math.max(0, Math.min(this.model.duration - span, from));
    this.to = Math.min(this.model.duration, this.from + span);
  }

  draw(pen: Pen, width: number, top: number, height: number, theme: Theme): void {
    this.gutter = width < 560 ? 84 : 170;
    const plot = width - this.gutter;
    this.bands(pen, width, height, theme);
    pen.clip(0, RULER, width, height - RULER);
    const first = this.laneAt(top + RULER);
    for (let i = Math.max(0, first); i < this.lanes.length && this.tops[i] - top < height; i++) {
      const y = this.tops[i] - top;
      const lane = this.lanes[i];
      if (lane.kind === "process") {
        pen.rect(0, y, width, HEAD - 3, theme.band);
        pen.text(fit(`${lane.label} · ${lane.note}`, width - 16, 11.5), 8, y + 15, theme.text, 11.5, 600);
        continue;
      }
      pen.line([0, y - GAP / 2, width, y - GAP / 2], theme.line, 0.5);
      pen.clip(this.gutter, y - 1, plot, this.laneHeight(lane, i));
      this.lane(pen, lane, i, y, width, theme);
      pen.unclip();
      this.laneLabel(pen, lane, i, y, theme);
    }
    if (this.arrows) this.drawArrows(pen, width, top, height, theme);
    pen.unclip();
    this.ruler(pen, width, theme);
    this.drawSelection(pen, width, height, theme);
  }

  private laneLabel(pen: Pen, lane: Lane, index: number, y: number, theme: Theme): void {
    const more = lane.slices.length > COLLAPSED_LEVELS;
    const mark = more ? (this.expanded.has(index) ? "▾ " : "▸ ") : "";
    pen.text(fit(mark + lane.label, this.gutter - 12, 11.5), 8, y + 12, theme.text, 11.5, 500);
    if (lane.note && this.laneHeight(lane, index) > 30) pen.text(fit(lane.note, this.gutter - 12, 10.5), 8, y + 25, theme.faint, 10.5);
  }

  laneAt(y: number): number {
    let low = 0;
    let high = this.lanes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private bands(pen: Pen, width: number, height: number, theme: Theme): void {
    const { steps, warmup } = this.model;
    const narrow = steps.length && ((steps[0].end - steps[0].start) / (this.to - this.from)) * width < 2;
    if (narrow) return;
    steps.forEach((step, i) => {
      if (step.end < this.from || step.start > this.to) return;
      const left = Math.max(this.gutter, this.x(step.start, width));
      const right = Math.min(width, this.x(step.end, width));
      const fill = i < warmup ? theme.warm : i % 2 ? theme.band : theme.panel;
      pen.rect(left, RULER - 18, right - left, height, fill);
    });
  }

  private ruler(pen: Pen, width: number, theme: Theme): void {
    pen.rect(0, 0, width, RULER - 18, theme.panel);
    const unit = timeStep((this.to - this.from) / Math.max(2, (width - this.gutter) / 110));
    for (let t = Math.ceil(this.from / unit) * unit; t <= this.to; t += unit) {
      const x = this.x(t, width);
      pen.line([x, 18, x, RULER - 18], theme.faint, 1);
      pen.text(showTime(t), x + 3, 15, theme.faint, 10.5);
    }
    pen.rect(0, 0, this.gutter, RULER, theme.panel);
    const { steps, warmup } = this.model;
    if (steps.length) pen.text("steps", 8, RULER - 5, theme.faint, 10.5);
    let last = -Infinity;
    steps.forEach((step, i) => {
      const left = this.x(step.start, width);
      if (step.end < this.from || step.start > this.to || left < last) return;
      const shown = Math.max(left, this.gutter);
      const room = this.x(step.end, width) - shown;
      const text = `${step.number}${i < warmup && room > 70 ? " warm-up" : ""}`;
      if (room > 14 || left - last > 40) {
        pen.text(text, shown + 3, RULER - 5, i < warmup ? theme.faint : theme.text, 10.5);
        last = shown + Math.max(24, text.length * 7);
      }
    });
    pen.line([0, RULER - 0.5, width, RULER - 0.5], theme.line, 1);
  }

  private lane(pen: Pen, lane: Lane, index: number, y: number, width: number, theme: Theme): void {
    let at = y;
    if (lane.samples.length) {
      this.strip(pen, lane, at, width, theme);
      at += STRIP;
    }
    const kernels = lane.kind === "stream";
    const levels = this.levels(lane, index);
    for (let level = 0; level < levels; level++, at += SLICE) {
      this.slices(pen, lane.slices[level], kernels ? "kernels" : "ops", at, SLICE - 1, width, theme);
    }
    if (lane.launches.length) this.slices(pen, lane.launches, "launches", at, SLICE - 4, width, theme);
  }

  // Sampled time of each pixel column, stacked by category; full height means busy all the time.
  private strip(pen: Pen, lane: Lane, y: number, width: number, theme: Theme): void {
    const { model } = this;
    const plot = Math.ceil(width - this.gutter);
    const kinds = CATEGORY_ORDER.length;
    if (this.columns.length < plot * kinds) this.columns = new Float64Array(plot * kinds);
    this.columns.fill(0, 0, plot * kinds);
    const perPixel = (this.to - this.from) / plot;
    if (perPixel >= model.duration / BINS) this.fromBins(binsOf(model, lane), plot, perPixel);
    else this.fromSamples(lane, plot, perPixel);
    // By state, all that runs has one colour; spin and wait keep theirs.
    const fills = this.colour === "state" ? theme.category.map((fill, c) => (c < SPIN ? theme.layer[2] : fill)) : theme.category;
    pen.strip(this.gutter, y, plot, STRIP - 2, this.columns, fills);
  }

  private fromBins(bins: Float32Array, plot: number, perPixel: number): void {
    const kinds = CATEGORY_ORDER.length;
    const width = this.model.duration / BINS;
    const last = Math.min(BINS - 1, Math.floor(this.to / width));
    for (let bin = Math.floor(this.from / width); bin <= last; bin++) {
      const px = Math.min(plot - 1, Math.max(0, Math.floor(((bin + 0.5) * width - this.from) / perPixel)));
      for (let c = 0; c < kinds; c++) this.columns[px * kinds + c] += bins[bin * kinds + c] / perPixel;
    }
  }

  private fromSamples(lane: Lane, plot: number, perPixel: number): void {
    const { model } = this;
    const kinds = CATEGORY_ORDER.length;
    const time = model.column("samples", "time");
    const weight = model.column("samples", "weight");
    const slot = model.slot;
    const from = slot > 1 ? lowerBound(lane.samples, time, this.from - slot) : lowerBound(lane.samples, time, this.from);
    for (let i = from; i < lane.samples.length; i++) {
      const row = lane.samples[i];
      // A sample stands for the time up to it; a joined row for its slot.
      const length = slot > 1 ? slot : weight[row];
      const start = slot > 1 ? time[row] : time[row] - length;
      if (start > this.to) {
        if (slot > 1 || time[row] - lane.longest > this.to) break;
        continue;
      }
      const end = start + length;
      const a = Math.max(0, (start - this.from) / perPixel);
      const b = Math.min(plot, (end - this.from) / perPixel);
      const density = weight[row] / Math.max(length, 1); // of one thread, so at most about one
      const category = model.category[row];
      const last = Math.min(plot - 1, Math.floor(b));
      for (let px = Math.floor(a); px <= last; px++) {
        const covered = Math.min(b, px + 1) - Math.max(a, px);
        if (covered > 0) this.columns[px * kinds + category] += covered * density;
      }
    }
  }

  private slices(pen: Pen, rows: Int32Array, table: "ops" | "kernels" | "launches", y: number, tall: number, width: number, theme: Theme): void {
    const { model } = this;
    const start = model.column(table, "start");
    const duration = model.column(table, "duration");
    const scale = (width - this.gutter) / (this.to - this.from);
    let i = Math.max(0, lowerBound(rows, start, this.from) - 1);
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
      if (start[row] > this.to) break;
      const left = Math.max(this.gutter, this.x(start[row], width));
      const right = Math.min(width, this.x(start[row] + duration[row], width));
      if (right < this.gutter) {
        i++;
        continue;
      }
      const fill = this.fill(table, row, theme);
      if (right - left < 1) {
        const pixel = Math.floor(left);
        if (fill !== runFill || pixel > runEnd) {
          flush();
          run = pixel;
          runFill = fill;
        }
        runEnd = pixel + 1;
        // Nothing more can be told apart inside this pixel.
        const next = lowerBound(rows, start, this.from + (Math.floor(left - this.gutter) + 1) / scale);
        i = Math.max(i + 1, next);
        continue;
      }
      flush();
      pen.rect(left, y, right - left - (right - left > 3 ? 0.6 : 0), tall, fill);
      if (this.hover.row === row && this.hover.kind === (table === "ops" ? "op" : table === "kernels" ? "kernel" : "launch")) {
        pen.frame(left, y, right - left, tall, theme.text, 1.5);
      }
      if (right - left > 26 && tall > 12) {
        const text = fit(this.name(table, row), right - left - 6, 10.5);
        if (text) pen.text(text, left + 3, y + 10.5, theme.onFill, 10.5);
      }
      i++;
    }
    flush();
  }

  nameCode(table: "ops" | "kernels" | "launches", row: number): number {
    const { model } = this;
    if (table !== "ops") return model.column(table, "name")[row];
    return model.column("calls", "name")[model.column("opnodes", "call")[model.column("ops", "node")[row]]];
  }

  name(table: "ops" | "kernels" | "launches", row: number): string {
    return this.model.text(this.nameCode(table, row));
  }

  private fill(table: "ops" | "kernels" | "launches", row: number, theme: Theme): string {
    const { model } = this;
    const base =
      table === "launches"
        ? theme.layer[5]
        : table === "kernels"
          ? theme.gpu[model.column("kernels", "work")[row]]
          : theme.kind[model.column("calls", "kind")[model.column("opnodes", "call")[model.column("ops", "node")[row]]]];
    if (!this.matchName) return base;
    return this.matchName(this.nameCode(table, row)) ? theme.match : fade(base, theme);
  }

  // From a launch on its thread to the kernel on its stream: for the one under
  // the pointer always, for all when they can be told apart.
  private drawArrows(pen: Pen, width: number, top: number, height: number, theme: Theme): void {
    const { model } = this;
    if (!model.rows("kernels") || !model.rows("launches")) return;
    const start = model.column("kernels", "start");
    const link = model.column("kernels", "launch");
    const launched = model.column("launches", "start");
    const thread = model.column("launches", "thread");
    const laneOfThread = new Map<number, number>();
    this.lanes.forEach((lane, i) => lane.kind === "thread" && laneOfThread.set(lane.thread, i));
    const hovered = this.hover;
    this.lanes.forEach((lane, index) => {
      if (lane.kind !== "stream") return;
      const rows = lane.slices[0];
      const a = lowerBound(rows, start, this.from);
      const b = lowerBound(rows, start, this.to);
      const all = b - a <= 150;
      for (let i = a; i < b; i++) {
        const row = rows[i];
        const bold = (hovered.kind === "kernel" && hovered.row === row) || (hovered.kind === "launch" && hovered.row === link[row]);
        if ((!all && !bold) || link[row] < 0) continue;
        const from = laneOfThread.get(thread[link[row]]);
        if (from === undefined) continue;
        const x1 = this.x(launched[link[row]], width);
        const x2 = this.x(start[row], width);
        if (x1 < this.gutter - 400 || x2 < this.gutter) continue;
        const y1 = this.tops[from + 1] - top - GAP - 2;
        const y2 = this.tops[index] - top + 1;
        if ((y1 < RULER && y2 < RULER) || (y1 > height && y2 > height)) continue;
        const middle = (y1 + y2) / 2;
        pen.line([Math.max(this.gutter, x1), y1, Math.max(this.gutter, x1), middle, x2, middle, x2, y2], bold ? theme.accent : theme.faint, bold ? 2 : 0.6);
      }
    });
  }

  private drawSelection(pen: Pen, width: number, height: number, theme: Theme): void {
    if (!this.selection) return;
    const left = Math.max(this.gutter, this.x(this.selection[0], width));
    const right = Math.min(width, this.x(this.selection[1], width));
    if (right < this.gutter || left > width) return;
    pen.rect(left, 0, right - left, height, theme.select);
    pen.line([left, 0, left, height], theme.accent, 1.5);
    pen.line([right, 0, right, height], theme.accent, 1.5);
  }

  hit(x: number, y: number, width: number, top: number): Hit {
    const none: Hit = { lane: -1, kind: "none", row: -1 };
    const t = this.timeAt(x, width);
    if (y - top < RULER) {
      const step = this.model.steps.findIndex((s) => t >= s.start && t <= s.end);
      return step >= 0 && x > this.gutter && y - top > RULER - 18 ? { lane: -1, kind: "step", row: step } : none;
    }
    const index = this.laneAt(y);
    const lane = this.lanes[index];
    if (!lane || lane.kind === "process") return none;
    if (x < this.gutter) return { lane: index, kind: "label", row: -1 };
    let inner = y - this.tops[index];
    if (lane.samples.length) {
      if (inner < STRIP) return { lane: index, kind: "samples", row: -1 };
      inner -= STRIP;
    }
    const slack = (1.5 * (this.to - this.from)) / (width - this.gutter);
    const level = Math.floor(inner / SLICE);
    if (level < this.levels(lane, index)) {
      const table = lane.kind === "stream" ? "kernels" : "ops";
      const row = this.find(lane.slices[level], table, t, slack);
      return row >= 0 ? { lane: index, kind: table === "ops" ? "op" : "kernel", row } : { ...none, lane: index };
    }
    const row = lane.launches.length ? this.find(lane.launches, "launches", t, slack) : -1;
    return row >= 0 ? { lane: index, kind: "launch", row } : { ...none, lane: index };
  }

  private find(rows: Int32Array, table: string, t: number, slack: number): number {
    const start = this.model.column(table, "start");
    const duration = this.model.column(table, "duration");
    const at = lowerBound(rows, start, t + slack) - 1;
    for (let i = at; i >= Math.max(0, at - 2); i--) {
      const row = rows[i];
      if (t >= start[row] - slack && t <= start[row] + duration[row] + slack) return row;
    }
    return -1;
  }
}
