// A table that draws only the rows in sight. Sorted by a click on a column,
// walked with the arrow keys, exported as CSV in the order shown.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { csv, download, copyText } from "./save";
import { ExportMenu, linkItem } from "./parts";
import type { Store } from "../data/store";

export interface TableColumn<Row> {
  id: string;
  title: string;
  meaning: string; // tooltip of the header: what the number is, and of what whole
  value: (row: Row) => number | string;
  show?: (row: Row) => ComponentChildren;
  bar?: (row: Row) => number; // share of the column's width to fill
  wide?: boolean; // left out on narrow screens
  hidden?: boolean; // only in the exported table
  width: string;
}

const ROW_HEIGHT = 28;

export function DataTable<Row>(props: {
  id: string;
  store: Store;
  rows: Row[];
  columns: TableColumn<Row>[];
  sort: string; // default column
  selected?: (row: Row) => boolean;
  onPick?: (row: Row) => void;
  file: string;
  note?: ComponentChildren;
  height?: string;
  totalRows?: number;
}) {
  const { store, rows } = props;
  const narrow = useNarrow();
  const columns = props.columns.filter((c) => !c.hidden && !(narrow && c.wide));
  const sortWord = store.get(`${props.id}.sort`, `-${props.sort}`);
  const down = sortWord.startsWith("-");
  const sortId = sortWord.replace(/^-/, "");
  const column = columns.find((c) => c.id === sortId) ?? columns[0];
  const sorted = useMemo(() => {
    const keyed = rows.map((row) => [column.value(row), row] as const);
    keyed.sort(([a], [b]) => {
      const order = typeof a === "number" && typeof b === "number" ? nanLast(a) - nanLast(b) : String(a).localeCompare(String(b));
      return down ? -order : order;
    });
    return keyed.map(([, row]) => row);
  }, [rows, column.id, down]);
  const body = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [tall, setTall] = useState(400);
  const [cursor, setCursor] = useState(-1);
  useEffect(() => {
    const element = body.current!;
    const observer = new ResizeObserver(() => setTall(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const from = Math.max(0, Math.floor(top / ROW_HEIGHT) - 8);
  const until = Math.min(sorted.length, Math.ceil((top + tall) / ROW_HEIGHT) + 8);
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = Math.max(0, Math.min(sorted.length - 1, cursor + step));
      setCursor(next);
      body.current!.scrollTop = Math.min(Math.max(body.current!.scrollTop, (next + 2) * ROW_HEIGHT - tall), next * ROW_HEIGHT);
    } else if (event.key === "Enter" && sorted[cursor] && props.onPick) props.onPick(sorted[cursor]);
  };
  const text = () => csv([props.columns.map((c) => c.title), ...sorted.map((row) => props.columns.map((c) => c.value(row)))]);
  const grid = { gridTemplateColumns: columns.map((c) => c.width).join(" ") };
  return (
    <div class="table" data-table={props.id}>
      <div class="table-bar">
        <span class="note">
          {sorted.length.toLocaleString("en-US")} {sorted.length === 1 ? "row" : "rows"}{props.note && <> · {props.note}</>}
        </span>
        <ExportMenu
          items={[
            ["CSV of these rows", () => download(`${props.file}.csv`, text(), "text/csv")],
            ["Copy as CSV", () => void copyText(text())],
            linkItem(store),
          ]}
        />
      </div>
      <div
        class="table-scroll"
        ref={body}
        tabIndex={0}
        role="grid"
        aria-rowcount={sorted.length}
        aria-label={props.file}
        style={{ maxHeight: props.height ?? "calc(100vh - 230px)" }}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={keys}
      >
        <div class="table-head" role="row" style={grid}>
          {columns.map((c) => (
            <div role="columnheader" class={isNumber(c, sorted) && c !== columns[0] ? "num" : ""} aria-sort={c.id === column.id ? (down ? "descending" : "ascending") : "none"}>
              <button
                type="button"
                title={c.meaning}
                data-sort={c.id}
                onClick={() => store.set({ [`${props.id}.sort`]: c.id === column.id && down ? c.id : `-${c.id}` })}
              >
                {c.title}
                {c.id === column.id ? (down ? " ↓" : " ↑") : ""}
              </button>
            </div>
          ))}
        </div>
        <div style={{ height: `${sorted.length * ROW_HEIGHT}px`, position: "relative" }}>
          {sorted.slice(from, until).map((row, i) => (
            <div
              role="row"
              class={`table-row${props.onPick ? " pickable" : ""}`}
              aria-selected={cursor >= 0 ? cursor === from + i : Boolean(props.selected?.(row))}
              style={{ ...grid, top: `${(from + i) * ROW_HEIGHT}px` }}
              onClick={() => {
                setCursor(from + i);
                props.onPick?.(row);
              }}
            >
              {columns.map((c) => (
                <span role="gridcell" class={typeof c.value(row) === "number" && c !== columns[0] ? "num" : ""} title={typeof c.value(row) === "string" ? String(c.value(row)) : undefined}>
                  {c.bar && <i class="bar" style={{ width: `${Math.min(100, Math.max(0, c.bar(row) * 100))}%` }} />}
                  <bdi>{c.show ? c.show(row) : c.value(row)}</bdi>
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function isNumber<Row>(column: TableColumn<Row>, rows: Row[]): boolean {
  return rows.length > 0 && typeof column.value(rows[0]) === "number";
}

function useNarrow(): boolean {
  const query = useMemo(() => window.matchMedia("(max-width: 720px)"), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const change = () => setNarrow(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  return narrow;
}

function nanLast(value: number): number {
  return Number.isNaN(value) ? -Infinity : value;
}
