// Insight cards of the overview: what to change, what it costs per step, where
// to see it, and the change itself as text to copy.

import { useState } from "preact/hooks";
import { copyText } from "../ui/save";
import type { ViewProps } from "../ui/context";
import type { Insight } from "../data/facts";
import * as format from "../calc/format";

interface Evidence {
  text: string;
  kind?: string;
  name?: string;
  file?: string;
  line?: number;
}

const MOST_EVIDENCE = 4;

export function Insights(props: ViewProps) {
  const insights: Insight[] = props.model.facts.insights ?? [];
  const closing: string | null = props.model.facts.closing ?? null;
  const last = closing && <p class="note" data-role="insights-closing">{closing}</p>;
  if (!insights.length) return last || null;
  const { match } = props;
  const wanted = (item: Insight) => !match.active || [item.title, item.why, item.fix, ...evidence(item.evidence).map((e) => e.text)].some((t) => match.test(String(t ?? "")));
  const found = insights.filter(wanted).length;
  return (
    <>
      {match.active && <p class="note" data-role="insights-note">{`${found} of ${insights.length} insights match.`}</p>}
      <h2 class="first">Do this first</h2>
      <div class="insights">
        {insights.map((item, i) => wanted(item) && <Card {...props} item={item} number={i} />)}
      </div>
      {last}
    </>
  );
}

function Card({ item, number, store, model }: ViewProps & { item: Insight; number: number }) {
  const seen = evidence(item.evidence);
  const cost = saving(item);
  const share = typeof item.saving_share === "number" ? item.saving_share : NaN;
  const links = typeof item.link === "string" && item.link.startsWith("#") ? [item.link] : [];
  const wanted = store.number("card", 0);
  const status = item.status ?? "open";
  return (
    <details class="insight" data-insight={number} open={number === wanted} onToggle={(event) => event.currentTarget.open && number !== store.number("card", 0) && store.set({ card: String(number) })}>
      <summary>
        <h3>
          <bdi>{String(item.title)}</bdi>
        </h3>
        {cost && (
          <b class="saving" title="What the change is expected to save">
            {cost}
          </b>
        )}
        <span class={`chip ${status}`} title="Whether a trial on this machine has shown it: sonde prove">
          {status}
        </span>
      </summary>
      {share > 0 && (
        <div class="share" title={`${format.percent(share)} of the step`}>
          <i style={{ width: `${Math.min(100, share * 100)}%` }} />
        </div>
      )}
      {item.why && <p>{String(item.why)}</p>}
      <ul class="evidence">
        {seen.slice(0, MOST_EVIDENCE).map((e) => {
          const hash = linkOf(e, model);
          return (
            <li>
              <bdi>{e.text}</bdi>
              {hash && (
                <>
                  {" "}
                  <Link hash={hash} store={store} />
                </>
              )}
            </li>
          );
        })}
      </ul>
      {item.fix && <Fix text={String(item.fix)} />}
      <footer>
        {!item.pointer && item.confidence !== undefined && item.confidence !== null && <span class="note">confidence {typeof item.confidence === "number" ? format.percent(item.confidence) : String(item.confidence)}</span>}
        {!item.pointer && item.experiment?.note && <span class="note">{String(item.experiment.note)}</span>}
        {item.rule && item.fix && <span class="note">prove it: <code>sonde prove REC {item.rule}</code></span>}
        {links.map((hash) => (
          <Link hash={hash} store={store} />
        ))}
      </footer>
    </details>
  );
}

function Link({ hash, store }: { hash: string; store: ViewProps["store"] }) {
  return (
    <a
      href={hash}
      data-evidence
      onClick={(event) => {
        event.preventDefault();
        store.read(hash);
        store.set({}, true);
      }}
    >
      see it
    </a>
  );
}

// A fix is code or a command more often than a sentence, so it is shown as one can paste it.
export function Fix({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class="fix">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <button type="button" data-copy onClick={async () => setCopied(await copyText(text))}>
        {copied ? "copied" : "copy"}
      </button>
    </div>
  );
}

function saving(item: Insight): string {
  if (item.saving_words) return item.saving_words;
  if (typeof item.saving === "string") return item.saving;
  const step = item.saving_ms_per_step;
  const [low, high] = step ? [step.low, step.high] : [item.saving?.low_ms, item.saving?.high_ms];
  if (typeof low !== "number" || typeof high !== "number") return "";
  const per = item.resource === "once" ? "once per run" : item.unit === "trace" ? "of the trace" : "per step";
  const [a, b] = [format.digits(low), format.digits(high)];
  return `${a === b ? a : `${a}–${b}`} ms ${per}`;
}

function evidence(value: Insight["evidence"]): Evidence[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap(evidence);
  return [typeof value === "string" ? { text: value } : value];
}

// The view in which a piece of evidence is to be seen, as a link that opens it there.
export function linkOf(e: Evidence, model: { has(...tables: string[]): boolean }): string {
  const to = (view: string, words: Record<string, string>) => `#${view}?${new URLSearchParams(words)}`;
  const q: Record<string, string> = e.name ? { q: e.name } : {};
  if (e.kind === "line" && e.file) return to("source", { "source.file": e.file, ...((e.line ?? -1) > 0 ? { "source.line": String(e.line) } : {}) });
  if (!e.name) return e.kind === "mark" || e.kind === "thread" ? "#timeline" : "";
  if (e.kind === "op") return to("operators", q);
  if (e.kind === "module") return to("operators", q);
  if (e.kind === "frame") return to("flame", q);
  if (e.kind === "kernel") return to(model.has("kernels") ? "gpu" : "flame", q);
  if (e.kind === "primitive") return to("primitives", q);
  if (e.kind === "mark" || e.kind === "thread") return to("timeline", q);
  return "";
}
