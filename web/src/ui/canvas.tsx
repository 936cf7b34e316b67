// A Chart inside the page: made once, given new pictures, disposed at the end.

import { useEffect, useRef } from "preact/hooks";
import { Chart, type Picture } from "../draw/chart";
import { touchZoom } from "./touch";
import type { Theme } from "../draw/theme";

export interface Handlers {
  move?: (chart: Chart, x: number, y: number, event: MouseEvent) => void;
  leave?: (chart: Chart) => void;
  down?: (chart: Chart, x: number, y: number, event: PointerEvent) => void;
  click?: (chart: Chart, x: number, y: number, event: MouseEvent) => void;
  double?: (chart: Chart, x: number, y: number, event: MouseEvent) => void;
  wheel?: (chart: Chart, x: number, y: number, event: WheelEvent) => boolean;
  key?: (chart: Chart, event: KeyboardEvent) => boolean;
  zoomed?: (chart: Chart) => void; // after fingers moved or zoomed it
}

export function Canvas(props: {
  picture: Picture;
  theme: Theme;
  handlers: Handlers;
  label: string;
  class?: string;
  height?: string;
  chartRef?: (chart: Chart | null) => void;
  fitted?: boolean; // no taller than the picture
  bottom?: boolean; // start scrolled to the end
}) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const shown = useRef<Picture | null>(null);
  const handlers = useRef(props.handlers);
  handlers.current = props.handlers;
  useEffect(() => {
    const element = host.current!;
    const made = new Chart(element, props.picture, props.theme);
    chart.current = made;
    props.chartRef?.(made);
    (element as HTMLElement & { sondeChart?: Chart }).sondeChart = made; // for the browser tests' frame times
    const at = (event: MouseEvent): [number, number] => {
      const box = element.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top + element.scrollTop];
    };
    const wheel = (event: WheelEvent) => {
      if (handlers.current.wheel?.(made, ...at(event), event)) event.preventDefault();
    };
    const move = (event: MouseEvent) => handlers.current.move?.(made, ...at(event), event);
    const leave = () => handlers.current.leave?.(made);
    const down = (event: PointerEvent) => handlers.current.down?.(made, ...at(event), event);
    const click = (event: MouseEvent) => handlers.current.click?.(made, ...at(event), event);
    const double = (event: MouseEvent) => handlers.current.double?.(made, ...at(event), event);
    const key = (event: KeyboardEvent) => {
      if (handlers.current.key?.(made, event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    };
    const untouch = touchZoom(element, made, () => handlers.current.zoomed?.(made));
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("mousemove", move);
    element.addEventListener("mouseleave", leave);
    element.addEventListener("pointerdown", down);
    element.addEventListener("click", click);
    element.addEventListener("dblclick", double);
    element.addEventListener("keydown", key);
    return () => {
      untouch();
      made.dispose();
      props.chartRef?.(null);
    };
  }, []);
  useEffect(() => {
    const made = chart.current!;
    const fresh = shown.current !== props.picture;
    shown.current = props.picture;
    made.picture = props.picture;
    made.theme = props.theme;
    made.measure();
    if (fresh) made.host.scrollTop = props.bottom ? made.host.scrollHeight : 0;
    made.drawNow();
  });
  return <div ref={host} class={`chart ${props.class ?? ""}`} style={{ height: props.fitted ? `min(${props.height}, ${Math.max(120, props.picture.height(host.current?.clientWidth ?? 1000) + 2)}px)` : props.height }} tabIndex={0} role="application" aria-roledescription="chart" aria-label={props.label} />;
}
