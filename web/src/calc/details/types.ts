// What the panel shows of a selection: filled by one function per kind of thing, drawn by one component.

import type { Selection } from "../../data/selection";
import type { Measure } from "../weights";

// One station of the way from a line of Python to the kernel.
export interface ChainLink {
  layer: "line" | "module" | "operator" | "launch" | "queue" | "kernel" | "function";
  text: string;
  note: string; // time, shapes, count
  selection: Selection | null; // what a click selects
  here: boolean; // the selected thing itself
}

export interface Relative {
  name: string;
  layer: number; // index into LAYERS; -1: none
  work?: number; // of a native function: index into CATEGORIES
  value: number;
  selection: Selection | null;
}

export interface Relatives {
  title: string;
  rows: Relative[];
  whole: number; // what shares are of
  unit: "time" | "bytes";
}

export interface Details {
  what: string; // its kind in words
  title: string;
  full: string; // the whole name, when the title is short for it
  span: [number, number] | null; // its time
  facts: [string, string, string?][]; // name, value, meaning
  chain: ChainLink[];
  callers: Relatives | null;
  callees: Relatives | null;
  siblings: { list: ArrayLike<number>; at: number; of: string } | null;
  place: { file: string; line: number } | null;
  names: string[]; // by which a card or a search finds it
  flame: { measure: Measure; name: string } | null;
  launch: number; // row of its launch, or -1
  thread: number;
  stack: string[]; // of a sample: outermost first
}

export function blank(what: string, title: string): Details {
  return {
    what, title, full: "", span: null, facts: [], chain: [], callers: null, callees: null, siblings: null, place: null,
    names: [title], flame: null, launch: -1, thread: -1, stack: [],
  };
}
