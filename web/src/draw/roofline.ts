// Roofline: arithmetic intensity against achieved rate, both logarithmic. Each
// dot is one problem of one implementation; its size is its share of time.

import type { Picture } from "./chart";
import type { Pen } from "./pen";
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

export class RooflinePicture implements Picture {
  hover = -1;
  private readonly x: [number, number];
  private readonly y: [number, number];
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
    this.x = [Math.floor(Math.min(...xs) - 0.2), Math.ceil(Math.max(...xs) + 0.2)];
    this.y = [Math.floor(Math.min(...ys) - 0.2), Math.ceil(Math.max(...ys) + 0.1)];
  }

  height(): number {
    return this.tall;
  }

  place(dot: { intensity: number; rate: number }, width: number, height: number): [number, number] {
    const px = LEFT + ((Math.log10(dot.intensity) - this.x[0]) / (this.x[1] - this.x[0])) * (width - LEFT - 12);
    const py = TOP + (1 - (Math.log10(dot.rate) - this.y[0]) / (this.y[1] - this.y[0])) * (height - TOP - BOTTOM);
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
    for (let p = this.x[0]; p <= this.x[1]; p++) {
      const [x] = this.place({ intensity: 10 ** p, rate: 1 }, width, height);
      pen.line([x, TOP, x, floor], theme.line, 1);
      if (x < width - 30) pen.text(p < 0 ? (10 ** p).toFixed(-p) : String(10 ** p), x - 6, floor + 15, theme.faint, 10.5);
    }
    for (let p = this.y[0]; p <= this.y[1]; p++) {
      const [, y] = this.place({ intensity: 1, rate: 10 ** p }, width, height);
      pen.line([LEFT, y, width - 12, y], theme.line, 1);
      pen.text(scaled(10 ** p, "FLOP/s"), 4, y + 4, theme.faint, 10.5);
    }
    pen.text("arithmetic intensity, FLOP per byte", LEFT + 6, height - 5, theme.faint, 11);
    if (this.roofs) {
      const { peak, bandwidth, measured } = this.roofs;
      const ridge = peak / bandwidth;
      const start = this.place({ intensity: 10 ** this.x[0], rate: 10 ** this.x[0] * bandwidth }, width, height);
      const corner = this.place({ intensity: ridge, rate: peak }, width, height);
      const end = this.place({ intensity: 10 ** this.x[1], rate: peak }, width, height);
      pen.clip(LEFT, TOP - 8, width - LEFT, floor - TOP + 8);
      pen.line([...start, ...corner, ...end], theme.text, 1.6, measured ? undefined : [5, 4]);
      pen.unclip();
      const name = measured ? "measured peak" : "best seen here";
      pen.text(`${name} ${scaled(peak, "FLOP/s")}`, Math.max(LEFT + 4, Math.min(corner[0] + 8, width - 210)), corner[1] - 6, theme.text, 11);
    }
    const fills = [theme.layer[2], theme.layer[4], theme.category[5], theme.layer[7]];
    this.dots.forEach((dot, i) => {
      const [x, y] = this.place(dot, width, height);
      pen.dot(x, y, this.radius(dot), fills[dot.quality]);
      if (i === this.hover) pen.dot(x, y, 3, theme.text);
    });
  }
}
