// Source: the user's own files with the time that each line causes, split by layer.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fileTimes, type FileTime } from "../calc/lines";
import { lineWord } from "../data/selection";
import { Code } from "../ui/code";
import { Empty, ExportMenu, linkItem, Pick } from "../ui/parts";
import { csv, download } from "../ui/save";
import { hideTooltip, showTooltip } from "../ui/tooltip";
import type { ViewProps } from "../ui/context";
import { CATEGORY_ORDER, CATEGORY_WORDS as NAMES } from "../data/model";
import * as format from "../calc/format";

const ROW = 20;

export function SourceView(props: ViewProps) {
  const { model, store, match } = props;
  const range = store.range;
  const files = useMemo(() => fileTimes(model, range), [model, range?.[0], range?.[1]]);
  const off = model.facts.source?.off;
  if (!files.length) {
    return (
      <Empty title="No lines to show" command="sonde run your_script.py">
        Lines come from sampled Python frames, C++ frames with debug information, or traces made with with_stack=True.
      </Empty>
    );
  }
  const wanted = store.get("source.file", "");
  const file = files.find((f) => f.file === wanted) ?? files.find((f) => f.source) ?? files[0]; // the user's own first
  const sum = files.reduce((total, f) => total + f.sum, 0) || 1;
  return (
    <section class="view" data-view="source">
      <div class="bar">
        <Pick
          label="File"
          value={file.file}
          options={files.map((f) => [f.file, `${format.baseName(f.file)}  ${format.percent(f.sum / sum)}`])}
          onChange={(v) => store.set({ "source.file": v })}
        />
        <span class="note">
          <bdi>{file.file}</bdi>
          {file.source?.changed ? " · this file was changed after the recording began; lines may have moved" : ""}
        </span>
        <ExportMenu items={[["CSV of these lines", () => download("lines.csv", lineCsv(file), "text/csv")], linkItem(store)]} />
      </div>
      <p class="note">
        100 % is {format.time(sum)}: time of all threads whose stack holds a line of {model.facts.source?.files?.length ? "your files" : "a known file"}
        {range ? ", in the selected range" : ""}.{off ? " Source text was left out with --no-source." : !file.source ? " The text of this file is not embedded: only files of the project are." : ""}
        {match.active && file.source ? ` ${file.source.lines.filter((line) => match.test(line)).length} lines match.` : ""}
      </p>
      <Lines key={file.file} file={file} sum={sum} {...props} />
    </section>
  );
}

function Lines({ file, sum, theme, match, store }: ViewProps & { file: FileTime; sum: number }) {
  const text = file.source?.lines ?? null;
  const numbers = useMemo(() => (text ? text.map((_, i) => i + 1) : [...file.lines.keys()].sort((a, b) => a - b)), [file]);
  const host = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [tall, setTall] = useState(600);
  const most = Math.max(1, ...[...file.lines.values()].map((l) => l.sum));
  useEffect(() => {
    const element = host.current!;
    setTall(element.clientHeight);
    const line = store.number("source.line", 0);
    const hottest = [...file.lines].sort((a, b) => b[1].sum - a[1].sum)[0]?.[0] ?? 1;
    element.scrollTop = Math.max(0, (numbers.indexOf(line || hottest) - 8) * ROW);
    setTop(element.scrollTop);
  }, [file]);
  const from = Math.max(0, Math.floor(top / ROW) - 10);
  const until = Math.min(numbers.length, Math.ceil((top + tall) / ROW) + 10);
  const chosen = store.number("source.line", 0);
  return (
    <div class="source" ref={host} tabIndex={0} onScroll={(event) => { setTop(event.currentTarget.scrollTop); setTall(event.currentTarget.clientHeight); }}>
      <div class="source-line head">
        <span title="Time that this line causes: innermost line of your files on the stack">From line</span>
        <span title="Time with this line anywhere on the stack">Total</span>
        <span>Layers</span>
        <span>Line</span>
        <span>Code</span>
      </div>
      <div style={{ height: `${numbers.length * ROW}px`, position: "relative" }}>
        {numbers.slice(from, until).map((number, i) => {
          const time = file.lines.get(number);
          const code = text ? text[number - 1] : "";
          const hit = match.active && match.test(code);
          return (
            <div
              class={`source-line${hit ? " hit" : ""}${chosen === number ? " chosen" : ""}`}
              style={{ top: `${(from + i) * ROW}px` }}
              data-line={number}
              onClick={() => store.set({ "source.line": String(number), sel: `line:${lineWord(file.file, number)}` })}
              onMouseMove={(event) =>
                time &&
                showTooltip(event.clientX, event.clientY, `${format.baseName(file.file)}:${number}`, [
                  ["from this line", `${format.time(time.sum)} · ${format.percent(time.sum / sum)}`],
                  ["on the stack", format.time(time.total)],
                  ...CATEGORY_ORDER.filter((c) => time.own[c] > 0).map((c) => [NAMES[c], format.time(time.own[c])] as [string, string]),
                ])
              }
              onMouseLeave={hideTooltip}
            >
              <span class="num">{time && time.sum > 0 ? format.percent(time.sum / sum) : ""}</span>
              <span class="num">{time && time.total > 0 ? format.time(time.total) : ""}</span>
              <span class="mini">
                {time && CATEGORY_ORDER.filter((c) => time.own[c] > 0).map((c) => <i style={{ width: `${(time.own[c] / most) * 100}%`, background: theme.category[c] }} />)}
              </span>
              <span class="num faint">{number}</span>
              <Code text={code} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function lineCsv(file: FileTime): string {
  return csv([
    ["line", "from_line_ns", "total_ns", ...NAMES, "code"],
    ...[...file.lines].sort((a, b) => a[0] - b[0]).map(([number, t]) => [number, t.sum, t.total, ...t.own, file.source?.lines[number - 1] ?? ""]),
  ]);
}
