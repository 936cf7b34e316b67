// Collectives × ranks: how much later than the first each rank came. A column is a collective, a row a rank.

import type { Picture } from "./chart";
import { fit, type Pen } from "./pen";
import type { Theme } from "./theme";
import { time } from "../calc/format";

const LEFT = 64;
const BOTTOM = 18;

export class HeatPicture implements Picture {
  hover: [number, number] | null = null; // rank, collective
  private readonly most: number;

  constructor(
    readonly ranks: number[], // in the order drawn
    readonly columns: number,
    readonly late: (rank: number, column: number) => number, // -1: not a member
    values: ArrayLike<number>,
  ) {
    const sorted = Float64Array.from(values).sort();
    this.most = Math.max(1, sorted[Math.floor(sorted.length * 0.99)] ?? 1);
  }

  private row(): number {
    return Math.max(3, Math.min(18, 420 / Math.max(1, this.ranks.length)));
  }

  height(): number {
    return this.ranks.length * this.row() + BOTTOM;
  }

  at(x: number, y: number, width: number): [number, number] | null {
    const row = Math.floor(y / this.row());
    const column = Math.floor(((x - LEFT) / (width - LEFT)) * this.columns);
    return row >= 0 && row < this.ranks.length && column >= 0 && column < this.columns ? [row, column] : null;
  }

  draw(pen: Pen, width: number, top: number, height: number, theme: Theme): void {
    const tall = this.row();
    const wide = (width - LEFT) / Math.max(1, this.columns);
    const ground = theme.dark ? [32, 36, 42] : [240, 241, 243];
    const first = Math.max(0, Math.floor(top / tall));
    for (let r = first; r < this.ranks.length && r * tall - top < height; r++) {
      const y = r * tall - top;
      if (tall >= 11 || r % Math.ceil(11 / tall) === 0) pen.text(fit(`rank ${this.ranks[r]}`, LEFT - 6, 10), 4, y + Math.min(tall, 12) - 2, theme.faint, 10);
      for (let c = 0; c < this.columns; c++) {
        const late = this.late(r, c);
        if (late < 0) continue;
        const share = Math.min(1, Math.sqrt(late / this.most));
        const fill = `#${ground.map((v, i) => Math.round(v + (theme.worse[i] - v) * share).toString(16).padStart(2, "0")).join("")}`;
        pen.rect(LEFT + c * wide, y, Math.max(0.5, wide - (wide > 4 ? 0.5 : 0)), tall - (tall > 5 ? 1 : 0), fill);
      }
    }
    if (this.hover) pen.frame(LEFT + this.hover[1] * wide, this.hover[0] * tall - top, Math.max(3, wide), tall, theme.text, 1.5);
    pen.text(`shared collectives in the order of time; full red is ${time(this.most)} later than the first rank`, LEFT, this.ranks.length * tall - top + 13, theme.faint, 10);
  }
}
