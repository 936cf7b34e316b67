// Fingers on a picture that zooms: one moves it sideways, two zoom around their middle. Up and down stays scrolling.

import type { Chart } from "../draw/chart";
import type { Zoomable } from "../draw/axis";

export function touchZoom(host: HTMLElement, chart: Chart, zoomed: () => void): () => void {
  let last: { x: number; spread: number } | null = null;
  const seen = (event: TouchEvent) => {
    const [a, b] = [event.touches[0], event.touches[1]];
    const box = host.getBoundingClientRect();
    return { x: (b ? (a.clientX + b.clientX) / 2 : a.clientX) - box.left, spread: b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0 };
  };
  const start = (event: TouchEvent) => (last = seen(event));
  const move = (event: TouchEvent) => {
    const picture = chart.picture as Partial<Zoomable>;
    if (!last || !picture.pan || !picture.zoomAt) return;
    const now = seen(event);
    if (now.spread && last.spread) picture.zoomAt(now.x / chart.width, last.spread / now.spread);
    if (Boolean(now.spread) === Boolean(last.spread)) picture.pan((last.x - now.x) / chart.width);
    last = now;
    chart.redraw();
    zoomed();
  };
  const end = (event: TouchEvent) => (last = event.touches.length ? seen(event) : null);
  host.addEventListener("touchstart", start, { passive: true });
  host.addEventListener("touchmove", move, { passive: true });
  host.addEventListener("touchend", end, { passive: true });
  return () => {
    host.removeEventListener("touchstart", start);
    host.removeEventListener("touchmove", move);
    host.removeEventListener("touchend", end);
  };
}
