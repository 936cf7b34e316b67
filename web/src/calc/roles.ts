// What a thread is for, in words, and whether its idleness means anything. A worker of a pool that nobody gave work to
// sleeps or spins in its pool's own wait: that is how pools rest, and costs nothing but, when it spins, a core.

import type { Model } from "../data/model";

export interface Role {
  words: string;
  idle: boolean; // did next to nothing
  why: string; // of an idle one: what it waits for, and whether that is harmless
}

// An idle thread worked less than this share of its time, and of the run.
const IDLE = 0.01;

const WORDS: Record<string, string> = {
  main: "main thread", python: "Python thread", omp: "OpenMP worker", autograd: "autograd thread", sonde: "Sonde's own thread",
  dataloader: "data loader", interop: "inter-op pool worker", native: "native thread",
};
const POOL = /blas_thread_server|gomp_|omp|pool|worker|thread_?loop|wait.*work|condvar|cond_wait|futex/i;

const known = new WeakMap<Model, Map<number, Role>>();

export function roleOf(model: Model, thread: number): Role {
  let roles = known.get(model);
  if (!roles) known.set(model, (roles = new Map()));
  let role = roles.get(thread);
  if (!role) roles.set(thread, (role = judge(model, thread)));
  return role;
}

function judge(model: Model, thread: number): Role {
  const actor = model.threadById.get(thread);
  const kind = actor?.kind ?? "";
  const own = model.samplesOf(thread);
  const place = own.length ? waitingPlace(model, own) : "";
  const blas = /blas_thread_server|blas_/i.test(place);
  const words = blas && (kind === "native" || !kind) ? "BLAS worker" : (WORDS[kind] ?? (kind ? `${kind} thread` : "thread"));
  if (kind === "main" || kind === "sonde" || !own.length) return { words, idle: false, why: "" };
  const told = model.answer("threads")?.rows.find((row) => row.thread === thread);
  const worked = told ? told.running_ms * 1e6 : 0;
  const spun = told ? (told.spinning_ms + told.imbalance_ms) * 1e6 : 0;
  const all = told ? (told.on_cpu_ms + told.waiting_ms) * 1e6 : 0;
  if (!told || worked > IDLE * all || worked > IDLE * model.duration || spun > IDLE * model.duration) return { words, idle: false, why: "" };
  const pool = kind === "omp" || kind === "interop" || blas || POOL.test(place);
  const why = pool ? `idle pool thread, harmless: it sleeps until it gets work${place ? ` (in ${place})` : ""}` : `idle: it waits${place ? ` in ${place}` : ""}`;
  return { words: pool ? "idle pool thread" : `idle ${words}`, idle: true, why };
}

// The native function in which the thread waited longest.
function waitingPlace(model: Model, rows: Int32Array): string {
  const [stack, weight, state] = ["stack", "weight", "state"].map((name) => model.column("samples", name));
  const sums = new Map<number, number>();
  for (const row of rows) if (state[row] === 3) sums.set(stack[row], (sums.get(stack[row]) ?? 0) + weight[row]);
  let best = -1;
  for (const [node, value] of sums) if (best < 0 || value > sums.get(best)!) best = node;
  const [parent, frame] = ["parent", "frame"].map((name) => model.column("stacks", name));
  const functionOf = model.column("frames", "function");
  const system = /^(lib(c|pthread)\b|ld-)/;
  for (let node = best; node >= 0; node = parent[node]) {
    const f = functionOf[frame[node]];
    const name = model.text(model.column("functions", "name")[f]);
    const library = model.text(model.column("functions", "library")[f]).split("/").pop() ?? "";
    if (name && !system.test(library) && !/^(0x|\(|\[)/.test(name) && ![0, 5].includes(model.column("functions", "layer")[f])) return name;
  }
  return "";
}
