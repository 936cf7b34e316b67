// Curves over time as steps: a value holds until the next reading. Drawn with
// the same pen as everything else, so that they export as SVG and PNG too.

import { fit, type Pen } from "./pen";
import { Axis } from "./axis";
import type { Picture } from "./chart";
import type { Theme } from "./theme";
import { offset } from "../calc/format";

export interface Series {
  name: string;
  values: (number | null)[];
}

const LEFT = 76;
const BOTTOM = 24;
const TOP = 8;
const RIGHT = 10;

export class CurvePicture extends Axis implements Picture {
  hover = -1; // index of the reading under the pointer
  selection: [number, number] | null = null;
  moment: number | null = null;
  private readonly floor: number;
  private readonly ceiling: number;
  private readonly ticks: number[];

  constructor(
    readonly times: number[],
    readonly series: Series[],
    readonly worded: (value: number) => string,
    readonly tall: number,
    binary: boolean,
  ) {
    super(times[0] ?? 0, Math.max((times[0] ?? 0) + 1, times[times.length - 1] ?? 1), 1000, true);
    let low = 0;
    let high = 0;
    for (const s of series) for (const v of s.values) if (v !== null && Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
    const unit = niceStep((high - low || 1) / 4, binary);
    this.floor = Math.floor(low / unit) * unit;
    this.ceiling = Math.max(this.floor + unit, Math.ceil(high / unit) * unit);
    this.ticks = [];
    for (let v = this.floor; v <= this.ceiling + unit / 2; v += unit) this.ticks.push(v);
  }

  height(): number {
    return this.tall;
  }

  x(t: number, width: number): number {
    return LEFT + this.share(t) * (width - LEFT - RIGHT);
  }

  shareAt(x: number, width: number): number {
    return Math.max(0, Math.min(1, (x - LEFT) / (width - LEFT - RIGHT)));
  }

  timeAt(x: number, width: number): number {
    return this.at(this.shareAt(x, width));
  }

  indexAt(x: number, width: number): number {
    return this.indexOf(this.timeAt(x, width));
  }

  // The last reading not after a moment.
  private indexOf(t: number): number {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= t) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  draw(pen: Pen, width: number, _top: number, height: number, theme: Theme): void {
    const floor = height - BOTTOM;
    const y = (v: number) => TOP + (1 - (v - this.floor) / (this.ceiling - this.floor)) * (floor - TOP);
    for (const tick of this.ticks) {
      pen.line([LEFT, y(tick), width - RIGHT, y(tick)], theme.line, 1);
      pen.text(fit(this.worded(tick), LEFT - 8, 10.5), 2, y(tick) + 4, theme.faint, 10.5);
    }
    const step = timeStep((this.to - this.from) / Math.max(2, (width - LEFT) / 110));
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.x(t, width);
      pen.line([x, TOP, x, floor], theme.line, 0.6);
      if (x < width - 46) pen.text(offset(t, step), x - 12, height - 7, theme.faint, 10.5);
    }
    pen.clip(LEFT, 0, width - LEFT - RIGHT + 1, height);
    this.series.forEach((s, i) => this.trace(pen, s, width, y, curveColour(theme, i)));
    pen.unclip();
    if (this.selection) {
      const left = Math.max(LEFT, this.x(this.selection[0], width));
      const right = Math.min(width - RIGHT, this.x(this.selection[1], width));
      if (right > left) pen.rect(left, TOP, right - left, floor - TOP, theme.select);
    }
    if (this.moment !== null && this.moment >= this.from && this.moment <= this.to) {
      pen.line([this.x(this.moment, width), TOP, this.x(this.moment, width), floor], theme.accent, 2);
    }
    if (this.hover >= 0 && this.times[this.hover] >= this.from) {
      const x = this.x(this.times[this.hover], width);
      pen.line([x, TOP, x, floor], theme.faint, 1, [3, 3]);
      this.series.forEach((s, i) => {
        const v = s.values[this.hover];
        if (v !== null) pen.dot(x, y(v), 3.5, curveColour(theme, i));
      });
    }
  }

  private trace(pen: Pen, s: Series, width: number, y: (v: number) => number, colour: string): void {
    let points: number[] = [];
    const flush = () => {
      if (points.length > 2) pen.line(points, colour, 1.6);
      points = [];
    };
    const last = Math.min(this.times.length - 1, this.indexOf(this.to) + 1);
    for (let i = this.indexOf(this.from); i <= last; i++) {
      const v = s.values[i];
      if (v === null || !Number.isFinite(v)) {
        flush();
        continue;
      }
      const x = this.x(this.times[i], width);
      if (points.length) points.push(x, points[points.length - 1]);
      points.push(x, y(v));
    }
    flush();
  }
}

export function curveColour(theme: Theme, i: number): string {
  const colours = theme.dark ? ["#7fb0ff", "#f0a868", "#7fd3a0", "#d9a5ff"] : ["#1f5fbf", "#b45309", "#17653a", "#6d28d9"];
  return colours[i % colours.length];
}

// A round step of time: decimal up to a minute, then what clocks have.
export function timeStep(target: number): number {
  const minute = 60e9;
  if (target < 20e9) return niceStep(target, false);
  return [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1440].map((m) => m * minute).find((step) => step >= target) ?? target;
}

// The next step of 1, 2 or 5 times a power of ten, or a power of two for bytes.
export function niceStep(target: number, binary: boolean): number {
  if (binary) return 2 ** Math.ceil(Math.log2(Math.max(1, target)));
  const power = 10 ** Math.floor(Math.log10(target));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= target) ?? target;
}
