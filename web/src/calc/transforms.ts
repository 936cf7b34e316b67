// What a reader did to a flame, step by step, and can undo: look only below a function, leave its stacks out, or count it
// for its caller. In the address: flame.path=focus:name@file|drop:name@file

import type { Label } from "./source";

export type TransformKind = "focus" | "drop" | "fold";
export interface Transform {
  kind: TransformKind;
  id: string; // name@file
}

export const TRANSFORM_WORDS: Record<TransformKind, string> = { focus: "only", drop: "without", fold: "folded" };

export function readTransforms(word: string): Transform[] {
  return word.split("|").flatMap((part) => {
    const found = /^(focus|drop|fold):(.+)$/.exec(part);
    return found ? [{ kind: found[1] as TransformKind, id: found[2] }] : [];
  });
}

export function transformsWord(list: Transform[]): string | null {
  return list.length ? list.map(({ kind, id }) => `${kind}:${id.replace(/\|/g, "¦")}`).join("|") : null;
}

// Per node: 0 it is drawn, 1 its time counts for the node above, 2 its stacks are left out; and whether the tree begins below it.
export function applied(list: Transform[], parent: ArrayLike<number>, key: ArrayLike<number>, labels: Label[]): { state: Uint8Array; inside: Uint8Array } {
  const ids = labels.map((label) => `${label.name}@${label.file || label.library}`.replace(/\|/g, "¦"));
  const wanted = (kind: TransformKind) => new Set(list.filter((t) => t.kind === kind).map((t) => t.id));
  const [drop, fold] = [wanted("drop"), wanted("fold")];
  const focus = list.filter((t) => t.kind === "focus").map((t) => t.id);
  const state = new Uint8Array(parent.length);
  const inside = new Uint8Array(parent.length); // how many of the focuses, outermost first, are on the way to it
  for (let i = 0; i < parent.length; i++) {
    const above = parent[i] >= 0 ? parent[i] : -1;
    const id = ids[key[i]];
    state[i] = (above >= 0 && state[above] === 2) || drop.has(id) ? 2 : fold.has(id) ? 1 : 0;
    const reached = above >= 0 ? inside[above] : 0;
    inside[i] = reached < focus.length && focus[reached] === id ? reached + 1 : reached;
  }
  for (let i = 0; i < parent.length; i++) inside[i] = inside[i] >= focus.length ? 1 : 0;
  return { state, inside };
}
