// The Details tab: facts, the chain from line to kernel, relatives, the source line with its neighbours, the card.

import { cardOf } from "../../calc/details";
import type { ChainLink, Details, Relatives } from "../../calc/details/types";
import { fileTimes } from "../../calc/lines";
import * as format from "../../calc/format";
import type { Selection } from "../../data/selection";
import { drawnFill } from "../../data/model";
import type { ViewProps } from "../context";
import { Code } from "../code";

const AROUND = 4; // lines before and after

export function DetailsTab({ details, ...props }: ViewProps & { details: Details }) {
  const { model, store } = props;
  const pick = (selection: Selection | null) => selection && store.select(selection);
  const found = cardOf(model, details);
  return (
    <div class="details">
      <div>
        <dl class="facts">
          {details.facts.map(([name, value, meaning]) => (
            <div title={meaning}>
              <dt>{name}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ))}
        </dl>
        {details.full && details.full !== details.title && (
          <p class="full-name" title="Full name">
            <code>
              <bdi>{details.full}</bdi>
            </code>
          </p>
        )}
        {found && (
          <p class="concerns" data-role="panel-card">
            <b>Finding: </b>
            <a
              href={`#overview?card=${found.number}`}
              onClick={(event) => {
                event.preventDefault();
                store.open("overview", { card: String(found.number) });
              }}
            >
              <bdi>{found.card.title}</bdi>
            </a>
          </p>
        )}
      </div>
      <div>
        {details.chain.length > 0 && <Chain chain={details.chain} pick={pick} />}
        {details.stack.length > 0 && <Stack names={details.stack} />}
        {details.place && <Excerpt {...props} place={details.place} pick={pick} />}
      </div>
      <div>
        {details.callers && <Table relatives={details.callers} pick={pick} theme={props.theme} />}
        {details.callees && <Table relatives={details.callees} pick={pick} theme={props.theme} />}
      </div>
    </div>
  );
}

function Chain({ chain, pick }: { chain: ChainLink[]; pick: (selection: Selection | null) => void }) {
  return (
    <ol class="chain" aria-label="From the line to the kernel">
      {chain.map((link) => (
        <li class={link.here ? "here" : ""} data-layer={link.layer}>
          <span class="note">{link.layer === "line" ? "Python line" : link.layer}</span>
          {link.selection && !link.here ? (
            <button type="button" class="plain" onClick={() => pick(link.selection)} title="Select it">
              <bdi>{link.text}</bdi>
            </button>
          ) : (
            <b>
              <bdi>{link.text}</bdi>
            </b>
          )}
          {link.note && (
            <span class="note chain-note" title={link.note}>
              <bdi>{link.note}</bdi>
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

function Stack({ names }: { names: string[] }) {
  return (
    <details open={names.length < 12}>
      <summary>Stack, innermost last ({names.length} frames)</summary>
      <ol class="stack-list">
        {names.map((name) => (
          <li>
            <bdi>{name}</bdi>
          </li>
        ))}
      </ol>
    </details>
  );
}

function Table({ relatives, pick, theme }: { relatives: Relatives; pick: (selection: Selection | null) => void; theme: ViewProps["theme"] }) {
  const shown = (value: number) => (relatives.unit === "time" ? format.time(value) : format.bytes(value));
  return (
    <table class="relatives">
      <caption>
        {relatives.title} <span class="note">({format.count(relatives.rows.length)})</span>
      </caption>
      <tbody>
        {relatives.rows.slice(0, 30).map((row) => (
          <tr>
            <td>
              {row.layer >= 0 && <i class="dot" style={{ background: drawnFill(row, theme) }} />}
              {row.selection ? (
                <button type="button" class="plain" title={row.name} onClick={() => pick(row.selection)}>
                  <bdi>{row.name}</bdi>
                </button>
              ) : (
                <bdi>{row.name}</bdi>
              )}
            </td>
            <td class="num">{shown(row.value)}</td>
            <td class="num note">{format.percent(row.value / (relatives.whole || 1))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Excerpt({ model, store, place, pick }: ViewProps & { place: { file: string; line: number }; pick: (selection: Selection | null) => void }) {
  const text = model.facts.source?.files.find((entry) => model.text(entry.file) === place.file)?.lines;
  const open = () => store.open("source", { "source.file": place.file, "source.line": place.line > 0 ? String(place.line) : null });
  const title = (
    <a href="#source" onClick={(event) => { event.preventDefault(); open(); }}>
      <bdi>{`${format.baseName(place.file)}${place.line > 0 ? `:${place.line}` : ""}`}</bdi>
    </a>
  );
  if (!text || place.line <= 0 || place.line > text.length) return <p class="note" title={place.file}>Source: {title}{text ? "" : " (its text is not in the recording)"}</p>;
  const files = fileTimes(model, store.range);
  const times = files.find((file) => file.file === place.file)?.lines;
  const whole = files.reduce((sum, file) => sum + file.sum, 0) || 1;
  const from = Math.max(1, place.line - AROUND);
  const rows = Array.from({ length: Math.min(text.length, place.line + AROUND) - from + 1 }, (_, i) => from + i);
  return (
    <div class="excerpt" data-role="excerpt">
      <p class="note">{title}</p>
      {rows.map((number) => {
        const sum = times?.get(number)?.sum ?? 0;
        return (
          <div class={number === place.line ? "chosen" : ""} onClick={() => pick({ kind: "line", name: `${place.file}:${number}` })}>
            <span class="num">{sum > 0 ? format.percent(sum / whole) : ""}</span>
            <span class="num faint">{number}</span>
            <Code text={text[number - 1]} />
          </div>
        );
      })}
    </div>
  );
}
