// Guide: how to read each view, with this recording's own numbers.

import { useLayoutEffect, useMemo } from "preact/hooks";
import { functionTable, wholeTable } from "../calc/functions";
import { layerSums, steadyRange } from "../calc/layers";
import { measuresOf, rowsOf } from "../calc/weights";
import { steadyStep, verdict } from "../calc/bound";
import { isOperator, opTable } from "../calc/ops";
import { deviceRows } from "../calc/gpu";
import { ExportMenu, linkItem } from "../ui/parts";
import { copyText, download } from "../ui/save";
import type { ViewProps } from "../ui/context";
import { SPIN, WAIT } from "../data/model";
import * as format from "../calc/format";

export function GuideView({ model, store, match }: ViewProps) {
  // A search leaves the chapters that hold it; on the text as rendered, numbers of the recording included.
  useLayoutEffect(() => {
    for (const chapter of document.querySelectorAll<HTMLElement>(".guide > div:not(.bar)")) {
      chapter.hidden = match.active && !match.test(chapter.textContent ?? "");
    }
  }, [match, model]);
  const facts = useMemo(() => gather(model), [model]);
  const link = (view: string, text: string, changes: Record<string, string | null> = {}) => (
    <a href={`#${view}`} onClick={(event) => { event.preventDefault(); store.open(view, changes); }}>{text}</a>
  );
  const { self, top, layers, main } = facts;
  return (
    <section class="view guide" data-view="guide">
      <div class="bar">
        <ExportMenu items={[["Copy as text", () => void copyText(document.querySelector<HTMLElement>(".guide")!.innerText)], ["Text file", () => download("guide.txt", document.querySelector<HTMLElement>(".guide")!.innerText)], linkItem(store)]} />
      </div>
      <div>
        <h2>Read it in this order</h2>
        <p>
          {link("overview", "Overview")} says what this program is bound by: <i>{facts.said}</i> {link("timeline", "Timeline")} shows when, {link("flame", "Flame")} shows where, {link("sandwich", "Sandwich")} shows who calls it, and the tables give exact numbers. Select a range in the timeline, or click a step in the overview: every view then shows only that.
        </p>
      </div>
      <div>
        <h2>Self and total</h2>
        <p>
          Self is the time in a function itself; total adds everything it called.
          {self && top ? (
            <> Here <code>{top.name}</code> has the largest total that is not everything ({format.time(top.total)}), while <code>{self.name}</code> has the largest self time ({format.time(self.self)}, {format.percent(self.share)} of {facts.whole}). Make what has large self time cheaper; call what has large total less often.</>
          ) : null}
        </p>
        <p>A box in the flame is as wide as its total; the part with nothing below it is its self time.</p>
      </div>
      <div>
        <h2>Samples and their precision</h2>
        <p>
          {facts.samples > 0
            ? <>This recording has {format.count(facts.samples)} samples. A share of 10 % is therefore known to about ± {(format.shareError(0.1, facts.samples) * 100).toFixed(1)} points; a function with fewer than ten samples is only known to exist. Each sample weighs what the thread's own clock says, so totals stay true at any rate.</>
            : <>This recording has no samples: times are those of recorded calls, exact for each call, but silent about what happened between them.</>}
        </p>
      </div>
      <div>
        <h2>Warm-up</h2>
        <p>
          The first steps allocate, compile and fill caches. {model.steps.length
            ? <>Here {model.warmup ? `the first ${model.warmup} of ${model.steps.length} steps are warm-up and are left out of medians and of time by layer` : `none of the ${model.steps.length} steps looks like warm-up`}{facts.step ? <>; a steady step takes {format.time(facts.step)}</> : null}.</>
            : <>No steps were found here. Mark them with <code>sonde.step()</code> (Python) or <code>sonde_step()</code> (C, C++).</>}
        </p>
      </div>
      <div>
        <h2>Overhead-bound or compute-bound</h2>
        <p>
          A program is compute-bound when its time is in kernels, overhead-bound when it is around them: in Python, in the framework's dispatch and in the set-up of operators.
          {facts.shares.overhead !== undefined && facts.shares.math !== undefined ? <> Here {format.percent(facts.shares.math + facts.shares.memory)} of the time is in kernels and {format.percent(facts.shares.overhead)} around them. {facts.shares.math + facts.shares.memory > facts.shares.overhead ? "Faster kernels (types, layouts, threads) pay off." : "Fewer, larger operators pay off: batching, fusion, torch.compile."}</> : null}
        </p>
      </div>
      <div>
        <h2>The dispatch chain</h2>
        <p>
          One line of Python becomes: Python function → module → operator → dispatcher → native code → kernel. {link("flame", "Flame")} hides the interpreter and the dispatcher by default; press <b>Hide runtime</b> to see them{facts.runtime > 0 ? <>. They are {format.percent(facts.runtime)} of self time here</> : null}.
        </p>
      </div>
      <div>
        <h2>Busy-waiting and waiting</h2>
        <p>
          Waiting leaves the core free; busy-waiting keeps it occupied without doing work. Workers of a thread pool busy-wait between parallel regions, and wait for the slowest of them at the end of one.
          {layers ? <> Here busy-waiting is {format.percent(layers.sums[SPIN] / Math.max(1, layers.running))} of all CPU time{main ? <>, and the main thread waits {format.percent(main.sums[WAIT] / main.all)} of the time</> : null}.</> : null}
        </p>
      </div>
      <div>
        <h2>Dead windows</h2>
        <p>
          A stretch of the timeline where no thread works and no kernel runs is time that nothing in a flame of CPU time will explain. Look at <b>Off CPU</b> in {link("flame", "Flame", { "flame.measure": "off" })} for the wait, or at the gaps of a GPU stream in {link("timeline", "Timeline")}.
          {facts.devices.length ? <> Here {facts.devices.slice(0, 3).map((d) => `GPU ${d.device} is idle ${format.percent(d.idle_ms / d.window_ms)} of ${format.time(d.window_ms * 1e6)}`).join("; ")}.</> : null}
        </p>
      </div>
      <div>
        <h2>Fusion</h2>
        <p>
          Cheap operators on large tensors are bound by memory: each reads and writes everything again. Fusing them into one kernel saves the passes.
          {facts.cheap ? <> Here <code>{facts.cheap.name}</code> ran {format.count(facts.cheap.calls ?? 0)} times for {format.time(facts.cheap.self_ms * 1e6)} in all.</> : null}
        </p>
      </div>
      <div>
        <h2>Memory</h2>
        <p>
          {link("memory", "Memory")} counts bytes that the framework's allocator has handed out; resident memory is what the system gave the process, and is larger: allocators keep freed blocks.
          {model.facts.peaks?.length ? <> The peak here is {format.bytes(model.facts.peaks[0].bytes)} on {model.facts.peaks[0].device}.</> : null}
        </p>
      </div>
      <div>
        <h2>Keys</h2>
        <ul>
          <li><kbd>/</kbd> search, <kbd>1</kbd>–<kbd>9</kbd> views, <kbd>[</kbd> <kbd>]</kbd> previous and next view (on the timeline, while searching: previous and next match), <kbd>t</kbd> light or dark, <kbd>?</kbd> this guide</li>
          <li>Click anything, or walk to it with the arrow keys: the panel below says what it is, where it comes from and who called it; <kbd>Esc</kbd> closes it</li>
          <li>Flame: arrows select, <kbd>Enter</kbd> zooms, <kbd>Esc</kbd> zooms out, <kbd>w</kbd> <kbd>s</kbd> or Ctrl+wheel zoom, <kbd>a</kbd> <kbd>d</kbd> move</li>
          <li>Timeline: drag selects, Shift+drag moves, <kbd>w</kbd> <kbd>s</kbd> <kbd>a</kbd> <kbd>d</kbd>, <kbd>z</kbd> zooms to the range, <kbd>m</kbd> sets a mark, arrows select, <kbd>Esc</kbd> clears</li>
          <li>Every view's state is in the address: copy the link and a colleague with the same file sees the same picture.</li>
        </ul>
      </div>
    </section>
  );
}

function gather(model: ViewProps["model"]) {
  const measure = measuresOf(model)[0];
  const rows = measure ? rowsOf(model, measure, { range: null, thread: -1, owners: false }) : null;
  const table = !rows ? [] : measure === "cpu" ? wholeTable(model) : functionTable(rows);
  const sum = table.reduce((total, row) => total + row.self, 0) || 1;
  const labels = rows?.source.labels ?? [];
  const named = table.filter((row) => !labels[row.key].runtime);
  const best = [...named].sort((a, b) => b.self - a.self)[0];
  const largest = [...named].sort((a, b) => b.total - a.total).find((row) => row.total < 0.8 * sum);
  const runtime = table.filter((row) => labels[row.key].runtime).reduce((total, row) => total + row.self, 0) / sum;
  const stretch = steadyRange(model);
  const main = model.threads.find((t) => t.kind === "main")?.id ?? -1;
  const sampled = model.has("samples");
  const ops = opTable(model, "name", null, -1).rows.filter((row) => isOperator(row) && /add|mul|relu|gelu|sigmoid|copy|cat|norm|dropout/i.test(row.name));
  const mainLayers = sampled && main >= 0 ? layerSums(model, stretch, main) : null;
  return {
    said: verdict(model, null).sentence,
    shares: verdict(model, null).shares,
    self: best ? { name: labels[best.key].name, self: best.self, share: best.self / sum } : null,
    top: largest ? { name: labels[largest.key].name, total: largest.total } : null,
    whole: rows?.whole ?? "",
    samples: Number(model.facts.kept?.profile?.samples ?? 0),
    step: steadyStep(model),
    layers: sampled ? layerSums(model, stretch) : null,
    main: mainLayers && mainLayers.all > 0 ? mainLayers : null,
    runtime,
    devices: deviceRows(model, null).filter((d) => d.window_ms > 0),
    cheap: ops.sort((a, b) => b.self_ms - a.self_ms)[0] ?? null,
  };
}
