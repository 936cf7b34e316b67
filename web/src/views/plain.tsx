// Views of which the page shows the rows alone, as their declarations say (`tab` in sonde/views/__init__.py): one table each,
// with the columns in which anything is known.

import { COLUMNS, ROWS, TABS, type Tab, type Unit } from "../data/answers";
import type { Model } from "../data/model";
import { Empty } from "../ui/parts";
import { DataTable, type TableColumn } from "../ui/table";
import type { ViewProps } from "../ui/context";
import type { ViewEntry } from "./registry";
import * as format from "../calc/format";

type Cell = string | number | boolean | null;
type PlainRow = Record<string, Cell>;
const NARROW = 5; // columns that a small screen has room for

export function plainTabs(): ViewEntry[] {
  return TABS.map(({ view, title, about }) => ({
    id: view,
    title,
    about: about[0].toUpperCase() + about.slice(1),
    component: (props: ViewProps) => <PlainView {...props} view={view} />,
    empty: () => false,
    there: (model: Model) => rowsOf(model, view).length > 0,
  }));
}

function rowsOf(model: Model, view: Tab): PlainRow[] {
  const told = model.answer(view) as unknown as Record<string, PlainRow[]> | null;
  return told?.[ROWS[view]] ?? [];
}

export function plainColumns(view: Tab, rows: PlainRow[]): TableColumn<PlainRow>[] {
  return COLUMNS[view]
    .filter(({ key }) => rows.some((row) => row[key] !== null && row[key] !== ""))
    .map(({ key, kind, unit, title, meaning }, at) => ({
      id: key,
      title,
      meaning,
      width: kind === "text" ? "minmax(90px, 1fr)" : "100px",
      wide: at >= NARROW,
      value: (row: PlainRow) => (kind === "text" ? String(row[key] ?? "") : row[key] === null ? NaN : Number(row[key])),
      show: (row: PlainRow) => shown(row[key], kind, unit),
    }));
}

function shown(value: Cell, kind: string, unit: Unit): string {
  if (value === null) return "–";
  if (kind === "text") return format.baseName(String(value));
  if (kind === "flag") return value ? "yes" : "no";
  return kind === "integer" && unit === "" ? String(value) : format.unit(Number(value), unit);
}

function PlainView({ model, store, match, view }: ViewProps & { view: Tab }) {
  const all = rowsOf(model, view);
  if (!all.length) return <Empty title="Nothing of this was recorded">{`sonde show REC ${view}`}</Empty>;
  const rows = match.active ? all.filter((row) => Object.values(row).some((value) => typeof value === "string" && match.test(value))) : all;
  const columns = plainColumns(view, all);
  const sort = COLUMNS[view].find(({ kind }) => kind === "number")?.key ?? columns[0].id;
  return (
    <section class="view" data-view={view}>
      <DataTable<PlainRow> id={view} store={store} rows={rows} columns={columns} sort={sort} file={view} note={`as sonde show REC ${view}`} />
    </section>
  );
}
