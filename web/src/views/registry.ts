// All views, in tab order. Adding one with a picture of its own is a file and a line here; a view whose rows are enough says
// `tab` in sonde/views, and comes with plainTabs.

import type { ComponentType } from "preact";
import { rankLines } from "../calc/ranks";
import type { Model } from "../data/model";
import type { ViewProps } from "../ui/context";
import { CompileView } from "./compile";
import { RanksView } from "./ranks";
import { DiffView } from "./diff";
import { FlameView } from "./flame";
import { GpuView } from "./gpu";
import { GuideView } from "./guide";
import { MachineView } from "./machine";
import { MemoryView } from "./memory";
import { OperatorsView } from "./operators";
import { OverviewView } from "./overview/index";
import { PrimitivesView } from "./primitives";
import { SandwichView } from "./sandwich";
import { SourceView } from "./source";
import { TimelineView } from "./timeline";
import { plainTabs } from "./plain";

export interface ViewEntry {
  id: string;
  title: string;
  about: string;
  component: ComponentType<ViewProps>;
  empty: (model: Model) => boolean; // its tab steps back
  there?: (model: Model) => boolean; // its tab is shown; always, when not told
  comparison?: boolean; // only when two recordings are compared
}

const never = () => false;

export const VIEWS: ViewEntry[] = [
  { id: "diff", title: "Diff", about: "What changed between the two", component: DiffView, empty: never, comparison: true },
  { id: "overview", title: "Overview", about: "What the program is bound by", component: OverviewView, empty: never },
  { id: "timeline", title: "Timeline", about: "Everything on one axis", component: TimelineView, empty: (m) => !m.has("samples", "ops", "kernels") },
  { id: "flame", title: "Flame", about: "Where time, waiting or memory is", component: FlameView, empty: (m) => !m.has("samples", "ops") },
  { id: "sandwich", title: "Sandwich", about: "Every function with its callers and callees", component: SandwichView, empty: (m) => !m.has("samples", "ops") },
  { id: "operators", title: "Operators", about: "Operator and module tables", component: OperatorsView, empty: (m) => !m.has("ops") },
  { id: "source", title: "Source", about: "Time per line of your files", component: SourceView, empty: (m) => !m.has("samples") && !m.facts.source?.files?.length },
  { id: "memory", title: "Memory", about: "What was held, and by whom at the peak", component: MemoryView, empty: (m) => !m.has("memory", "counters") },
  { id: "gpu", title: "GPU", about: "Devices and kernels", component: GpuView, empty: (m) => !m.has("kernels") },
  { id: "ranks", title: "Ranks", about: "Who waits for whom", component: RanksView, empty: never, there: (m) => rankLines(m).length > 1 },
  ...plainTabs(),
  { id: "compile", title: "Compile", about: "What torch.compile did, and what it cost", component: CompileView, empty: never, there: (m) => Boolean(m.answer("compile")?.regions.length || m.answer("compile")?.breaks.length) },
  { id: "primitives", title: "Primitives", about: "oneDNN and MKL calls with the roofline", component: PrimitivesView, empty: (m) => !m.has("primitives") },
  { id: "machine", title: "Machine", about: "Where and how it ran", component: MachineView, empty: never },
  { id: "guide", title: "Guide", about: "How to read this report", component: GuideView, empty: never },
];
