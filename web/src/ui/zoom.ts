// Zoom of every picture by the same hands: Ctrl and wheel around the pointer, Shift and wheel or a sideways
// wheel to move, W S A D, + −, arrows, 0 for all; and what is shown is a word in the address.

import { useRef } from "preact/hooks";
import type { Zoomable } from "../draw/axis";
import type { Chart } from "../draw/chart";

const SETTLE_MS = 140; // browsers refuse more than a few address changes a second

// True when the wheel was meant for the picture. `share` and `across` say where the pointer is in the plot.
export function wheelZoom(picture: Zoomable, event: WheelEvent, width: number, share: number, across = 0.5): boolean {
  const inside = (v: number) => Math.max(0, Math.min(1, v));
  if (event.ctrlKey || event.metaKey) picture.zoomAt(inside(share), Math.exp(event.deltaY * 0.004), inside(across));
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) picture.pan((event.deltaX || event.deltaY) / width);
  else return false;
  return true;
}

// True when the key zoomed or moved. Escape is left to those who know what else it ends.
export function keyZoom(picture: Zoomable, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const actions: Record<string, () => void> = {
    w: () => picture.zoomAt(0.5, 0.7), s: () => picture.zoomAt(0.5, 1.4), a: () => picture.pan(-0.15), d: () => picture.pan(0.15),
    "+": () => picture.zoomAt(0.5, 0.7), "=": () => picture.zoomAt(0.5, 0.7), "-": () => picture.zoomAt(0.5, 1.4),
    ArrowLeft: () => picture.pan(-0.15), ArrowRight: () => picture.pan(0.15), "0": () => picture.reset(),
  };
  if (!actions[event.key]) return false;
  actions[event.key]();
  return true;
}

// Keeps what a picture shows and its word in the address equal; returns what to call after a zoom.
export function useZoom(picture: Zoomable, word: string, write: (word: string | null) => void): (chart: Chart | null) => void {
  const known = useRef<{ picture: Zoomable | null; word: string; timer: number }>({ picture: null, word: "", timer: 0 });
  const last = known.current;
  if (last.picture !== picture || last.word !== word) {
    clearTimeout(last.timer); // an older zoom must not overwrite a newer link
    picture.read(word);
    last.picture = picture;
    last.word = word;
  }
  return (chart) => {
    chart?.redraw();
    clearTimeout(last.timer);
    last.timer = setTimeout(() => {
      last.word = picture.word ?? "";
      write(picture.word);
    }, SETTLE_MS) as unknown as number;
  };
}
