// An interactive flame picture: hover, zoom by click or wheel, keys, search
// highlight. Used by the Flame, Sandwich and Diff views.

import { useMemo, useRef } from "preact/hooks";
import { Canvas } from "./canvas";
import { showTooltip, hideTooltip, type Lines } from "./tooltip";
import { FlamePicture } from "../draw/flame";
import type { Chart } from "../draw/chart";
import type { Tree } from "../calc/tree";
import type { Matcher } from "../calc/search";
import type { Theme } from "../draw/theme";
import * as format from "../calc/format";
import { LAYERS } from "../data/model";

export function amount(tree: { unit: "time" | "bytes" }, value: number): string {
  return tree.unit === "time" ? format.time(value) : format.bytes(value);
}

export function labelMatches(tree: Tree, match: Matcher): Uint8Array | null {
  if (!match.active) return null;
  return Uint8Array.from(tree.labels, (label) => (match.test(label.name) || match.test(label.file) ? 1 : 0));
}

export function FlameChart(props: {
  tree: Tree;
  theme: Theme;
  match: Matcher;
  label: string;
  flip?: boolean;
  colour?: FlamePicture["colour"];
  diff?: (node: number) => number;
  height?: string;
  zoom?: string;
  onZoom?: (zoom: string | null) => void;
  onPick?: (node: number) => void;
  extra?: (node: number) => Lines;
  chartRef?: (chart: Chart | null) => void;
}) {
  const { tree } = props;
  const picture = useMemo(() => new FlamePicture(tree), [tree]);
  const matches = useMemo(() => labelMatches(tree, props.match), [tree, props.match]);
  const last = useRef("");
  picture.flip = props.flip ?? false;
  picture.colour = props.colour ?? "layer";
  picture.diff = props.diff ?? null;
  picture.matches = matches;
  if (props.zoom !== undefined && props.zoom !== last.current) {
    const found = /^([\d.e-]+)-([\d.e-]+)$/.exec(props.zoom);
    picture.from = found ? Number(found[1]) * tree.sum : 0;
    picture.to = found ? Number(found[2]) * tree.sum : Math.max(tree.sum, 1e-9);
    last.current = props.zoom;
  }
  const changed = (chart: Chart) => {
    chart.redraw();
    const whole = picture.to - picture.from >= tree.sum * 0.999999;
    const word = whole ? null : `${(picture.from / tree.sum).toFixed(9)}-${(picture.to / tree.sum).toFixed(9)}`;
    last.current = word ?? "";
    // Browsers refuse more than a few address changes a second.
    clearTimeout(timer);
    timer = setTimeout(() => props.onZoom?.(word), 120) as unknown as number;
  };
  const tip = (node: number): Lines => {
    const label = tree.labels[tree.label[node]];
    const share = tree.total[node] / tree.sum;
    const lines: Lines = [
      ["total", `${amount(tree, tree.total[node])} · ${format.percent(share)}`],
      ["self", `${amount(tree, tree.self[node])} · ${format.percent(tree.self[node] / tree.sum)}`],
    ];
    if (tree.unit === "time" && tree.count[node] > 0 && tree.whole.includes("CPU")) {
      lines.push(["samples", `${format.count(tree.count[node])}  ± ${(format.shareError(share, tree.count[0]) * 100).toFixed(1)} points`]);
    }
    lines.push(["layer", LAYERS[label.layer]]);
    if (label.file) lines.push(["file", label.file + (label.line > 0 ? `:${label.line}` : "")]);
    if (label.library && label.library !== label.file) lines.push([label.layer === 2 ? "module" : "library", label.library]);
    if (label.full !== label.name) lines.push([label.full.slice(0, 300)]);
    if (props.extra) lines.push(...props.extra(node));
    lines.push([`100 % is ${tree.whole}: ${amount(tree, tree.sum)}`]);
    return lines;
  };
  return (
    <Canvas
      picture={picture}
      theme={props.theme}
      label={`${props.label}. ${tree.levels.length} levels, ${amount(tree, tree.sum)} in all. Arrow keys walk, Enter zooms, Escape zooms out.`}
      height={props.height}
      bottom={picture.flip}
      fitted
      chartRef={props.chartRef}
      handlers={{
        move(chart, x, y, event) {
          const node = picture.hit(x, y, chart.width);
          if (node !== picture.hover) {
            picture.hover = node;
            chart.redraw();
          }
          if (node >= 0) showTooltip(event.clientX, event.clientY, tree.labels[tree.label[node]].name, tip(node));
          else hideTooltip();
        },
        leave(chart) {
          picture.hover = -1;
          hideTooltip();
          chart.redraw();
        },
        click(chart, x, y) {
          const node = picture.hit(x, y, chart.width);
          if (node < 0) return;
          picture.zoomTo(node);
          changed(chart);
          props.onPick?.(node);
        },
        wheel(chart, x, _y, event) {
          if (event.ctrlKey || event.metaKey) {
            picture.zoomAt(x / chart.width, Math.exp(event.deltaY * 0.004));
            changed(chart);
            return true;
          }
          if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            picture.pan(event.deltaX / chart.width);
            changed(chart);
            return true;
          }
          return false;
        },
        key(chart, event) {
          return keys(chart, picture, event, changed, props.onPick);
        },
      }}
    />
  );
}

let timer = 0;

function keys(
  chart: Chart,
  picture: FlamePicture,
  event: KeyboardEvent,
  changed: (chart: Chart) => void,
  onPick?: (node: number) => void,
): boolean {
  const { tree } = picture;
  const at = Math.max(0, picture.selected);
  const level = tree.levels[tree.depth[at]];
  const place = level.indexOf(at);
  const child = tree.levels[tree.depth[at] + 1]?.find((node) => tree.parent[node] === at) ?? -1;
  const moves: Record<string, number> = {
    ArrowDown: picture.flip ? tree.parent[at] : child,
    ArrowUp: picture.flip ? child : tree.parent[at],
    ArrowLeft: place > 0 ? level[place - 1] : -1,
    ArrowRight: place + 1 < level.length ? level[place + 1] : -1,
  };
  if (event.key in moves) {
    if (moves[event.key] >= 0) picture.selected = moves[event.key];
    const y = picture.y(tree.depth[picture.selected]);
    if (y < chart.top || y + 20 > chart.top + chart.height) chart.host.scrollTop = y - chart.height / 2;
    chart.redraw();
    return true;
  }
  const zooms: Record<string, () => void> = {
    Enter: () => {
      picture.zoomTo(at);
      onPick?.(at);
    },
    Escape: () => picture.zoomTo(0),
    "+": () => picture.zoomAt(0.5, 0.7),
    "=": () => picture.zoomAt(0.5, 0.7),
    "-": () => picture.zoomAt(0.5, 1.4),
    w: () => picture.zoomAt(0.5, 0.7),
    s: () => picture.zoomAt(0.5, 1.4),
    a: () => picture.pan(-0.15),
    d: () => picture.pan(0.15),
    "0": () => picture.zoomTo(0),
  };
  if (!zooms[event.key] || event.ctrlKey || event.metaKey) return false;
  zooms[event.key]();
  changed(chart);
  return true;
}
