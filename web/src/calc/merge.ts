// Equal layers of a model as one: blocks.0.attn, blocks.1.attn, … become `blocks.*.attn ×24`. Done on the labels, so that
// trees, tables and details of merged layers count alike.

import type { Label, Source } from "./source";

const MODULE = 1;
const known = new WeakMap<Source, Source>();

export function mergedLayers(source: Source): Source {
  let found = known.get(source);
  if (!found) known.set(source, (found = merge(source)));
  return found;
}

function merge(source: Source): Source {
  const groups = new Map<string, number[]>();
  source.labels.forEach((label, key) => {
    if (label.layer !== MODULE || !/(^|\.)\d+(\.|$)/.test(label.name)) return;
    const name = label.name.replace(/(^|\.)\d+(?=\.|$)/g, "$1*");
    groups.set(name, [...(groups.get(name) ?? []), key]);
  });
  const to = Int32Array.from(source.labels.keys());
  const labels: Label[] = [...source.labels];
  for (const [name, keys] of groups) {
    if (keys.length < 2) continue;
    for (const key of keys) to[key] = labels.length;
    labels.push({ ...source.labels[keys[0]], name: `${name} ×${keys.length}`, full: keys.map((key) => source.labels[key].name).join(", ") });
  }
  return labels.length === source.labels.length ? source : { ...source, key: Int32Array.from(source.key, (key) => to[key]), labels };
}
