// Where a tree's nodes come from: sampled stacks, nested operator calls, or
// operator calls with the GPU kernels they caused. All are prefix trees whose
// parents are numbered before their children, with a label per node.

import { KINDS, LAYERS, type Drawn, type Model } from "../data/model";

export interface Label extends Drawn {
  name: string;
  full: string;
  file: string;
  line: number;
  library: string;
  runtime: boolean;
}

export interface Source {
  parent: ArrayLike<number>;
  key: ArrayLike<number>; // label of each node
  labels: Label[];
}

const LAYER_OF_KIND = KINDS.map((kind) =>
  kind === "module" ? 1 : kind === "python" ? 0 : kind === "annotation" ? 7 : kind === "compiled" ? 4 : 2,
);

export function sampleSource(model: Model): Source {
  const rows = model.rows("functions");
  const labels: Label[] = [];
  for (let i = 0; i < rows; i++) {
    const name = model.text(model.column("functions", "name")[i]) || "(unnamed)";
    const file = model.text(model.column("functions", "file")[i]);
    labels.push({
      // A module's own code is told by its file: forty boxes named <module> say nothing.
      name: name === "<module>" && file ? `<module> ${fileTail(file)}` : name,
      full: model.text(model.column("functions", "full")[i]) || name,
      layer: model.column("functions", "layer")[i],
      work: model.column("functions", "work")[i],
      file,
      line: -1,
      library: model.text(model.column("functions", "library")[i]),
      runtime: model.column("functions", "runtime")[i] !== 0,
    });
  }
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  const key = new Int32Array(frame.length);
  for (let i = 0; i < key.length; i++) key[i] = functionOf[frame[i]];
  return { parent: model.column("stacks", "parent"), key, labels };
}

function fileTail(file: string): string {
  const parts = file.split("/");
  return parts[parts.length - 1] === "__init__.py" ? parts.slice(-2).join("/") : parts[parts.length - 1];
}

// Operator calls merged by name; `kernels` adds the GPU kernels below them.
export function opSource(model: Model, kernels: boolean): Source & { kernelNode: Int32Array } {
  const labels: Label[] = [];
  const seen = new Map<string, number>();
  const label = (name: string, layer: number, file: string, line: number, library: string): number => {
    const id = `${layer}\u0001${name}`;
    let found = seen.get(id);
    if (found === undefined) {
      found = labels.length;
      seen.set(id, found);
      labels.push({ name, full: name, layer, file, line, library, runtime: false });
    }
    return found;
  };
  const calls = model.rows("calls");
  const keyOfCall = new Int32Array(calls);
  for (let i = 0; i < calls; i++) {
    const module = model.text(model.column("calls", "module")[i]);
    const file = model.text(model.column("calls", "file")[i]);
    const kind = model.column("calls", "kind")[i];
    const name = model.text(model.column("calls", "name")[i]) || "(unnamed)";
    // "ProfilerStep#7" and its like are one region with many turns.
    keyOfCall[i] = label(kind === 1 ? name.replace(/#\d+$/, "") : name, LAYER_OF_KIND[kind], file, model.column("calls", "line")[i], module);
  }
  const nodes = model.rows("opnodes");
  const parent: number[] = Array.from(model.column("opnodes", "parent"));
  const key: number[] = new Array(nodes);
  const call = model.column("opnodes", "call");
  for (let i = 0; i < nodes; i++) key[i] = keyOfCall[call[i]];
  const kernelNode = new Int32Array(kernels ? model.rows("kernels") : 0).fill(-1);
  if (kernels) {
    const opNode = model.rows("ops") ? model.column("ops", "node") : [];
    const op = model.column("kernels", "op");
    const name = model.column("kernels", "name");
    const made = new Map<string, number>();
    for (let i = 0; i < kernelNode.length; i++) {
      const above = op[i] >= 0 ? opNode[op[i]] : -1;
      const id = `${above}:${name[i]}`;
      let node = made.get(id);
      if (node === undefined) {
        node = parent.length;
        made.set(id, node);
        parent.push(above);
        key.push(label(model.text(name[i]) || "(unnamed)", 6, "", -1, ""));
      }
      kernelNode[i] = node;
    }
  }
  return { parent: Int32Array.from(parent), key: Int32Array.from(key), labels, kernelNode };
}

export function layerName(layer: number): string {
  return LAYERS[layer] ?? "label";
}
