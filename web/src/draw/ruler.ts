// The head of the timeline: the whole recording in small with the part that is shown, the ruler, steps, phases,
// profiling windows and marks.

import { binsOf, BINS, STRIP_KINDS, type Lane } from "../calc/lanes";
import { offset, time as showTime } from "../calc/format";
import { timeStep } from "./curve";
import { fit, type Pen } from "./pen";
import { hueOf, type Theme } from "./theme";
import { RULER, type TimelinePicture } from "./timeline";

export const MINIMAP = 24;
const STEPS = MINIMAP + 24; // where the band of steps begins
const PHASES = STEPS + 16;

export function drawMinimap(on: TimelinePicture, pen: Pen, width: number, theme: Theme): void {
  const plot = Math.ceil(width - on.gutter);
  pen.rect(0, 0, width, MINIMAP, theme.panel);
  const lane = busiest(on.lanes);
  if (lane?.samples.length) {
    const bins = binsOf(on.model, lane);
    const shares = new Float64Array(plot * STRIP_KINDS);
    const per = on.model.duration / plot;
    for (let bin = 0; bin < BINS; bin++) {
      const px = Math.min(plot - 1, Math.floor((bin / BINS) * plot));
      for (let c = 0; c < STRIP_KINDS; c++) shares[px * STRIP_KINDS + c] += bins[bin * STRIP_KINDS + c] / per;
    }
    pen.strip(on.gutter, 3, plot, MINIMAP - 6, shares, [...theme.category, theme.named.red]);
  } else if (lane) {
    const table = lane.kind === "stream" ? "kernels" : "ops";
    const start = on.model.column(table, "start");
    const duration = on.model.column(table, "duration");
    const shares = new Float64Array(plot);
    for (const row of lane.slices[0] ?? []) {
      const px = Math.min(plot - 1, Math.max(0, Math.floor((start[row] / on.model.duration) * plot)));
      shares[px] += (duration[row] / on.model.duration) * plot;
    }
    // What is longer than a pixel goes on in those after it.
    for (let px = 0; px < plot - 1; px++) {
      if (shares[px] <= 1) continue;
      shares[px + 1] += shares[px] - 1;
      shares[px] = 1;
    }
    pen.strip(on.gutter, 3, plot, MINIMAP - 6, shares, [lane.kind === "stream" ? theme.layer[6] : theme.layer[2]]);
  }
  const left = on.gutter + (on.from / on.model.duration) * plot;
  const right = on.gutter + (on.to / on.model.duration) * plot;
  pen.rect(on.gutter, 0, Math.max(0, left - on.gutter), MINIMAP, theme.veil);
  pen.rect(right, 0, Math.max(0, width - right), MINIMAP, theme.veil);
  pen.frame(left, 0, Math.max(3, right - left), MINIMAP - 1, theme.accent, 1.5);
  pen.text(fit(on.gutter < 120 ? "all" : "whole recording", on.gutter - 12, 10.5), 8, 15, theme.faint, 10.5);
}

function busiest(lanes: Lane[]): Lane | undefined {
  const some = lanes.filter((lane) => lane.kind === "thread" || lane.kind === "stream");
  return some.find((lane) => lane.samples.length) ?? some.find((lane) => lane.kind === "stream") ?? some[0];
}

export function drawRuler(on: TimelinePicture, pen: Pen, width: number, theme: Theme): void {
  pen.rect(0, 0, width, STEPS, theme.panel);
  const unit = timeStep((on.to - on.from) / Math.max(2, (width - on.gutter) / 110));
  const first = Math.ceil(on.from / unit) * unit;
  // Far into the recording the digits that do not change are said once, in the gutter.
  const base = on.from > unit * 50 ? Math.floor(on.from / (unit * 10)) * unit * 10 : 0;
  for (let t = first; t <= on.to; t += unit) {
    const x = on.x(t, width);
    pen.line([x, MINIMAP + 14, x, STEPS], theme.faint, 1);
    pen.text(base ? `+${offset(t - base, unit)}` : showTime(t), x + 3, MINIMAP + 13, theme.faint, 10.5);
  }
  pen.rect(0, MINIMAP, on.gutter, RULER - MINIMAP, theme.panel);
  if (base) pen.text(`${offset(base, unit * 10)} +`, 8, MINIMAP + 13, theme.text, 10.5);
  drawMinimap(on, pen, width, theme);
  drawSteps(on, pen, width, theme);
  drawMarks(on, pen, width, theme);
  pen.line([0, RULER - 0.5, width, RULER - 0.5], theme.line, 1);
}

function drawSteps(on: TimelinePicture, pen: Pen, width: number, theme: Theme): void {
  const { steps, warmup } = on.model;
  if (steps.length) pen.text("steps", 8, STEPS + 12, theme.faint, 10.5);
  let last = -Infinity;
  steps.forEach((step, i) => {
    if (step.end < on.from || step.start > on.to) return;
    const left = on.x(step.start, width);
    if (left < last && on.selected?.kind !== "step") return;
    const shown = Math.max(left, on.gutter);
    const room = on.x(step.end, width) - shown;
    const chosen = on.selected?.kind === "step" && on.selected.row === i;
    if (chosen) pen.frame(shown, STEPS, Math.max(3, room), 16, theme.accent, 2);
    const text = `${step.number}${i < warmup && room > 70 ? " warm-up" : ""}`;
    if (room > 14 || left - last > 40) {
      pen.text(text, shown + 3, STEPS + 12, i < warmup ? theme.faint : theme.text, 10.5);
      last = shown + Math.max(24, text.length * 7);
    }
  });
  let filled = 0; // thousands of phases in one pixel are one
  for (const mark of on.stretches) {
    if (mark.end < on.from) continue;
    if (mark.start > on.to) break;
    const left = Math.max(on.gutter, on.x(mark.start, width));
    const right = Math.min(width, on.x(mark.end, width));
    if (right - left < 0.3 || (mark.kind === "phase" && right < filled + 0.5)) continue;
    if (mark.kind === "phase") filled = right;
    if (mark.kind === "window") pen.rect(left, STEPS - 3, Math.max(1, right - left), 3, theme.accent);
    else {
      pen.rect(left, PHASES, Math.max(0.5, right - left - 0.5), 12, hueOf(theme, mark.name));
      const text = right - left > 24 ? fit(mark.name, right - left - 4, 9.5) : "";
      if (text) pen.text(text, left + 2, PHASES + 9.5, theme.onFill, 9.5);
    }
  }
  if (on.stretches.some((mark) => mark.kind === "phase")) pen.text("phases", 8, PHASES + 10, theme.faint, 10.5);
}

function drawMarks(on: TimelinePicture, pen: Pen, width: number, theme: Theme): void {
  on.marks.forEach((t, i) => {
    const x = on.x(t, width);
    if (x < on.gutter || x > width) return;
    pen.rect(x, MINIMAP, 16, 12, theme.accent);
    pen.text(String(i + 1), x + 4, MINIMAP + 10, theme.panel, 10, 700);
  });
}

// Marks go down through all lanes.
export function drawMarkLines(on: TimelinePicture, pen: Pen, width: number, height: number, theme: Theme): void {
  for (const t of on.marks) {
    const x = on.x(t, width);
    if (x >= on.gutter && x <= width) pen.line([x, RULER, x, height], theme.accent, 1, [4, 3]);
  }
}
