// The recording as the views see it: typed columns with names, and a few
// arrays derived once (category of each sample, rows of each thread).
// The orders of LAYERS, STATES, WORK, KINDS and GPU_WORK are those of the writer.

import type { Column, Payload } from "./payload";
import { findSteps, type Step } from "../calc/steps";
import type { Facts } from "./facts";
import { COLUMNS, ROWS, type Answers } from "./answers";

export const LAYERS = ["python", "module", "op", "native", "jit", "kernel", "gpu", "label"] as const;
// One word and one colour (sonde/layers.json) for one thing, in every view: a native function has those of its category.
export const LAYER_WORDS = ["Python", "module", "operator", "native code", "compute kernel", "operating system", "GPU kernel", "other"];
const NATIVE = 3;
export const STATES = ["running", "spinning", "imbalance", "waiting"] as const;
export const KINDS = ["op", "annotation", "python", "module", "backward", "compiled"] as const;
export const GPU_WORK = ["compute", "communication", "copy", "sync", "other"] as const;
export const CATEGORIES = ["python", "framework", "operator", "kernel", "other", "system", "spin", "wait"] as const;
export const CATEGORY_WORDS = ["Python", "framework", "operator", "compute kernel", "native code", "operating system", "busy-waiting", "waiting"];
export const SPIN = 6;
export const WAIT = 7;
// The order in which bars and legends show the categories.
export const CATEGORY_ORDER = [0, 1, 2, 3, 4, 5, 6, 7];
export const CATEGORY_MEANING = [
  "Python: the interpreter ran Python code",
  "framework: dispatcher, autograd engine and bindings, outside any operator",
  "operator: inside an operator, but not in its kernel: checks, allocation, set-up",
  "compute kernel: arithmetic: generated code, BLAS, oneDNN, vectorised loops",
  "native code: other libraries",
  "operating system: the kernel, on behalf of the program: page faults, system calls",
  "busy-waiting: pool workers without work; uses a core, does nothing",
  "waiting: not on a CPU: locks, input, sleep, queues",
];

// What a function is drawn and called as: its layer, and of native code what it is for.
export interface Drawn {
  layer: number; // index into LAYERS
  work?: number; // of a native function: index into CATEGORIES
}

export const drawnWord = (what: Drawn): string => (what.layer === NATIVE && what.work !== undefined ? CATEGORY_WORDS[what.work] : LAYER_WORDS[what.layer]);

export function drawnFill(what: Drawn, fills: { layer: string[]; category: string[] }): string {
  return what.layer === NATIVE && what.work !== undefined ? fills.category[what.work] : fills.layer[what.layer];
}

export interface Actor {
  id: number;
  process: number;
  tid: number;
  kind: string;
  name: string;
}

export class Model {
  readonly facts: Facts;
  readonly strings: string[];
  readonly duration: number;
  readonly threads: Actor[];
  readonly threadById = new Map<number, Actor>();
  readonly steps: Step[];
  readonly warmup: number;
  readonly category: Uint8Array;
  readonly slot: number;
  private readonly tables: Payload["tables"];
  private readonly answers = new Map<string, object>();
  private threadSamples?: Map<number, Int32Array>;

  constructor(payload: Payload) {
    this.facts = payload.facts;
    this.strings = payload.strings;
    this.tables = payload.tables;
    this.duration = Math.max(1, payload.facts.duration_ns ?? 1);
    this.slot = payload.facts.kept?.profile?.slot_ns ?? 1;
    this.threads = this.readThreads();
    for (const thread of this.threads) this.threadById.set(thread.id, thread);
    const found = findSteps(this.answer("steps"), payload.facts.origin_ns ?? 0);
    this.steps = found.steps;
    this.warmup = found.warmup;
    this.category = this.categorise();
  }

  rows(table: string): number {
    return this.tables[table]?.rows ?? 0;
  }

  column(table: string, column: string): Column {
    const found = this.tables[table]?.columns[column];
    if (!found) throw new Error(`the page has no column ${table}.${column}`);
    return found;
  }

  text(code: number): string {
    return code < 0 ? "" : (this.strings[code] ?? "");
  }

  has(...tables: string[]): boolean {
    return tables.some((table) => this.rows(table) > 0);
  }

  // What a view of `sonde show` says of the whole recording; null when the recording could not tell.
  answer<Name extends Exclude<keyof Answers, "ops">>(name: Name): Answers[Name] | null {
    return this.read(name, this.facts.answers?.[name], `answer.${name}`) as Answers[Name] | null;
  }

  operators(by: string): Answers["ops"][string] | null {
    return this.read("ops", this.facts.answers?.ops?.[by], `answer.ops.${by}`) as Answers["ops"][string] | null;
  }

  private read(name: keyof Answers, facts: object | null | undefined, table: string): unknown {
    if (!facts || !(name in COLUMNS)) return facts ?? null;
    const known = this.answers.get(table);
    if (known) return known;
    const tabular = name as keyof typeof COLUMNS;
    const found = { ...facts, [ROWS[tabular]]: this.answerRows(table, COLUMNS[tabular]) };
    this.answers.set(table, found);
    return found;
  }

  // Text is codes of strings; a time in ms comes as whole ns, unless some are unknown.
  private answerRows(table: string, columns: readonly { key: string; kind: string; unit: string }[]): object[] {
    const count = this.rows(table);
    const out = Array.from({ length: count }, () => ({}) as Record<string, unknown>);
    for (const { key, kind, unit } of columns) {
      const column = this.column(table, key);
      const whole = unit === "ms" && this.tables[table].specs[key] === "int" ? 1e6 : 1;
      for (let i = 0; i < count; i++) {
        const value = column[i];
        out[i][key] = kind === "text" ? (value < 0 ? null : this.text(value)) : kind === "flag" ? value > 0 : Number.isNaN(value) ? null : value / whole;
      }
    }
    return out;
  }

  // Rows of `samples` of each thread, in time order.
  samplesOf(thread: number): Int32Array {
    if (!this.threadSamples) {
      const column = this.column("samples", "thread");
      const counts = new Map<number, number>();
      for (let i = 0; i < column.length; i++) counts.set(column[i], (counts.get(column[i]) ?? 0) + 1);
      this.threadSamples = new Map();
      const filled = new Map<number, number>();
      for (const [id, count] of counts) {
        this.threadSamples.set(id, new Int32Array(count));
        filled.set(id, 0);
      }
      for (let i = 0; i < column.length; i++) {
        const at = filled.get(column[i])!;
        this.threadSamples.get(column[i])![at] = i;
        filled.set(column[i], at + 1);
      }
    }
    return this.threadSamples.get(thread) ?? new Int32Array(0);
  }

  threadLabel(id: number): string {
    const thread = this.threadById.get(id);
    if (!thread) return id < 0 ? "process" : `thread ${id}`;
    return thread.name || `${thread.kind || "thread"} ${thread.tid}`;
  }

  private readThreads(): Actor[] {
    const list: Actor[] = [];
    const rows = this.rows("threads");
    for (let i = 0; i < rows; i++) {
      list.push({
        id: this.column("threads", "thread")[i],
        process: this.column("threads", "process")[i],
        tid: this.column("threads", "tid")[i],
        kind: this.text(this.column("threads", "kind")[i]),
        name: this.text(this.column("threads", "name")[i]),
      });
    }
    return list;
  }

  private categorise(): Uint8Array {
    const rows = this.rows("samples");
    const out = new Uint8Array(rows);
    if (!rows) return out;
    const state = this.column("samples", "state");
    const stack = this.column("samples", "stack");
    const work = this.column("stacks", "work");
    for (let i = 0; i < rows; i++) {
      out[i] = state[i] === 3 ? WAIT : state[i] > 0 ? SPIN : work[stack[i]];
    }
    return out;
  }
}
