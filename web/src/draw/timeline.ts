// The timeline picture: steps as bands, per thread a strip of sampled time by category, operator calls as
// slices, launches, GPU streams, and arrows from launch to kernel. Here is where things lie: lanes, ruler,
// what is under the pointer; strips and slices are drawn in their own rooms.

import type { Model } from "../data/model";
import { lowerBound, type Lane } from "../calc/lanes";
import type { Selection } from "../data/selection";
import { Axis } from "./axis";
import { drawGaps, drawModules, gapAt } from "./bands";
import { drawMarkLines, drawRuler } from "./ruler";
import { drawArrows, drawSlices, nameCode, type SliceTable } from "./slices";
import { drawStrip, STRIP } from "./strip";
import { fit, type Pen } from "./pen";
import type { Picture } from "./chart";
import type { Theme } from "./theme";

export const RULER = 82; // minimap, ruler, steps and phases
const SLICE = 15;
export const GAP = 7;
const HEAD = 24;
const COLLAPSED_LEVELS = 6;
const FOLD = 14; // the line that stands for folded frames
const MODULES = 13;

// Phases of steps and profiling windows, by start.
interface Stretch {
  kind: "phase" | "window";
  name: string;
  start: number;
  end: number;
}

function stretchesOf(model: Model): Stretch[] {
  const column = (name: string) => model.column("marks", name);
  const found: Stretch[] = [];
  for (let i = 0; i < model.rows("marks"); i++) {
    const kind = model.text(column("kind")[i]);
    if (kind === "phase" || kind === "window") found.push({ kind, name: model.text(column("name")[i]), start: column("start")[i], end: column("end")[i] });
  }
  return found.sort((a, b) => a.start - b.start).slice(0, 20_000);
}

export interface Hit {
  lane: number;
  kind: "samples" | "op" | "kernel" | "launch" | "step" | "gap" | "module" | "label" | "none";
  row: number;
}

export class TimelinePicture extends Axis implements Picture {
  gutter = 170;
  selection: [number, number] | null = null;
  hover: Hit = { lane: -1, kind: "none", row: -1 };
  matchName: ((code: number) => boolean) | null = null; // on string codes
  colour: "layer" | "state" = "layer";
  selected: Selection | null = null;
  expanded = new Set<string>(); // ids of lanes
  marks: number[] = [];
  readonly stretches: Stretch[];
  arrows = true;
  tops: number[] = []; // of each lane, and the end of the last

  constructor(
    readonly model: Model,
    readonly lanes: Lane[],
  ) {
    super(0, model.duration, 200, true);
    this.stretches = stretchesOf(model);
    this.place();
  }

  place(): void {
    let y = RULER;
    this.tops = this.lanes.map((lane) => {
      const top = y;
      y += this.laneHeight(lane);
      return top;
    });
    this.tops.push(y);
  }

  // First and last level of calls that is drawn: frames around everything are folded until the lane is opened.
  levels(lane: Lane): [number, number] {
    if (this.expanded.has(lane.id)) return [0, lane.slices.length];
    return [lane.roots, Math.min(lane.roots + COLLAPSED_LEVELS, lane.slices.length)];
  }

  // Heights of the parts of a lane, from the top.
  private parts(lane: Lane): { strip: number; fold: number; modules: number; slices: number; launches: number } {
    const [first, last] = this.levels(lane);
    return {
      strip: lane.samples.length ? STRIP : 0, fold: first > 0 ? FOLD : 0, modules: lane.modules.length ? MODULES : 0,
      slices: (last - first) * SLICE, launches: lane.launches.length ? SLICE - 3 : 0,
    };
  }

  private laneHeight(lane: Lane): number {
    if (lane.kind === "process" || lane.kind === "idle") return HEAD;
    const { strip, fold, modules, slices, launches } = this.parts(lane);
    return Math.max(30, strip + fold + modules + slices + launches) + GAP;
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
      if (lane.kind === "process" || lane.kind === "idle") {
        const head = lane.kind === "process";
        if (head) pen.rect(0, y, width, HEAD - 3, theme.band);
        const text = head ? `${this.lanes[i + 1]?.process === lane.process ? "▾" : "▸"} ${lane.label} · ${lane.note}` : `${lane.label}${lane.note ? `, ${lane.note}` : ""}`;
        pen.text(fit(text, width - 16, 11.5), 8, y + 15, head ? theme.text : theme.faint, 11.5, head ? 600 : 400);
        continue;
      }
      pen.line([0, y - GAP / 2, width, y - GAP / 2], theme.line, 0.5);
      pen.clip(this.gutter, y - 1, plot, this.laneHeight(lane));
      this.lane(pen, lane, y, width, theme);
      pen.unclip();
      this.laneLabel(pen, lane, y, theme);
    }
    if (this.arrows) drawArrows(this, pen, width, top, height, theme);
    pen.unclip();
    drawMarkLines(this, pen, width, height, theme);
    drawRuler(this, pen, width, theme);
    this.drawSelection(pen, width, height, theme);
  }

  private laneLabel(pen: Pen, lane: Lane, y: number, theme: Theme): void {
    const more = lane.slices.length > COLLAPSED_LEVELS || lane.roots > 0;
    const mark = more ? (this.expanded.has(lane.id) ? "▾ " : "▸ ") : "";
    pen.text(fit(mark + lane.label, this.gutter - 12, 11.5), 8, y + 12, theme.text, 11.5, 500);
    if (lane.note) pen.text(fit(lane.note, this.gutter - 12, 10.5), 8, y + 25, theme.faint, 10.5);
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
      pen.rect(left, RULER - 34, right - left, height, fill);
    });
  }

  private lane(pen: Pen, lane: Lane, y: number, width: number, theme: Theme): void {
    let at = y;
    const { strip, fold, modules } = this.parts(lane);
    if (strip) drawStrip(this, pen, lane, at, width, theme);
    at += strip;
    if (fold) pen.text(`${lane.roots} frames around all of this ▸`, this.gutter + 6, at + 10, theme.faint, 10);
    at += fold;
    if (modules) drawModules(this, pen, lane, at, width, theme);
    at += modules;
    const kernels = lane.kind === "stream";
    if (kernels) drawGaps(this, pen, lane, at, SLICE - 1, width, theme);
    const [first, last] = this.levels(lane);
    for (let level = first; level < last; level++, at += SLICE) {
      drawSlices(this, pen, lane.slices[level], kernels ? "kernels" : "ops", at, SLICE - 1, width, theme);
    }
    if (lane.launches.length) drawSlices(this, pen, lane.launches, "launches", at, SLICE - 4, width, theme);
    if (this.selected?.kind === "sample" && strip && this.model.column("samples", "thread")[this.selected.row] === lane.thread) {
      const x = this.x(this.model.column("samples", "time")[this.selected.row], width);
      pen.frame(x - 2, y - 1, 5, STRIP, theme.accent, 2);
    }
  }

  name(table: SliceTable, row: number): string {
    const short = table === "kernels" ? this.model.column("kernels", "short")[row] : -1;
    return this.model.text(short >= 0 ? short : nameCode(this.model, table, row));
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
      return step >= 0 && x > this.gutter && y - top > RULER - 34 ? { lane: -1, kind: "step", row: step } : none;
    }
    const index = this.laneAt(y);
    const lane = this.lanes[index];
    if (!lane) return none;
    if (lane.kind === "process" || lane.kind === "idle") return { lane: index, kind: "label", row: -1 };
    if (x < this.gutter) return { lane: index, kind: "label", row: -1 };
    let inner = y - this.tops[index];
    if (lane.samples.length) {
      if (inner < STRIP) return { lane: index, kind: "samples", row: -1 };
      inner -= STRIP;
    }
    const { fold, modules } = this.parts(lane);
    if (fold && inner < fold) return { lane: index, kind: "label", row: -1 };
    inner -= fold;
    if (modules && inner < modules) {
      const row = lane.modules.findIndex((run) => run.start <= t && t <= run.end);
      return row >= 0 ? { lane: index, kind: "module", row } : { ...none, lane: index };
    }
    inner -= modules;
    const slack = (1.5 * (this.to - this.from)) / (width - this.gutter);
    const [first, last] = this.levels(lane);
    const level = first + Math.floor(inner / SLICE);
    if (level < last) {
      const table = lane.kind === "stream" ? "kernels" : "ops";
      const row = this.find(lane.slices[level], table, t, slack);
      if (row >= 0) return { lane: index, kind: table === "ops" ? "op" : "kernel", row };
      const gap = table === "kernels" ? gapAt(this.model, lane, t) : -1;
      return gap >= 0 ? { lane: index, kind: "gap", row: gap } : { ...none, lane: index };
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
