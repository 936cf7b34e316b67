// The flame picture: rows of boxes, widths are weights. Only what is visible
// and at least half a pixel wide is drawn; the rest of a row is one thin run.

import { nodeAt, type Tree } from "../calc/tree";
import { fit, type Pen } from "./pen";
import { Axis } from "./axis";
import type { Picture } from "./chart";
import { drawnFill } from "../data/model";
import { hueOf, type Theme } from "./theme";

export const ROW = 20;
const TEXT = 11.5;

export class FlamePicture extends Axis implements Picture { // of weight
  flip = false; // root at the bottom
  colour: "layer" | "library" | "module" | "diff" = "layer";
  matches: Uint8Array | null = null;
  hover = -1;
  selected = -1;
  diff: ((node: number) => number) | null = null; // -1 better … 1 worse
  constructor(readonly tree: Tree) {
    super(0, Math.max(tree.sum, 1e-9), tree.sum * 1e-9);
  }

  get rows(): number {
    return this.tree.levels.length;
  }

  height(): number {
    return this.rows * ROW;
  }

  depthAt(y: number, width: number): number {
    void width;
    const row = Math.floor(y / ROW);
    return this.flip ? this.rows - 1 - row : row;
  }

  y(depth: number): number {
    return (this.flip ? this.rows - 1 - depth : depth) * ROW;
  }

  hit(x: number, y: number, width: number): number {
    const position = this.from + (x / width) * (this.to - this.from);
    return nodeAt(this.tree, this.depthAt(y, width), position);
  }

  zoomTo(node: number): void {
    this.show(this.tree.x[node], this.tree.total[node]);
    this.selected = node;
  }

  fill(node: number, theme: Theme): string {
    const label = this.tree.labels[this.tree.label[node]];
    if (this.colour === "diff" && this.diff) return mix(theme, this.diff(node));
    if (this.colour === "library") return hueOf(theme, label.library || label.file);
    if (this.colour === "module") return hueOf(theme, this.moduleOf(node));
    return drawnFill(label, theme);
  }

  private moduleOf(node: number): string {
    for (let at = node; at > 0; at = this.tree.parent[at]) {
      const label = this.tree.labels[this.tree.label[at]];
      if (label.layer === 1) return label.name;
    }
    return "";
  }

  draw(pen: Pen, width: number, top: number, height: number, theme: Theme): void {
    const { tree } = this;
    const scale = width / (this.to - this.from);
    const first = Math.max(0, Math.floor(top / ROW));
    const last = Math.min(this.rows - 1, Math.floor((top + height) / ROW));
    for (let row = first; row <= last; row++) {
      const depth = this.flip ? this.rows - 1 - row : row;
      const nodes = tree.levels[depth];
      const y = row * ROW - top;
      let i = lowerBound(nodes, tree, this.from);
      while (i < nodes.length) {
        const node = nodes[i];
        if (tree.x[node] >= this.to) break;
        const left = Math.max(0, (tree.x[node] - this.from) * scale);
        const right = Math.min(width, (tree.x[node] + tree.total[node] - this.from) * scale);
        const wide = right - left;
        if (wide < 0.5) {
          // Jump to the first node that begins in a later half pixel.
          pen.rect(left, y, 0.5, ROW - 1, this.fill(node, theme));
          const next = lowerBound(nodes, tree, this.from + (left + 0.5) / scale);
          i = Math.max(i + 1, next);
          continue;
        }
        this.box(pen, node, left, y, wide, theme);
        i++;
      }
    }
  }

  private box(pen: Pen, node: number, x: number, y: number, wide: number, theme: Theme): void {
    const label = this.tree.labels[this.tree.label[node]];
    const matched = this.matches?.[this.tree.label[node]] === 1;
    const gap = wide > 3 ? 1 : 0;
    const dim = this.matches && !matched;
    const fill = matched ? theme.match : this.fill(node, theme);
    pen.rect(x, y, wide - gap, ROW - 1, dim ? fade(fill, theme) : fill);
    if (node === this.selected || node === this.hover) pen.frame(x, y, wide - gap, ROW - 1, theme.text, 1.5);
    if (wide > 28) {
      const shown = fit(prefix(label.layer) + label.name, wide - 9, TEXT);
      if (shown) pen.text(shown, x + 4, y + 13.5, dim ? theme.faint : theme.onFill, TEXT);
    }
  }
}

function prefix(layer: number): string {
  return layer === 1 ? "◇ " : "";
}

function lowerBound(nodes: Int32Array, tree: Tree, position: number): number {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const node = nodes[middle];
    if (tree.x[node] + tree.total[node] <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A fill that steps back while others are matched.
export function fade(fill: string, theme: Theme): string {
  const parse = (c: string) => [1, 3, 5].map((at) => parseInt(c.slice(at, at + 2), 16));
  if (!fill.startsWith("#")) return fill;
  const [a, b] = [parse(fill), parse(theme.panel)];
  return `#${a.map((v, i) => Math.round(v * 0.3 + b[i] * 0.7).toString(16).padStart(2, "0")).join("")}`;
}

function mix(theme: Theme, value: number): string {
  const base = theme.dark ? [58, 63, 72] : [226, 228, 232];
  const goal = value > 0 ? theme.worse : theme.better;
  const share = Math.min(1, Math.abs(value));
  return `#${base.map((v, i) => Math.round(v + (goal[i] - v) * share).toString(16).padStart(2, "0")).join("")}`;
}
