// Bands of a lane that are no calls: modules above operators, and why a device was idle.

import type { Model } from "../data/model";
import { GAP_CAUSES } from "../calc/details/gap";
import type { Lane } from "../calc/lanes";
import { fit, type Pen } from "./pen";
import { hueOf, type Theme } from "./theme";
import type { TimelinePicture } from "./timeline";

export function drawModules(on: TimelinePicture, pen: Pen, lane: Lane, y: number, width: number, theme: Theme): void {
  let low = 0;
  for (let high = lane.modules.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (lane.modules[middle].end < on.from) low = middle + 1;
    else high = middle;
  }
  let filled = 0; // pixels up to here are drawn: what is narrower adds nothing
  for (let i = low; i < lane.modules.length && lane.modules[i].start <= on.to; i++) {
    const run = lane.modules[i];
    if (on.x(run.end, width) < filled + 0.5) continue;
    const left = Math.max(on.gutter, on.x(run.start, width));
    const right = Math.min(width, on.x(run.end, width));
    if (right - left < 0.4) continue;
    filled = right;
    const name = on.model.text(run.module);
    pen.rect(left, y, right - left - (right - left > 3 ? 0.6 : 0), 11, hueOf(theme, name));
    const text = right - left > 26 ? fit(name, right - left - 4, 9.5) : "";
    if (text) pen.text(text, left + 2, y + 9, theme.onFill, 9.5);
  }
}

export function gapFill(theme: Theme, cause: number): string {
  return { host: theme.named.blue, sync: theme.named.red, kernel: theme.named.grey, other: theme.named.sand }[GAP_CAUSES[cause] ?? "other"];
}

// On the lane of the stream whose kernel ended the gap: a thin line in the colour of the cause, a frame when selected.
export function drawGaps(on: TimelinePicture, pen: Pen, lane: Lane, y: number, tall: number, width: number, theme: Theme): void {
  const { model } = on;
  for (let i = 0; i < model.rows("gaps"); i++) {
    if (!isHere(model, lane, i)) continue;
    const start = model.column("gaps", "start")[i];
    const end = start + model.column("gaps", "duration")[i];
    if (end < on.from || start > on.to) continue;
    const left = Math.max(on.gutter, on.x(start, width));
    const right = Math.min(width, on.x(end, width));
    if (right - left < 0.7) continue;
    pen.rect(left, y + tall / 2 - 2, right - left, 4, gapFill(theme, model.column("gaps", "cause")[i]));
    if (on.selected?.kind === "gap" && on.selected.row === i) pen.frame(left - 1, y - 1, Math.max(4, right - left + 2), tall + 2, theme.accent, 2);
  }
}

export function gapAt(model: Model, lane: Lane, t: number): number {
  for (let i = 0; i < model.rows("gaps"); i++) {
    const start = model.column("gaps", "start")[i];
    if (start <= t && t <= start + model.column("gaps", "duration")[i] && isHere(model, lane, i)) return i;
  }
  return -1;
}

function isHere(model: Model, lane: Lane, gap: number): boolean {
  if (model.column("gaps", "process")[gap] !== lane.process || model.column("gaps", "device")[gap] !== lane.device) return false;
  const next = model.column("gaps", "next")[gap];
  return next < 0 || model.column("kernels", "stream")[next] === lane.stream;
}
