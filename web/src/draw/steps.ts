// Steps as bars over time, warm-up set apart, the median as a line. The axis counts steps.

import type { Step } from "../calc/steps";
import { time } from "../calc/format";
import { Axis } from "./axis";
import type { Picture } from "./chart";
import type { Pen } from "./pen";
import type { Theme } from "./theme";

const LEFT = 56;
const BOTTOM = 20;

export class StepsPicture extends Axis implements Picture {
  hover = -1;
  selected = -1;
  range: [number, number] | null = null; // steps outside step back
  constructor(
    readonly steps: Step[],
    readonly warmup: number,
    readonly tall: number,
    readonly middle: number | null, // of a steady step
  ) {
    super(0, Math.max(1, steps.length), 4);
  }

  height(): number {
    return this.tall;
  }

  shareAt(x: number, width: number): number {
    return (x - LEFT) / (width - LEFT);
  }

  indexAt(x: number, width: number): number {
    const i = Math.floor(this.at(this.shareAt(x, width)));
    return x >= LEFT && i >= 0 && i < this.steps.length ? i : -1;
  }

  draw(pen: Pen, width: number, _top: number, height: number, theme: Theme): void {
    const values = this.steps.map((s) => s.length);
    const highest = values.reduce((a, b) => Math.max(a, b), 0);
    // One step that is far off must not flatten all others: it is cut, and says so.
    const usual = [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.85)] * 1.6;
    const most = (highest > usual * 1.5 ? usual : highest * 1.08) || 1;
    const head = highest > most ? 18 : 6;
    const plot = height - BOTTOM - head;
    const y = (v: number) => head + plot - Math.min(1, v / most) * plot;
    const wide = (width - LEFT) / (this.to - this.from);
    const left = (i: number) => LEFT + (i - this.from) * wide;
    const [first, last] = [Math.floor(this.from), Math.min(values.length, Math.ceil(this.to))];
    for (const tick of [0, 0.5, 1]) {
      const v = most * 0.92 * tick;
      pen.line([LEFT, y(v), width, y(v)], theme.line, 1);
      pen.text(time(v), 2, y(v) + 4, theme.faint, 10.5);
    }
    pen.clip(LEFT, 0, width - LEFT, height);
    for (let i = first; i < last; i++) {
      const v = values[i];
      const warm = i < this.warmup;
      const step = this.steps[i];
      const outside = this.range && (step.end < this.range[0] || step.start > this.range[1]);
      const fill = warm ? theme.layer[3] : theme.layer[0];
      const x = left(i);
      pen.rect(x, y(v), Math.max(0.5, wide - (wide > 4 ? 1.5 : 0)), head + plot - y(v), outside ? theme.layer[7] : fill);
      if (v > most && wide > 3) pen.rect(x, head + 5, Math.max(0.5, wide - 1.5), 3, theme.panel);
      if (v > most) pen.text(time(v), Math.min(x, width - 44), 13, theme.text, 10.5);
      if (i === this.hover || i === this.selected) pen.frame(x, y(v), Math.max(2, wide - 1.5), head + plot - y(v), theme.text, 1.5);
    }
    const steady = this.middle;
    if (steady !== null) pen.line([left(this.warmup), y(steady), width, y(steady)], theme.text, 1, [4, 3]);
    const every = Math.max(1, Math.ceil((this.to - this.from) / Math.max(1, Math.floor((width - LEFT) / 46))));
    for (let i = Math.ceil(first / every) * every; i < last; i += every) pen.text(String(this.steps[i].number), left(i) + 1, height - 6, theme.faint, 10.5);
    pen.unclip();
  }
}
