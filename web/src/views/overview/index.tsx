// Overview: sixty seconds. One sentence, where a step goes, the lines, what to do first, and how far to trust it.

import { useMemo } from "preact/hooks";
import { verdict } from "../../calc/bound";
import { lateSentence } from "../../calc/ranks";
import type { ViewProps } from "../../ui/context";
import { Insights } from "../insights";
import { QualityBox, trustOf } from "../quality";
import { Account } from "./account";
import { IdleCard } from "./idle";
import { Layers } from "./layers";
import { Steps } from "./steps";

export function OverviewView(props: ViewProps) {
  const { model, store } = props;
  const range = store.range;
  const notes = model.facts.notes ?? [];
  const said = useMemo(() => verdict(model, range), [model, range?.[0], range?.[1]]);
  // The word first, its reasons smaller: "This program is compute-bound" and ": a steady step is …".
  const [head, rest] = said.sentence.split(/(?<=^[^:]*-bound)(?=:)/);
  const late = useMemo(() => lateSentence(model), [model]);
  const log = !model.has("samples", "ops", "kernels"); // of primitives alone, or empty
  const trust = useMemo(() => trustOf(model), [model]);
  const open = store.flag("trust", false);
  return (
    <section class="view overview" data-view="overview">
      {notes.length > 0 && (
        <ul class="notes" data-role="notes">
          {notes.map((note) => (
            <li>
              <bdi>{note}</bdi>
            </li>
          ))}
        </ul>
      )}
      <div class="verdict">
        {!range && model.facts.taken_away && <p class="disturbed" data-role="taken">{model.facts.taken_away}</p>}
        <h1 data-role="verdict">
          <bdi>{head}</bdi>{rest && <small><bdi>{rest}</bdi></small>}
        </h1>
        {!range && late && (
          <p data-role="late">
            <a href="#ranks" onClick={(event) => { event.preventDefault(); store.open("ranks"); }}><bdi>{late}</bdi></a>
          </p>
        )}
        {said.evidence.slice(1).map((line) => (
          <p>
            <bdi>{line}</bdi>
          </p>
        ))}
        <button type="button" class={`chip trust ${trust.good ? "good" : "doubt"}`} data-role="trust" aria-expanded={open} title="What was lost, how much is attributed, what recording cost" onClick={() => store.set({ trust: open ? null : "1" })}>
          {trust.words}
        </button>
      </div>
      {open && <QualityBox model={model} />}
      <IdleCard {...props} />
      <Account {...props} />
      <Insights {...props} />
      <div class="cards">
        {!log && <Steps {...props} />}
        <Layers {...props} />
      </div>
      <Next {...props} log={log} />
    </section>
  );
}

// Only links that lead to something.
function Next({ model, store, log }: ViewProps & { log: boolean }) {
  const links: [string, string, boolean][] = [
    ["timeline", "see it over time", model.has("samples", "ops", "kernels")],
    ["flame", "where it is spent", model.has("samples", "ops")],
    ["primitives", "which primitives ran", log && model.has("primitives")],
    ["gpu", "which kernels ran", model.has("kernels")],
    ["guide", "how to read this report", true],
  ];
  return (
    <p class="note">
      Next:{" "}
      {links.filter(([, , there]) => there).map(([view, words], i) => (
        <>
          {i > 0 && ", "}
          <a href={`#${view}`} onClick={(event) => { event.preventDefault(); store.open(view); }}>
            {words}
          </a>
        </>
      ))}
      .
    </p>
  );
}
