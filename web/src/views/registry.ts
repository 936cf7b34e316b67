// All views, in tab order. Adding one is a file and a line here.

import type { ComponentType } from "preact";
import type { Model } from "../data/model";
import type { ViewProps } from "../ui/context";
import { FlameView } from "./flame";
import { OperatorsView } from "./operators";
import { OverviewView } from "./overview";
import { SandwichView } from "./sandwich";
import { TimelineView } from "./timeline";

export interface ViewEntry {
  id: string;
  title: string;
  about: string;
  component: ComponentType<ViewProps>;
  empty: (model: Model) => boolean; // its tab steps back
  comparison?: boolean; // only when two recordings are compared
}

const never = () => false;

export const VIEWS: ViewEntry[] = [
  { id: "overview", title: "Overview", about: "What the program is bound by", component: OverviewView, empty: never },
  { id: "timeline", title: "Timeline", about: "Everything on one axis", component: TimelineView, empty: (m) => !m.has("samples", "ops", "kernels") },
  { id: "flame", title: "Flame", about: "Where time, waiting or memory is", component: FlameView, empty: (m) => !m.has("samples", "ops") },
  { id: "sandwich", title: "Sandwich", about: "Every function with its callers and callees", component: SandwichView, empty: (m) => !m.has("samples", "ops") },
  { id: "operators", title: "Operators", about: "Operator and module tables", component: OperatorsView, empty: (m) => !m.has("ops") },
];
