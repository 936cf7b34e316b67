// Roofline: arithmetic intensity against achieved rate, both logarithmic. Each
// dot is one problem of one implementation; its size is its share of time.
// Zoom acts on both axes around the pointer, so that a cloud of dots can be told apart.

import { SPIN } from "../data/model";
import { Axis, type Zoomable } from "./axis";
import type { Picture } from "./chart";
import type { Pen } from "./pen";
import { fade } from "./flame";
import type { Theme } from "./theme";
import { scaled } from "../calc/format";

export interface Dot {
  name: string;
  detail: string;
  intensity: number; // FLOP per byte
  rate: number; // FLOP/s
  share: number;
  quality: number; // 0 good, 1 fallback, 2 reference, 3 unknown
}

export interface Roofs {
  peak: number; // FLOP/s
  bandwidth: number; // bytes/s
  measured: boolean; // false: the best seen in this recording
}

const LEFT = 74;
const BOTTOM = 36;
const TOP = 14;

const RIGHT = 12;
const LEAST = 0.4; // powers of ten

export class RooflinePicture implements Picture, Zoomable {
  hover = -1;
  matches: ((dot: Dot) => boolean) | null = null;
  readonly x: Axis; // powers of ten
  readonly y: Axis;
  constructor(
    readonly dots: Dot[],
    readonly roofs: Roofs | null,
    readonly tall: number,
  ) {
    const xs = dots.map((d) => Math.log10(d.intensity));
    const ys = dots.map((d) => Math.log10(d.rate));
    if (roofs) {
      xs.push(Math.log10(roofs.peak / roofs.bandwidth) + 0.3);
      ys.push(Math.log10(roofs.peak));
    }
    this.x = new Axis(Math.floor(least(xs) - 0.2), Math.ceil(-least(xs.map((v) => -v)) + 0.2), LEAST);
    this.y = new Axis(Math.floor(least(ys) - 0.2), Math.ceil(-least(ys.map((v) => -v)) + 0.1), LEAST);
  }

  zoomAt(share: number, factor: number, across = 0.5): void {
    this.x.zoomAt(share, factor);
    this.y.zoomAt(1 - across, factor);
  }

  pan(share: number): void {
    this.x.pan(share);
  }

  reset(): void {
    this.x.reset();
    this.y.reset();
  }

  get word(): string | null {
    return this.x.word || this.y.word ? `${this.x.word ?? "0-1"}_${this.y.word ?? "0-1"}` : null;
  }

  read(word: string): void {
    const [x, y] = word.split("_");
    this.x.read(x);
    this.y.read(y ?? "");
  }

  // Where a point lies in the plot, as shares from the left and from the top.
  shareAt(px: number, py: number, width: number, height: number): [number, number] {
    return [(px - LEFT) / (width - LEFT - RIGHT), (py - TOP) / (height - TOP - BOTTOM)];
  }

  height(): number {
    return this.tall;
  }

  place(dot: { intensity: number; rate: number }, width: number, height: number): [number, number] {
    const px = LEFT + this.x.share(Math.log10(dot.intensity)) * (width - LEFT - RIGHT);
    const py = TOP + (1 - this.y.share(Math.log10(dot.rate))) * (height - TOP - BOTTOM);
    return [px, py];
  }

  radius(dot: Dot): number {
    return 3.5 + Math.sqrt(Math.max(0, dot.share)) * 16;
  }

  hit(x: number, y: number, width: number, height: number): number {
    let best = -1;
    let least = Infinity;
    this.dots.forEach((dot, i) => {
      const [px, py] = this.place(dot, width, height);
      const distance = Math.hypot(px - x, py - y) - this.radius(dot);
      if (distance < 4 && distance < least) {
        best = i;
        least = distance;
      }
    });
    return best;
  }

  draw(pen: Pen, width: number, _top: number, height: number, theme: Theme): void {
    const floor = height - BOTTOM;
    for (const intensity of ticks(this.x)) {
      const [x] = this.place({ intensity, rate: 1 }, width, height);
      pen.line([x, TOP, x, floor], theme.line, 1);
      if (x < width - 30) pen.text(String(Number(intensity.toPrecision(2))), x - 6, floor + 15, theme.faint, 10.5);
    }
    for (const rate of ticks(this.y)) {
      const [, y] = this.place({ intensity: 1, rate }, width, height);
      pen.line([LEFT, y, width - RIGHT, y], theme.line, 1);
      pen.text(scaled(rate, "FLOP/s"), 4, y + 4, theme.faint, 10.5);
    }
    pen.text("arithmetic intensity, FLOP per byte", LEFT + 6, height - 5, theme.faint, 11);
    if (this.roofs) {
      const { peak, bandwidth, measured } = this.roofs;
      const ridge = peak / bandwidth;
      const start = this.place({ intensity: 10 ** this.x.low, rate: 10 ** this.x.low * bandwidth }, width, height);
      const corner = this.place({ intensity: ridge, rate: peak }, width, height);
      const end = this.place({ intensity: 10 ** this.x.high, rate: peak }, width, height);
      pen.clip(LEFT, TOP - 8, width - LEFT, floor - TOP + 8);
      pen.line([...start, ...corner, ...end], theme.text, 1.6, measured ? undefined : [5, 4]);
      pen.unclip();
      const name = measured ? "measured peak" : "best seen here";
      if (corner[1] > TOP - 8) pen.text(`${name} ${scaled(peak, "FLOP/s")}`, Math.max(LEFT + 4, Math.min(corner[0] + 8, width - 210)), corner[1] - 6, theme.text, 11);
    }
    const fills = [theme.layer[2], theme.layer[4], theme.category[SPIN], theme.layer[7]];
    pen.clip(LEFT, 0, width - LEFT, floor);
    this.dots.forEach((dot, i) => {
      const [x, y] = this.place(dot, width, height);
      pen.dot(x, y, this.radius(dot), this.matches && !this.matches(dot) ? fade(fills[dot.quality], theme) : fills[dot.quality]);
      if (i === this.hover) pen.dot(x, y, 3, theme.text);
    });
    pen.unclip();
  }
}

// Powers of ten; close up also what lies between them.
function ticks(axis: Axis): number[] {
  const span = axis.to - axis.from;
  const between = span < 1 ? [1, 1.5, 2, 3, 5, 7] : span < 2 ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let p = Math.floor(axis.from); p <= axis.to; p++) found.push(...between.map((m) => m * 10 ** p));
  return found.filter((v) => Math.log10(v) >= axis.from - 1e-9 && Math.log10(v) <= axis.to + 1e-9);
}

// Not Math.min(...): a log may have more shapes than a call may have arguments.
function least(values: number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}
