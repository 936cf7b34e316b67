// An interactive flame picture: hover, zoom by click or wheel, keys, search
// highlight. Used by the Flame, Sandwich and Diff views.

import { useMemo } from "preact/hooks";
import { Canvas } from "./canvas";
import { keyZoom, useZoom, wheelZoom } from "./zoom";
import { showTooltip, hideTooltip, type Lines } from "./tooltip";
import { FlamePicture } from "../draw/flame";
import type { Chart } from "../draw/chart";
import type { Tree } from "../calc/tree";
import type { Matcher } from "../calc/search";
import type { Theme } from "../draw/theme";
import * as format from "../calc/format";
import { drawnWord } from "../data/model";

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
  const changed = useZoom(picture, props.zoom ?? "", (word) => props.onZoom?.(word));
  picture.flip = props.flip ?? false;
  picture.colour = props.colour ?? "layer";
  picture.diff = props.diff ?? null;
  picture.matches = matches;
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
    lines.push(["layer", drawnWord(label)]);
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
          if (!wheelZoom(picture, event, chart.width, x / chart.width)) return false;
          changed(chart);
          return true;
        },
        zoomed: changed,
        key(chart, event) {
          return keys(chart, picture, event, changed, props.onPick);
        },
      }}
    />
  );
}

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
    if (moves[event.key] >= 0) {
      picture.selected = moves[event.key];
      onPick?.(picture.selected);
    }
    const y = picture.y(tree.depth[picture.selected]);
    if (y < chart.top || y + 20 > chart.top + chart.height) chart.host.scrollTop = y - chart.height / 2;
    chart.redraw();
    return true;
  }
  const plain = !event.ctrlKey && !event.metaKey;
  if (event.key === "Enter" && plain) {
    picture.zoomTo(at);
    onPick?.(at);
  } else if (event.key === "Escape" && picture.word) picture.reset();
  else if (!keyZoom(picture, event)) return false;
  changed(chart);
  return true;
}
