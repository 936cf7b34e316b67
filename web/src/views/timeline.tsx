// Timeline: everything on one axis. Drag to select a range that every other
// view then follows.

import { useMemo, useRef } from "preact/hooks";
import { buildLanes } from "../calc/lanes";
import { chosenLanes, readChoice, toggled } from "../calc/lane_choice";
import { GAP_CAUSES, GAP_WORDS } from "../calc/details/gap";
import { gapFill } from "../draw/bands";
import { MINIMAP } from "../draw/ruler";
import { LaneMenu } from "../ui/lanemenu";
import { IDLE_WORDS } from "./overview/idle";
import { nameCode } from "../draw/slices";
import { TimelinePicture } from "../draw/timeline";
import type { Chart } from "../draw/chart";
import { Canvas } from "../ui/canvas";
import { Choice, Empty, ExportMenu, Legend, linkItem, pictureItems, Toggle } from "../ui/parts";
import { download } from "../ui/save";
import { countMatches, describe, drag, moveWindow, sampleAt, sliceCsv, spanOf } from "../ui/timeline_help";
import { hideTooltip, showTooltip } from "../ui/tooltip";
import { keyZoom, useZoom, wheelZoom } from "../ui/zoom";
import type { ViewProps } from "../ui/context";
import { isArrow, matchesOf, walk } from "../calc/walk";
import { readSelection, type Selection } from "../data/selection";
import { CATEGORY_MEANING, CATEGORY_ORDER, CATEGORY_WORDS as NAMES, GPU_WORK, SPIN, WAIT } from "../data/model";
import * as format from "../calc/format";


export function TimelineView({ model, store, theme, match }: ViewProps) {
  const every = useMemo(() => buildLanes(model), [model]);
  const choice = readChoice(store);
  const lanes = useMemo(() => chosenLanes(model, every, choice), [every, ["pinned", "hidden", "closed", "process"].map((name) => store.get(`timeline.${name}`, "")).join(";")]);
  const picture = useMemo(() => new TimelinePicture(model, lanes), [model, lanes]);
  const chart = useRef<Chart | null>(null);
  const moved = useZoom(picture, store.get("timeline.shown", ""), (word) => store.set({ "timeline.shown": word }));
  const codes = useMemo(() => (match.active ? Uint8Array.from(model.strings, (s) => (match.test(s) ? 1 : 0)) : null), [model, match]);
  if (!every.length) {
    return (
      <Empty title="Nothing with a time" command="sonde run your_script.py">
        The timeline shows samples, operator calls and GPU work; this recording has none of them.
      </Empty>
    );
  }
  picture.selection = store.range;
  picture.selected = readSelection(store.get("sel", ""), model);
  picture.matchName = codes ? (code) => code >= 0 && codes[code] === 1 : null;
  picture.marks = store.get("timeline.marks", "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
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
  // Selects a thing and brings it into sight.
  const goTo = (selection: Selection | null) => {
    if (!selection || !("row" in selection)) return;
    const span = spanOf(model, { kind: selection.kind, row: selection.row });
    if (span && (span[0] < picture.from || span[1] > picture.to)) {
      const width = Math.max(picture.to - picture.from, (span[1] - span[0]) * 1.5);
      picture.show((span[0] + span[1]) / 2 - width / 2, width);
      changed();
    }
    store.select(selection);
  };
  const step = (by: 1 | -1) => {
    if (!codes) return false;
    const found = matchesOf(model, lanes, (code) => code >= 0 && codes[code] === 1, (table, row) => nameCode(model, table, row));
    const here = found.findIndex((m) => picture.selected && "row" in m.selection && "row" in picture.selected && m.selection.kind === picture.selected.kind && m.selection.row === picture.selected.row);
    const next = here < 0 ? found.findIndex((m) => m.start >= picture.from) : here + by;
    goTo(found[(Math.max(0, next) + found.length) % found.length]?.selection ?? null);
    return true;
  };
  const hasGpu = model.has("kernels");
  return (
    <section class="view fill" data-view="timeline">
      <div class="bar">
        <LaneMenu model={model} lanes={every} store={store} />
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
                ? [["running", theme.layer[2]], [NAMES[SPIN], theme.category[SPIN], CATEGORY_MEANING[SPIN]], [NAMES[WAIT], theme.category[WAIT], CATEGORY_MEANING[WAIT]]]
                : CATEGORY_ORDER.map((c) => [NAMES[c], theme.category[c], CATEGORY_MEANING[c]])
            }
          />
        )}
        {model.has("ops") && <Legend items={[["operator", theme.kind[0]], ["backward", theme.kind[4]], ["module", theme.kind[3]], ["region", theme.kind[1]], ...(hasGpu ? [["launch", theme.hues[7]] as [string, string]] : [])]} />}
        {hasGpu && (
          <Legend
            items={[
              ...GPU_WORK.slice(0, 3).map((name, i) => [`GPU ${name}`, theme.gpu[i]] as [string, string]),
              ...GAP_CAUSES.map((cause, i) => [`idle: ${IDLE_WORDS[cause]}`, gapFill(theme, i), GAP_WORDS[cause]] as [string, string, string]),
            ]}
          />
        )}
        {match.active && <span class="note">{match.error ?? `${format.count(countMatches(picture, codes))} matching slices, [ and ] walk them`}</span>}
      </div>
      <Canvas
        picture={picture}
        theme={theme}
        label={`Timeline of ${lanes.length} lanes over ${format.time(model.duration)}. Arrow keys select, W S zooms, A D moves, M sets a mark; the panel below has the selection as text.`}
        height="100%"
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
          down(c, x, y, event) {
            if (event.button !== 0 || x < picture.gutter || event.pointerType === "touch") return;
            if (y - c.top < MINIMAP) moveWindow(c, picture, event, changed);
            else drag(c, picture, event, (range) => store.setRange(range), changed);
          },
          click(c, x, y) {
            if (y - c.top < MINIMAP) return;
            const hit = picture.hit(x, y, c.width, c.top);
            const lane = lanes[hit.lane];
            if (hit.kind === "none") return;
            if (hit.kind === "label") {
              if (lane.kind === "process" || lane.kind === "idle") return toggled(store, "closed", lane.id);
              if (!picture.expanded.delete(lane.id)) picture.expanded.add(lane.id);
              picture.place();
              if (lane.kind === "thread") store.select({ kind: "thread", row: lane.thread });
              else store.notify();
            } else if (hit.kind === "samples") {
              const row = sampleAt(model, lane, picture.timeAt(x, c.width), (picture.to - picture.from) / c.width);
              store.select(row >= 0 ? { kind: "sample", row } : { kind: "thread", row: lane.thread });
            } else if (hit.kind === "module") store.select({ kind: "module", name: model.text(lane.modules[hit.row].module) });
            else store.select({ kind: hit.kind, row: hit.row });
          },
          double(c, x, y) {
            const span = spanOf(model, picture.hit(x, y, c.width, c.top));
            if (!span) return;
            picture.show(span[0] - (span[1] - span[0]) * 0.1, Math.max(200, (span[1] - span[0]) * 1.2));
            changed();
          },
          wheel(c, x, _y, event) {
            if (!wheelZoom(picture, event, c.width, (x - picture.gutter) / (c.width - picture.gutter))) return false;
            changed();
            return true;
          },
          zoomed: changed,
          key(_c, event) {
            if (event.ctrlKey || event.metaKey || event.altKey) return false;
            if (event.key === "Escape" && store.get("sel", "")) store.select(null, { tab: null });
            else if (event.key === "Escape" && store.range) store.setRange(null);
            else if (isArrow(event.key) && !event.shiftKey) goTo(walk(model, lanes, picture.selected, event.key, [picture.from, picture.to]));
            else if ((event.key === "[" || event.key === "]") && codes) step(event.key === "]" ? 1 : -1);
            else if (event.key === "m") {
              const at = picture.selected && "row" in picture.selected ? spanOf(model, picture.selected)?.[0] : undefined;
              const mark = Math.round(at ?? (picture.from + picture.to) / 2);
              const marks = picture.marks.includes(mark) ? picture.marks.filter((t) => t !== mark) : [...picture.marks, mark].sort((a, b) => a - b);
              store.set({ "timeline.marks": marks.length ? marks.join(",") : null });
            } else if (event.key === "z" && !event.ctrlKey && !event.metaKey) toSelection();
            else if (keyZoom(picture, event)) changed();
            else return false;
            return true;
          },
        }}
      />
    </section>
  );
}

