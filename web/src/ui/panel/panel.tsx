// The panel below every view: what is selected, or the selected range, from all sides. It is in the link (sel, tab).

import { useMemo } from "preact/hooks";
import { detailsOf, siblingOf } from "../../calc/details";
import { readSelection, ROW_KINDS, type RowKind, type Selection } from "../../data/selection";
import { readTransforms, transformsWord } from "../../calc/transforms";
import type { Measure } from "../../calc/weights";
import * as format from "../../calc/format";
import type { ViewProps } from "../context";
import { tabKeys } from "../parts";
import { steadyRange } from "../../calc/layers";
import { copyText } from "../save";
import { DetailsTab } from "./details";
import { FlameTab, KernelsTab, OperatorsTab, WaitsTab, type Stretch } from "./tabs";

const TABS: [string, string][] = [["details", "Details"], ["flame", "Flame of the range"], ["operators", "Operators"], ["kernels", "Kernels"], ["waits", "Waits"]];

export function Panel(props: ViewProps & { view: string }) {
  const { model, store } = props;
  const word = store.get("sel", "");
  const selection = useMemo(() => (word ? readSelection(word, model) : null), [word, model]);
  const measure = store.get("flame.measure", "cpu") as Measure;
  // Details of a frame of the flame are of the same steps as the flame.
  const steady = store.view === "flame" && !store.range && store.flag("flame.steady", true) && ["cpu", "off", "both"].includes(measure) ? steadyRange(model) : null;
  const range = store.range ?? steady;
  const details = useMemo(() => (selection ? detailsOf(model, selection, range, measure) : null), [model, word, range?.[0], range?.[1], measure]);
  const ofRange = !word && range && props.view === "timeline";
  if (!word && !ofRange) return null;
  const stretch: Stretch = details?.span
    ? { range: details.span, words: `the time of this ${details.what}` }
    : range ? { range, words: "the selected range" } : { range: null, words: "the whole recording" };
  const tabs = TABS.filter(([id]) => has(model, id) && (id !== "details" || selection));
  const tab = tabs.find(([id]) => id === store.get("tab", "")) ?? tabs[0];
  const close = () => store.set({ sel: null, tab: null });
  return (
    <section class="panel" data-role="panel" aria-label="Selection">
      <header>
        <span class="chip">{details ? details.what : selection ? "not found" : "range"}</span>
        <h2>
          <bdi title={details?.full || details?.title}>{details ? details.title : range ? `${format.time(range[0])} + ${format.time(range[1] - range[0])}` : word}</bdi>
        </h2>
        {details?.siblings && selection && "row" in selection && <Siblings {...props} selection={selection} details={details} />}
        <span class="actions">
          {details && selection && <Actions {...props} selection={selection} details={details} />}
          <button type="button" title="Copy a link to exactly this" data-action="link" onClick={() => void copyText(location.href.split("#")[0] + store.hash())}>
            Copy link
          </button>
          {word && (
            <button type="button" class="icon" title="Close (Escape)" aria-label="Close the panel" onClick={close}>
              ×
            </button>
          )}
        </span>
      </header>
      <div class="panel-tabs" role="tablist" aria-label="What to show of it" onKeyDown={tabKeys}>
        {tabs.map(([id, title]) => (
          <button type="button" role="tab" id={`panel-tab-${id}`} aria-controls="panel-body" aria-selected={id === tab?.[0]} tabIndex={id === tab?.[0] ? 0 : -1} data-panel-tab={id} onClick={() => store.set({ tab: id })}>
            {title}
          </button>
        ))}
      </div>
      <div class="panel-body" id="panel-body" role="tabpanel" aria-labelledby={tab ? `panel-tab-${tab[0]}` : undefined} tabIndex={0}>
        {tab?.[0] === "details" && (details ? <DetailsTab {...props} details={details} /> : <p class="note">Nothing in this recording is called that.</p>)}
        {tab?.[0] === "flame" && <FlameTab {...props} stretch={stretch} />}
        {tab?.[0] === "operators" && <OperatorsTab {...props} stretch={stretch} />}
        {tab?.[0] === "kernels" && <KernelsTab {...props} stretch={stretch} />}
        {tab?.[0] === "waits" && <WaitsTab {...props} stretch={stretch} />}
      </div>
    </section>
  );
}

function has(model: ViewProps["model"], tab: string): boolean {
  if (tab === "operators") return model.has("ops");
  if (tab === "kernels") return model.has("kernels");
  if (tab === "waits") return model.has("samples");
  return tab === "details" || model.has("samples", "ops", "kernels");
}

type Chosen = ViewProps & { selection: Selection; details: NonNullable<ReturnType<typeof detailsOf>> };

function Siblings({ store, selection, details }: Chosen) {
  const { list, at, of } = details.siblings!;
  if (list.length < 2 || !(ROW_KINDS as readonly string[]).includes(selection.kind)) return null;
  const go = (by: -1 | 1) => {
    const next = siblingOf(details, selection.kind as RowKind, by);
    if (next) store.select(next);
  };
  return (
    <span class="siblings">
      <button type="button" disabled={at <= 0} aria-label={`Previous of ${of}`} title={`Previous of ${of}`} data-action="previous" onClick={() => go(-1)}>
        ‹
      </button>
      <span class="note" data-role="siblings">{`#${format.count(at + 1)} of ${format.count(list.length)}`}</span>
      <button type="button" disabled={at + 1 >= list.length} aria-label={`Next of ${of}`} title={`Next of ${of}`} data-action="next" onClick={() => go(1)}>
        ›
      </button>
    </span>
  );
}

function Actions({ model, store, selection, details }: Chosen) {
  const { span, flame } = details;
  const show = (at: [number, number]) => {
    const room = Math.max(100, (at[1] - at[0]) * 2);
    return `${Math.max(0, Math.round(at[0] - room))}-${Math.round(at[1] + room)}`;
  };
  const launch = details.launch;
  const launched = (): [number, number] => [model.column("launches", "start")[launch], model.column("launches", "start")[launch] + model.column("launches", "duration")[launch]];
  return (
    <>
      {span && (
        <button type="button" data-action="timeline" title="Show it in the timeline" onClick={() => store.open("timeline", { "timeline.shown": show(span) })}>
          Show in timeline
        </button>
      )}
      {launch >= 0 && selection.kind !== "launch" && (
        <button type="button" data-action="launch" title="Select the call on the host that launched it" onClick={() => store.open("timeline", { sel: `launch:${launch}`, "timeline.shown": show(launched()) })}>
          Go to launch
        </button>
      )}
      {flame && (
        <button type="button" data-action="flame" title="Find it in the flame" onClick={() => store.open("flame", { "flame.measure": flame.measure, q: flame.name, re: null, "flame.zoom": null })}>
          Show in flame
        </button>
      )}
      {selection.kind === "function" && store.view === "flame" && (["focus", "drop", "fold"] as const).map((kind) => (
        <button type="button" data-action={kind} title={{ focus: "Look only at what it called", drop: "Leave out all stacks with it", fold: "Count its own time for its caller" }[kind]} onClick={() => store.set({ "flame.path": transformsWord([...readTransforms(store.get("flame.path", "")), { kind, id: (selection as { name: string }).name }]), "flame.zoom": null })}>
          {{ focus: "Focus", drop: "Drop", fold: "Fold" }[kind]}
        </button>
      ))}
      {details.names[0] && (
        <button type="button" data-action="find" title="Search for its name in every view" onClick={() => store.set({ q: details.names[0], re: null })}>
          Find all
        </button>
      )}
      {span && (
        <button type="button" data-action="range" title="Every view shows only its time" onClick={() => store.setRange(span)}>
          Select its time
        </button>
      )}
    </>
  );
}
