// What is shown right now, and the URL hash that says so. Every choice a user
// makes is a short word in the hash, so a copied link opens the same picture:
//
//   #flame?range=120000000-340000000&q=gelu&flame.measure=cpu

import { selectionWord, type Selection } from "./selection";
import { useEffect, useState } from "preact/hooks";

export class Store {
  view = "overview";
  params = new Map<string, string>();
  private listeners = new Set<() => void>();

  constructor(hash: string) {
    this.read(hash);
  }

  read(hash: string): void {
    const text = hash.replace(/^#/, "");
    const at = text.indexOf("?");
    this.view = decodeURIComponent(at < 0 ? text : text.slice(0, at)) || "overview";
    this.params = new Map(new URLSearchParams(at < 0 ? "" : text.slice(at + 1)));
  }

  hash(): string {
    const search = new URLSearchParams([...this.params].sort(([a], [b]) => (a < b ? -1 : 1))).toString();
    return `#${encodeURIComponent(this.view)}${search ? `?${search}` : ""}`;
  }

  get(name: string, otherwise: string): string {
    return this.params.get(name) ?? otherwise;
  }

  flag(name: string, otherwise: boolean): boolean {
    return this.get(name, otherwise ? "1" : "0") === "1";
  }

  number(name: string, otherwise: number): number {
    const value = Number(this.params.get(name) ?? NaN);
    return Number.isFinite(value) ? value : otherwise;
  }

  get range(): [number, number] | null {
    const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(this.params.get("range") ?? "");
    return match ? [Number(match[1]), Number(match[2])] : null;
  }

  // Null removes a word. `push` adds a step to the browser's history.
  set(changes: Record<string, string | null>, push = false): void {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) this.params.delete(name);
      else this.params.set(name, value);
    }
    this.write(push);
  }

  setRange(range: [number, number] | null): void {
    this.set({ range: range && `${Math.max(0, Math.round(range[0]))}-${Math.max(0, Math.round(range[1]))}` });
  }

  // Null closes the panel. What is selected outlives a change of the view.
  select(selection: Selection | null, changes: Record<string, string | null> = {}): void {
    this.set({ sel: selection && selectionWord(selection), ...changes });
  }

  open(view: string, changes: Record<string, string | null> = {}): void {
    this.view = view;
    this.set(changes, true);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  notify(): void {
    for (const listener of [...this.listeners]) listener();
  }

  private write(push: boolean): void {
    const hash = this.hash();
    if (typeof history !== "undefined" && hash !== location.hash) {
      if (push) history.pushState(null, "", hash);
      else history.replaceState(null, "", hash);
    }
    this.notify();
  }
}

export function useStore(store: Store): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => store.subscribe(() => setTurn((n) => n + 1)), [store]);
  return turn;
}
