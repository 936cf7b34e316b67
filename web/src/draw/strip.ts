// A thread's sampled time as a strip: one pixel column is the time that falls into it, stacked by category.
// Far out it is summed from bins that are made once; close up from the samples in sight.

import { stretchOf, takenRows } from "../calc/clip";
import { BINS, binsOf, lowerBound, STRIP_KINDS, TAKEN, type Lane } from "../calc/lanes";
import { SPIN } from "../data/model";
import type { Pen } from "./pen";
import type { Theme } from "./theme";
import type { TimelinePicture } from "./timeline";

export const STRIP = 26;
let away = new Float64Array(0);
let columns = new Float64Array(0); // one buffer for all strips: a redraw makes no garbage

// Sampled time of each pixel column, stacked by category; full height means busy all the time.
export function drawStrip(on: TimelinePicture, pen: Pen, lane: Lane, y: number, width: number, theme: Theme): void {
  const { model } = on;
  const plot = Math.ceil(width - on.gutter);
  const kinds = STRIP_KINDS;
  if (columns.length < plot * kinds) columns = new Float64Array(plot * kinds);
  columns.fill(0, 0, plot * kinds);
  const perPixel = (on.to - on.from) / plot;
  if (perPixel >= model.duration / BINS) fromBins(on, binsOf(model, lane), plot, perPixel);
  else fromSamples(on, lane, plot, perPixel);
  // By state, all that runs has one colour; spin and wait keep theirs.
  const fills = on.colour === "state" ? theme.category.map((fill, c) => (c < SPIN ? theme.layer[2] : fill)) : theme.category;
  // Time ready but off the CPU is no work of the thread: it has a thin strip of its own below.
  if (away.length < plot) away = new Float64Array(plot);
  let some = false;
  for (let px = 0; px < plot; px++) {
    away[px] = columns[px * kinds + TAKEN];
    some ||= away[px] > 0.02;
    columns[px * kinds + TAKEN] = 0;
  }
  pen.strip(on.gutter, y, plot, STRIP - 6, columns, [...fills, theme.panel]);
  if (some) pen.strip(on.gutter, y + STRIP - 5, plot, 3, away, [theme.dark ? "#c04a44" : "#c2403a"]);
}

function fromBins(on: TimelinePicture, bins: Float32Array, plot: number, perPixel: number): void {
  const kinds = STRIP_KINDS;
  const width = on.model.duration / BINS;
  const last = Math.min(BINS - 1, Math.floor(on.to / width));
  for (let bin = Math.floor(on.from / width); bin <= last; bin++) {
    const px = Math.min(plot - 1, Math.max(0, Math.floor(((bin + 0.5) * width - on.from) / perPixel)));
    for (let c = 0; c < kinds; c++) columns[px * kinds + c] += bins[bin * kinds + c] / perPixel;
  }
}

function fromSamples(on: TimelinePicture, lane: Lane, plot: number, perPixel: number): void {
  const { model } = on;
  const kinds = STRIP_KINDS;
  const time = model.column("samples", "time");
  const weight = model.column("samples", "weight");
  const stretch = stretchOf(model);
  const taken = takenRows(model);
  const from = lowerBound(lane.samples, time, on.from - lane.longest);
  for (let i = from; i < lane.samples.length; i++) {
    const row = lane.samples[i];
    const [start, length] = stretch(row);
    if (time[row] - lane.longest > on.to) break;
    if (start > on.to || start + length < on.from) continue;
    const end = start + length;
    const a = Math.max(0, (start - on.from) / perPixel);
    const b = Math.min(plot, (end - on.from) / perPixel);
    const density = weight[row] / Math.max(length, 1); // of one thread, so at most about one
    const category = taken[row] ? TAKEN : model.category[row];
    const last = Math.min(plot - 1, Math.floor(b));
    for (let px = Math.floor(a); px <= last; px++) {
      const covered = Math.min(b, px + 1) - Math.max(a, px);
      if (covered > 0) columns[px * kinds + category] += covered * density;
    }
  }
}
