// Timeline: everything on one axis. Drag to select a range that every other
// view then follows.

import { useMemo, useRef } from "preact/hooks";
import { buildLanes } from "../calc/lanes";
import { nameCode } from "../draw/slices";
import { TimelinePicture, type Hit } from "../draw/timeline";
import type { Chart } from "../draw/chart";
import { Canvas } from "../ui/canvas";
import { Choice, Empty, ExportMenu, Legend, linkItem, pictureItems, Toggle } from "../ui/parts";
import { csv, download } from "../ui/save";
import { hideTooltip, showTooltip, type Lines } from "../ui/tooltip";
import { keyZoom, useZoom, wheelZoom } from "../ui/zoom";
import type { ViewProps } from "../ui/context";
import { CATEGORY_MEANING, CATEGORY_ORDER, GPU_WORK, KINDS, SPIN, WAIT, type Model } from "../data/model";
import * as format from "../calc/format";

const NAMES = ["Python", "Framework", "Operator", "Kernel", "Other", "Spin", "Wait"];

export function TimelineView({ model, store, theme, match }: ViewProps) {
  const lanes = useMemo(() => buildLanes(model), [model]);
  const picture = useMemo(() => new TimelinePicture(model, lanes), [model, lanes]);
  const chart = useRef<Chart | null>(null);
  const moved = useZoom(picture, store.get("timeline.shown", ""), (word) => store.set({ "timeline.shown": word }));
  const codes = useMemo(() => (match.active ? Uint8Array.from(model.strings, (s) => (match.test(s) ? 1 : 0)) : null), [model, match]);
  if (!lanes.length) {
    return (
      <Empty title="Nothing with a time" command="sonde run your_script.py">
        The timeline shows samples, operator calls and GPU work; this recording has none of them.
      </Empty>
    );
  }
  picture.selection = store.range;
  picture.matchName = codes ? (code) => code >= 0 && codes[code] === 1 : null;
  picture.arrows = store.flag("timeline.arrows", true);
  picture.colour = store.get("timeline.colour", "layer") as "layer" | "state";
  const changed = () => moved(chart.current);
  const toSelection = () => {
    const range = store.range;
    if (!range) return;
    const room = (range[1] - range[0]) * 0.05;
    picture.show(range[0] - room, range[1] - range[0] + 2 * room);
    changed();
  };
  const hasGpu = model.has("kernels");
  return (
    <section class="view" data-view="timeline">
      <div class="bar">
        <span class="note" data-role="timeline-note">
          Drag to select · Ctrl+wheel or W S to zoom, A D to move · double click a call to zoom to it
        </span>
        {store.range && (
          <button type="button" class="toggle" onClick={toSelection}>
            Zoom to selection
          </button>
        )}
        <button
          type="button"
          class="toggle"
          onClick={() => {
            picture.reset();
            changed();
          }}
        >
          Show all
        </button>
        {model.has("samples") && (
          <Choice
            label="Colour"
            value={picture.colour}
            options={[["layer", "Layer", "colour samples by what ran"], ["state", "State", "colour samples by running, busy-waiting or waiting"]]}
            onChange={(v) => store.set({ "timeline.colour": v === "layer" ? null : v })}
          />
        )}
        {hasGpu && (
          <Toggle name="arrows" on={picture.arrows} title="Arrows from launch to kernel" onChange={(on) => store.set({ "timeline.arrows": on ? null : "0" })}>
            Arrows
          </Toggle>
        )}
        <ExportMenu
          items={[
            ...pictureItems("timeline", () => chart.current),
            ["CSV of the slices shown", () => download("timeline.csv", sliceCsv(model, picture), "text/csv")],
            linkItem(store),
          ]}
        />
      </div>
      <div class="bar under">
        {model.has("samples") && (
          <Legend
            items={
              picture.colour === "state"
                ? [["Running", theme.layer[2]], ["Spin", theme.category[SPIN], CATEGORY_MEANING[SPIN]], ["Wait", theme.category[WAIT], CATEGORY_MEANING[WAIT]]]
                : CATEGORY_ORDER.map((c) => [NAMES[c], theme.category[c], CATEGORY_MEANING[c]])
            }
          />
        )}
        {hasGpu && <Legend items={GPU_WORK.slice(0, 3).map((name, i) => [`GPU ${name}`, theme.gpu[i]])} />}
        {match.active && <span class="note">{match.error ?? `${format.count(countMatches(picture, codes))} matching slices`}</span>}
      </div>
      <Canvas
        picture={picture}
        theme={theme}
        label={`Timeline of ${lanes.length} lanes over ${format.time(model.duration)}`}
        height="calc(100vh - 190px)"
        class="timeline"
        fitted
        chartRef={(c) => (chart.current = c)}
        handlers={{
          move(c, x, y, event) {
            const hit = picture.hit(x, y, c.width, c.top);
            if (hit.row !== picture.hover.row || hit.kind !== picture.hover.kind) {
              picture.hover = hit;
              c.redraw();
            }
            const [title, lines] = describe(model, picture, hit, picture.timeAt(x, c.width), (picture.to - picture.from) / c.width);
            if (title) showTooltip(event.clientX, event.clientY, title, lines);
            else hideTooltip();
          },
          leave(c) {
            picture.hover = { lane: -1, kind: "none", row: -1 };
            hideTooltip();
            c.redraw();
          },
          down(c, x, _y, event) {
            if (event.button !== 0 || x < picture.gutter || event.pointerType === "touch") return;
            drag(c, picture, event, (range) => store.setRange(range), changed);
          },
          click(c, x, y) {
            const hit = picture.hit(x, y, c.width, c.top);
            if (hit.kind === "label" && hit.lane >= 0) {
              if (picture.expanded.has(hit.lane)) picture.expanded.delete(hit.lane);
              else picture.expanded.add(hit.lane);
              picture.place();
              store.notify();
            } else if (hit.kind === "step") {
              const step = model.steps[hit.row];
              store.setRange([step.start, step.end]);
            }
          },
          double(c, x, y) {
            const span = spanOf(model, picture, picture.hit(x, y, c.width, c.top));
            if (!span) return;
            picture.show(span[0] - (span[1] - span[0]) * 0.1, Math.max(200, (span[1] - span[0]) * 1.2));
            changed();
          },
          wheel(c, x, _y, event) {
            if (!wheelZoom(picture, event, c.width, (x - picture.gutter) / (c.width - picture.gutter))) return false;
            changed();
            return true;
          },
          key(_c, event) {
            if (event.key === "Escape" && store.range) store.setRange(null);
            else if (event.key === "z" && !event.ctrlKey && !event.metaKey) toSelection();
            else if (keyZoom(picture, event)) changed();
            else return false;
            return true;
          },
        }}
      />
    </section>
  );
}

// A drag selects; with Shift it moves. A click without movement clears.
function drag(chart: Chart, picture: TimelinePicture, event: PointerEvent, commit: (range: [number, number] | null) => void, moved: () => void): void {
  const box = chart.host.getBoundingClientRect();
  const at = (e: PointerEvent) => Math.max(0, Math.min(picture.model.duration, picture.timeAt(e.clientX - box.left, chart.width)));
  const start = at(event);
  const x = event.clientX;
  let previous = event.clientX;
  let far = false;
  const move = (e: PointerEvent) => {
    far ||= Math.abs(e.clientX - x) > 3;
    if (!far) return;
    if (event.shiftKey) {
      picture.pan((previous - e.clientX) / (chart.width - picture.gutter));
      moved();
    } else {
      picture.selection = [Math.min(start, at(e)), Math.max(start, at(e))];
      chart.redraw();
    }
    previous = e.clientX;
  };
  const up = (e: PointerEvent) => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    if (far && !event.shiftKey) commit([Math.min(start, at(e)), Math.max(start, at(e))]);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", up);
}

function spanOf(model: Model, picture: TimelinePicture, hit: Hit): [number, number] | null {
  if (hit.kind === "step") return [model.steps[hit.row].start, model.steps[hit.row].end];
  const table = { op: "ops", kernel: "kernels", launch: "launches" }[hit.kind as string];
  if (!table || hit.row < 0) return null;
  void picture;
  const start = model.column(table, "start")[hit.row];
  return [start, start + model.column(table, "duration")[hit.row]];
}

function describe(model: Model, picture: TimelinePicture, hit: Hit, at: number, perPixel: number): [string, Lines] {
  if (hit.kind === "step") {
    const step = model.steps[hit.row];
    return [`Step ${step.number}${hit.row < model.warmup ? " (warm-up)" : ""}`, [["duration", format.time(step.length)], ["click: select it in every view"]]];
  }
  if (hit.kind === "op") {
    const node = model.column("ops", "node")[hit.row];
    const call = model.column("opnodes", "call")[node];
    const signature = model.column("ops", "signature")[hit.row];
    const lines: Lines = [
      ["duration", format.time(model.column("ops", "duration")[hit.row])],
      ["self", format.time(model.column("ops", "self")[hit.row])],
      ["kind", KINDS[model.column("calls", "kind")[call]]],
    ];
    const shapes = model.text(model.column("signatures", "shapes")[signature]);
    if (shapes) lines.push(["shapes", shapes.slice(0, 160)]);
    const module = model.text(model.column("calls", "module")[call]);
    if (module) lines.push(["module", module]);
    const file = model.text(model.column("calls", "file")[call]);
    if (file) lines.push(["line", `${format.baseName(file)}:${model.column("calls", "line")[call]}`]);
    const allocated = model.column("ops", "allocated")[hit.row];
    if (allocated) lines.push(["allocated", format.bytes(allocated)]);
    const device = model.column("ops", "device")[hit.row];
    if (device) lines.push(["GPU time launched", format.time(device)]);
    return [picture.name("ops", hit.row), lines];
  }
  if (hit.kind === "kernel") {
    const column = (name: string) => model.column("kernels", name)[hit.row];
    const lines: Lines = [["duration", format.time(column("duration"))], ["work", GPU_WORK[column("work")]]];
    if (column("launch") >= 0) lines.push(["launched", `${format.time(column("start") - model.column("launches", "start")[column("launch")])} before it started`]);
    if (column("op") >= 0) lines.push(["operator", picture.name("ops", column("op"))]);
    if (column("grid") >= 0) lines.push(["grid × block", `${model.text(column("grid"))} × ${model.text(column("block"))}`]);
    if (column("occupancy") > 0) lines.push(["occupancy", `${format.digits(column("occupancy"))} %`]);
    if (column("bytes") > 0) lines.push(["bytes", format.bytes(column("bytes"))]);
    return [picture.name("kernels", hit.row), lines];
  }
  if (hit.kind === "launch") {
    return [picture.name("launches", hit.row), [["duration", format.time(model.column("launches", "duration")[hit.row])], ["kind", model.text(model.column("launches", "kind")[hit.row])]]];
  }
  if (hit.kind === "samples") return describeSamples(model, picture, hit, at, perPixel);
  return ["", []];
}

function describeSamples(model: Model, picture: TimelinePicture, hit: Hit, at: number, perPixel: number): [string, Lines] {
  const lane = picture.lanes[hit.lane];
  const time = model.column("samples", "time");
  const reach = Math.max(perPixel * 2, model.slot, 1);
  let best = -1;
  for (const row of lane.samples) {
    const length = model.slot > 1 ? model.slot : model.column("samples", "weight")[row];
    const start = model.slot > 1 ? time[row] : time[row] - length;
    if (at >= start - reach && at <= start + length + reach && (best < 0 || Math.abs(time[row] - at) < Math.abs(time[best] - at))) best = row;
  }
  if (best < 0) return [lane.label, [["no sample near this moment: the thread was idle or not yet started"]]];
  const names: string[] = [];
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  for (let node = model.column("samples", "stack")[best]; node >= 0 && names.length < 12; node = parent[node]) {
    const f = functionOf[frame[node]];
    if (!model.column("functions", "runtime")[f]) names.push(model.text(model.column("functions", "name")[f]));
  }
  const reason = model.text(model.column("samples", "reason")[best]);
  const category = model.category[best];
  return [
    `${NAMES[category]}${reason ? ` (${reason})` : ""}`,
    [["stands for", format.time(model.column("samples", "weight")[best])], ["at", format.time(time[best])], ...names.map((name) => [name] as [string])],
  ];
}

function countMatches(picture: TimelinePicture, codes: Uint8Array | null): number {
  if (!codes) return 0;
  let found = 0;
  for (const lane of picture.lanes) {
    for (const level of lane.slices) {
      const table = lane.kind === "stream" ? "kernels" : "ops";
      for (const row of level) if (codes[nameCode(picture.model, table, row)]) found++;
    }
  }
  return found;
}

function sliceCsv(model: Model, picture: TimelinePicture): string {
  const rows: (string | number)[][] = [["lane", "kind", "name", "start_ns", "duration_ns"]];
  for (const lane of picture.lanes) {
    const parts: ["ops" | "kernels" | "launches", Int32Array][] = [
      ...lane.slices.map((level) => [lane.kind === "stream" ? "kernels" : "ops", level] as ["ops" | "kernels", Int32Array]),
      ["launches", lane.launches],
    ];
    for (const [table, list] of parts) {
      for (const row of list) {
        const start = model.column(table, "start")[row];
        const duration = model.column(table, "duration")[row];
        if (start + duration < picture.from || start > picture.to || rows.length > 100_000) continue;
        rows.push([lane.label, table, picture.name(table, row), start, duration]);
      }
    }
  }
  return csv(rows);
}
