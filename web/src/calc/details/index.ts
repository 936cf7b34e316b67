// Selection → what the panel shows of it, and what the arrow keys and ‹ › lead to.

import type { Model } from "../../data/model";
import type { RowKind, Selection } from "../../data/selection";
import type { Insight } from "../../data/facts";
import type { Measure } from "../weights";
import { ofCall, ofKernel, ofLaunch } from "./call";
import { ofGap } from "./gap";
import { ofSample, ofStep, ofThread } from "./moment";
import { ofFunction, ofKernelName, ofLine, ofModule, ofOperator, type Range } from "./named";
import type { Details } from "./types";

export function detailsOf(model: Model, selection: Selection, range: Range, measure: Measure): Details | null {
  if ("name" in selection) {
    const { name } = selection;
    switch (selection.kind) {
      case "function": return ofFunction(model, name, measure, range);
      case "opname": return ofOperator(model, name, range);
      case "kname": return ofKernelName(model, name);
      case "module": return ofModule(model, name, range);
      case "line": return ofLine(model, name, range);
    }
  }
  switch (selection.kind) {
    case "op": return ofCall(model, selection.row);
    case "kernel": return ofKernel(model, selection.row);
    case "launch": return ofLaunch(model, selection.row);
    case "sample": return ofSample(model, selection.row);
    case "thread": return ofThread(model, selection.row);
    case "step": return ofStep(model, selection.row);
    case "gap": return ofGap(model, selection.row);
  }
}

// The one before or after it in time; null at either end.
export function siblingOf(details: Details, kind: RowKind, by: -1 | 1): Selection | null {
  const { siblings } = details;
  const at = siblings ? siblings.at + by : -1;
  return siblings && at >= 0 && at < siblings.list.length ? { kind, row: siblings.list[at] } : null;
}

// The card that concerns a thing: by its line, or by a name that is in the card's evidence.
export function cardOf(model: Model, details: Details): { card: Insight; number: number } | null {
  const cards = model.facts.insights ?? [];
  const names = new Set(details.names.filter((name) => name.length > 2));
  const number = cards.findIndex((card) => {
    const seen = Array.isArray(card.evidence) ? card.evidence : [];
    if (details.place && card.file === details.place.file && card.line === details.place.line) return true;
    return seen.some((e) => (e.name && names.has(e.name)) || (e.file && details.place && e.file === details.place.file && e.line === details.place.line));
  });
  return number < 0 ? null : { card: cards[number], number };
}
