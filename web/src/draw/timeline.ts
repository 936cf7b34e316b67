// The timeline picture: steps as bands, per thread a strip of sampled time by category, operator calls as
// slices, launches, GPU streams, and arrows from launch to kernel. Here is where things lie: lanes, ruler,
// what is under the pointer; strips and slices are drawn in their own rooms.

import type { Model } from "../data/model";
import { lowerBound, type Lane } from "../calc/lanes";
import { time as showTime } from "../calc/format";
import { Axis } from "./axis";
import { timeStep } from "./curve";
import { drawArrows, drawSlices, nameCode, type SliceTable } from "./slices";
import { drawStrip, STRIP } from "./strip";
import { fit, type Pen } from "./pen";
import type { Picture } from "./chart";
import type { Theme } from "./theme";

export const RULER = 44;
const SLICE = 15;
export const GAP = 7;
const HEAD = 24;
const COLLAPSED_LEVELS = 6;

export interface Hit {
  lane: number;
  kind: "samples" | "op" | "kernel" | "launch" | "step" | "label" | "none";
  row: number;
}

export class TimelinePicture extends Axis implements Picture {
  gutter = 170;
  selection: [number, number] | null = null;
  hover: Hit = { lane: -1, kind: "none", row: -1 };
  matchName: ((code: number) => boolean) | null = null; // on string codes
  colour: "layer" | "state" = "layer";
  expanded = new Set<number>();
  arrows = true;
  tops: number[] = []; // of each lane, and the end of the last

  constructor(
    readonly model: Model,
    readonly lanes: Lane[],
  ) {
    super(0, model.duration, 200, true);
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
    return this.gutter + this.share(t) * (width - this.gutter);
  }

  timeAt(x: number, width: number): number {
    return this.at((x - this.gutter) / (width - this.gutter));
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
    if (this.arrows) drawArrows(this, pen, width, top, height, theme);
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
      drawStrip(this, pen, lane, at, width, theme);
      at += STRIP;
    }
    const kernels = lane.kind === "stream";
    const levels = this.levels(lane, index);
    for (let level = 0; level < levels; level++, at += SLICE) {
      drawSlices(this, pen, lane.slices[level], kernels ? "kernels" : "ops", at, SLICE - 1, width, theme);
    }
    if (lane.launches.length) drawSlices(this, pen, lane.launches, "launches", at, SLICE - 4, width, theme);
  }

  name(table: SliceTable, row: number): string {
    return this.model.text(nameCode(this.model, table, row));
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
