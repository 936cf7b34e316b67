// Where a step goes: its account as one stacked bar with the floor of each part, and the lines that it is spent in.

import { useMemo } from "preact/hooks";
import { KIND_HUE, kindsOf, linesOf, type KindPart } from "../../calc/account";
import { sourceLine } from "../../calc/details/call";
import { lineWord } from "../../data/selection";
import { Code } from "../../ui/code";
import { ExportMenu, linkItem } from "../../ui/parts";
import { csv, download } from "../../ui/save";
import { hideTooltip, showTooltip } from "../../ui/tooltip";
import type { ViewProps } from "../../ui/context";
import * as format from "../../calc/format";

const LINES = 5;

export function Account({ model, store, theme }: ViewProps) {
  const account = model.answer("account");
  const kinds = useMemo(() => (account ? kindsOf(account) : []), [account]);
  const chosen = kinds.find((part) => part.kind === store.get("slice", ""))?.kind ?? null;
  const lines = useMemo(() => (account ? linesOf(account, chosen) : []), [account, chosen]);
  if (!account?.unit || !kinds.length) return null;
  const ms = (value: number) => format.time(value * 1e6);
  const pick = (part: KindPart) => store.set({ slice: chosen === part.kind ? null : part.kind });
  const what = account.unit === "step" ? "a steady step" : `this ${account.unit}`;
  const floor = (part: KindPart) => (part.floor_ms === null ? "floor not known" : `at least ${ms(part.floor_ms)} is needed`);
  return (
    <article class="card wide-card" data-role="account">
      <header>
        <h2>Where {what} goes</h2>
        <span class="note">
          {ms(account.own_ms)} = 100 %, {account.unit === "step" ? `mean of ${format.count(account.units)} steps, ` : ""}stepping thread{account.whole_ms - account.own_ms > 0.01 * account.whole_ms ? `; ${ms(account.whole_ms - account.own_ms)} more was taken away by other programs` : ""}{store.range ? "; of the whole recording, not of the selected range" : ""}
        </span>
        <ExportMenu items={[["CSV of all slices", () => download("account.csv", csv([["file", "line", "place", "kind", "ms", "share", "floor_ms", "why"], ...account.rows.map((r) => [r.file, r.line, r.place, r.kind, r.ms, r.share, r.floor_ms ?? NaN, r.reason])]), "text/csv")], linkItem(store)]} />
      </header>
      <div class="stack tall" role="group" aria-label="Kinds of work">
        {kinds.filter((part) => part.share > 0.002).map((part) => (
          <button
            type="button"
            data-slice={part.kind}
            aria-pressed={chosen === part.kind}
            aria-label={`${part.work} ${format.percent(part.share)}, ${ms(part.ms)}`}
            style={{ width: `${part.share * 100}%`, background: theme.named[KIND_HUE[part.kind] ?? "grey"], color: theme.onFill }}
            onClick={() => pick(part)}
            onMouseMove={(event) => showTooltip(event.clientX, event.clientY, part.work, [["time", `${ms(part.ms)} · ${format.percent(part.share)}`], ["floor", floor(part)], [part.why], ["click: the lines that it is spent in"]])}
            onMouseLeave={hideTooltip}
          >
            {part.floor_ms !== null && part.ms > 0 && <i style={{ width: `${Math.min(100, (part.floor_ms / part.ms) * 100)}%` }} />}
            {part.share > 0.06 && <span>{`${part.work} ${format.percent(part.share)}`}</span>}
          </button>
        ))}
      </div>
      {account.needed_ms !== null && account.own_ms > 0 && (
        <div class="headroom" title="Floors: the least time that the results need; what has no known floor counts as needed">
          <i style={{ width: `${Math.min(1, account.needed_ms / account.own_ms) * 100}%` }} />
          <span class="note">{model.facts.headroom ?? `must take ${ms(account.needed_ms)}`}</span>
        </div>
      )}
      <h3>
        {chosen ? `Lines with most ${kinds.find((part) => part.kind === chosen)!.work}` : account.library_lines ? "The library's lines with most time" : "Your lines with most time"}
        {chosen && (
          <button type="button" class="plain" onClick={() => store.set({ slice: null })}>
            all kinds
          </button>
        )}
      </h3>
      <ol class="lines" data-role="lines">
        {lines.slice(0, LINES).map((line) => {
          const code = line.line > 0 ? sourceLine(model, line.file, line.line) : "";
          const inner = (
            <>
              <span class="num">{format.percent(line.share)}</span>
              <span class="num note">{ms(line.ms)}</span>
              <span class="mini">
                {line.kinds.map((part) => <i title={part.work} style={{ width: `${(part.ms / lines[0].ms) * 100}%`, background: theme.named[KIND_HUE[part.kind] ?? "grey"] }} />)}
              </span>
              <b><bdi>{line.place}</bdi></b>
              <Code text={code} />
            </>
          );
          return (
            <li>
              {line.line > 0 ? <button type="button" onClick={() => store.select({ kind: "line", name: lineWord(line.file, line.line) })}>{inner}</button> : <div>{inner}</div>}
            </li>
          );
        })}
      </ol>
    </article>
  );
}
