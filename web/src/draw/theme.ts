// Colours of drawn things, in both themes. Text on every fill reaches WCAG AA
// (4.5:1); the unit tests compute it for each pair.

// Layers and hues are listed once for the page and for exported pictures.
import colours from "../../../sonde/layers.json";
import { CATEGORIES, KINDS, LAYERS } from "../data/model";

export interface Theme {
  dark: boolean;
  page: string;
  panel: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
  match: string;
  onFill: string; // text on layer fills
  band: string; // every second step
  warm: string; // warm-up steps
  select: string;
  veil: string; // over what is out of sight
  layer: string[]; // by index into LAYERS
  category: string[]; // by index into CATEGORIES
  gpu: string[]; // by index into GPU_WORK
  kind: string[]; // by index into KINDS
  named: typeof LIGHT; // hues by their name in sonde/layers.json
  hues: string[]; // for colouring by library or module
  worse: [number, number, number];
  better: [number, number, number];
}

const { light: LIGHT, dark: DARK } = colours;

function theme(c: typeof LIGHT, rest: Omit<Theme, "named" | "layer" | "category" | "gpu" | "kind">): Theme {
  const category: Record<(typeof CATEGORIES)[number], string> = {
    python: c.blue, framework: c.slate, operator: c.teal, kernel: c.orange, other: c.sand, system: c.mauve, spin: c.red, wait: c.grey,
  };
  const kind: Record<(typeof KINDS)[number], string> = {
    op: c.teal, annotation: c.grey, python: c.blue, module: c.violet, backward: c.mint, compiled: c.orange,
  };
  return {
    ...rest,
    named: c,
    layer: LAYERS.map((name) => c[colours.hue_of[name] as keyof typeof c]),
    category: CATEGORIES.map((name) => category[name]),
    gpu: [c.green, c.violet, c.sand, c.grey, c.grey],
    kind: KINDS.map((name) => kind[name]),
  };
}

export const LIGHT_THEME = theme(LIGHT, {
  dark: false, page: "#fbfbfa", panel: "#ffffff", line: "#e3e4e7", text: "#1d2026", faint: "#5d6470",
  accent: "#1f5fbf", match: "#ffd84d", onFill: "#1a1c20", band: "#f1f2f4", warm: "#faf1e4", select: "#1f5fbf22", veil: "#fbfbfaaa",
  hues: ["#9dc0f2", "#84cfc0", "#f2b27a", "#c3b3f0", "#a9d48a", "#e0b4c6", "#e0d3aa", "#9fd3e8", "#eb9a94", "#c9d48a", "#d8bfe0", "#b9c2ce"],
  worse: [226, 112, 102], better: [104, 152, 226],
});
export const DARK_THEME = theme(DARK, {
  dark: true, page: "#15171b", panel: "#1b1e23", line: "#30343c", text: "#e6e8ec", faint: "#a0a7b3",
  accent: "#7fb0ff", match: "#775e00", onFill: "#f2f3f5", band: "#1d2026", warm: "#2a2318", select: "#7fb0ff2e", veil: "#15171baa",
  hues: ["#2d5a96", "#1d6f63", "#8f4f16", "#5a4b97", "#416f27", "#77425b", "#675a32", "#1f6680", "#943a36", "#5d6a1d", "#6b4a76", "#4a5563"],
  worse: [150, 50, 44], better: [44, 86, 160],
});

export function hueOf(theme: Theme, name: string): string {
  if (!name) return theme.layer[7];
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return theme.hues[(hash >>> 0) % theme.hues.length];
}

// Contrast ratio of two #rrggbb colours by WCAG 2.
export function contrast(a: string, b: string): number {
  const light = [a, b].map((colour) => {
    const [r, g, blue] = [1, 3, 5].map((at) => {
      const value = parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * blue;
  });
  return (Math.max(...light) + 0.05) / (Math.min(...light) + 0.05);
}
