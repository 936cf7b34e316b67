// One sentence that says what the program is bound by, from its own numbers.
// Thresholds are plain: what fills half of the time is named.

import { WAIT, SPIN, type Model } from "../data/model";
import { percent, time } from "./format";
import { deviceRows } from "./gpu";
import { layerSums, steadyRange, topLabel } from "./layers";
import { isOperator, opTable } from "./ops";

export interface Verdict {
  bound: "kernels" | "overhead" | "waiting" | "spinning" | "gpu" | "host" | "mixed" | "unknown";
  sentence: string;
  detail: string;
}

export function verdict(model: Model, range: [number, number] | null): Verdict {
  if (model.has("kernels")) return deviceVerdict(model, range);
  if (model.has("samples")) return sampledVerdict(model, range);
  if (model.has("ops")) return callsVerdict(model, range);
  return { bound: "unknown", sentence: "This recording holds neither samples nor operator calls.", detail: "Record a program with: sonde run script.py" };
}

function sampledVerdict(model: Model, range: [number, number] | null): Verdict {
  const stretch = range ?? steadyRange(model);
  const main = model.threads.find((t) => t.kind === "main")?.id ?? -1;
  const own = layerSums(model, stretch, main);
  const every = layerSums(model, stretch);
  if (!own.all) return { bound: "unknown", sentence: "No samples fall into this range.", detail: "Choose a longer range." };
  const share = own.sums.map((v) => v / own.all);
  const overhead = share[0] + share[1] + share[2];
  const who = main >= 0 ? "the main thread" : "all threads";
  const step = steadyStep(model);
  const per = step ? ` A steady step takes ${time(step)}.` : "";
  const spin = every.running ? every.sums[SPIN] / every.running : 0;
  const spinning = spin > 0.1 ? ` Workers spin for ${percent(spin)} of all CPU time.` : "";
  if (share[WAIT] >= 0.5) {
    const where = topLabel(model, WAIT, 0, stretch, main);
    return {
      bound: "waiting",
      sentence: `Bound by waiting: ${who} is off the CPU ${percent(share[WAIT])} of the time${where ? `, mostly in ${where.name}` : ""}.`,
      detail: `Faster kernels will not help until the wait is gone.${per}${spinning}`,
    };
  }
  if (share[3] >= 0.5) {
    const top = topLabel(model, 3, 2, stretch, main);
    return {
      bound: "kernels",
      sentence: `Bound by kernels: ${percent(share[3])} of the time of ${who} is arithmetic${top ? `, most of it in ${top.name} (${percent(top.share)} of kernel time)` : ""}.`,
      detail: `Python, framework and operator set-up take ${percent(overhead)}; waiting ${percent(share[WAIT])}.${per}${spinning}`,
    };
  }
  if (overhead >= 0.5) {
    const names = ["Python", "the framework", "operator set-up"];
    const worst = [0, 1, 2].sort((a, b) => share[b] - share[a])[0];
    return {
      bound: "overhead",
      sentence: `Bound by overhead: ${who} spends ${percent(overhead)} of its time around kernels, mostly in ${names[worst]} (${percent(share[worst])}).`,
      detail: `Kernels themselves take ${percent(share[3])}: fewer and larger operators, or torch.compile, would help more than faster ones.${per}${spinning}`,
    };
  }
  if (spin >= 0.4) {
    return { bound: "spinning", sentence: `Bound by threads that wait for each other: ${percent(spin)} of all CPU time is spinning.`, detail: `Fewer threads, or larger pieces of work.${per}` };
  }
  return {
    bound: "mixed",
    sentence: `No single bound: ${who} spends ${percent(share[3])} in kernels, ${percent(overhead)} around them and ${percent(share[WAIT])} waiting.`,
    detail: `Start with the largest function in Sandwich.${per}${spinning}`,
  };
}

function deviceVerdict(model: Model, range: [number, number] | null): Verdict {
  const devices = deviceRows(model, range).filter((d) => d.window > 0);
  if (!devices.length) return { bound: "unknown", sentence: "No GPU work falls into this range.", detail: "Choose a longer range." };
  const sum = (pick: (d: (typeof devices)[0]) => number) => devices.reduce((total, d) => total + pick(d), 0);
  const window = sum((d) => d.window);
  const idle = sum((d) => d.idle) / window;
  const communication = sum((d) => d.communication - d.overlap) / window;
  const many = devices.length > 1 ? `${devices.length} GPUs are` : "The GPU is";
  const detail = `Of ${time(window)} of device window: compute ${percent(sum((d) => d.compute) / window)}, communication not hidden by compute ${percent(communication)}, copies ${percent(sum((d) => d.copy) / window)}, idle ${percent(idle)}.`;
  const copies = sum((d) => Math.max(0, d.busy - d.compute - d.communication + d.overlap)) / window;
  // The largest loss of a quarter or more names the bound, as in `sonde show gpu`.
  const worst = Math.max(idle, communication, copies);
  if (worst >= 0.25 && worst === copies) return { bound: "gpu", sentence: `Bound by copies: ${percent(copies)} of the device window only moves data.`, detail };
  if (worst >= 0.25 && worst === idle) return { bound: "host", sentence: `Bound by the host: ${many.toLowerCase().replace("gpu", "GPU")} idle ${percent(idle)} of the time between its first and last kernel.`, detail };
  if (worst >= 0.25) return { bound: "gpu", sentence: `Bound by communication: ${percent(communication)} of the device window is collectives that no compute hides.`, detail };
  return { bound: "gpu", sentence: `Bound by the GPU: ${many.toLowerCase().replace("gpu", "GPU")} busy ${percent(1 - idle)} of the time between its first and last kernel.`, detail };
}

function callsVerdict(model: Model, range: [number, number] | null): Verdict {
  const table = opTable(model, "name", range, -1);
  const rows = table.rows.filter(isOperator).sort((a, b) => b.self_ms - a.self_ms);
  const all = table.self_ms * 1e6;
  if (!all || !rows.length) return { bound: "unknown", sentence: "No operator time falls into this range.", detail: "" };
  return {
    bound: "mixed",
    sentence: `${rows[0].name} takes the most operator time: ${percent((rows[0].self_ms * 1e6) / all)} of ${time(all)}.`,
    detail: "This recording has no samples, so the time between operators cannot be told apart.",
  };
}

export function steadyStep(model: Model): number | null {
  const median = model.answer("steps")?.median_ms;
  return median ? median * 1e6 : null;
}
