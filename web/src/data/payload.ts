// Reader of the page's data block; sonde/render/html/payload.py is the writer.
//
//   u32 length of the header | header (JSON) | column bytes …
//
// An integer column is byte planes of values or of differences; the reader
// puts them together into typed arrays and nothing else looks at bytes.

import type { Facts } from "./facts";

export type Column = Int32Array | Float64Array;

export interface Table {
  rows: number;
  columns: Record<string, Column>;
  specs: Record<string, "int" | "float">;
}

export interface Payload {
  facts: Facts;
  strings: string[];
  tables: Record<string, Table>;
}

interface ColumnSpec {
  type: "int" | "float";
  width?: number;
  delta?: boolean;
  signed?: boolean;
  at: number;
}

export async function inflate(base64: string): Promise<Uint8Array> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function decode(bytes: Uint8Array): Payload {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (header.format !== 1) throw new Error(`this page's data has format ${header.format}, not 1`);
  const body = bytes.subarray(4 + length);
  const tables: Record<string, Table> = {};
  for (const [name, table] of Object.entries<{ rows: number; columns: Record<string, ColumnSpec> }>(header.tables)) {
    const columns: Record<string, Column> = {};
    const specs: Record<string, "int" | "float"> = {};
    for (const [column, spec] of Object.entries(table.columns)) {
      columns[column] = decodeColumn(body, spec, table.rows);
      specs[column] = spec.type;
    }
    tables[name] = { rows: table.rows, columns, specs };
  }
  return { facts: header.facts, strings: header.strings, tables };
}

export function decodeColumn(body: Uint8Array, spec: ColumnSpec, rows: number): Column {
  if (spec.type === "float") {
    const out = new Float64Array(rows);
    const bytes = new Uint8Array(out.buffer);
    for (let plane = 0; plane < 8; plane++) {
      for (let i = 0, at = spec.at + plane * rows; i < rows; i++) bytes[i * 8 + plane] = body[at + i];
    }
    return out;
  }
  const width = spec.width ?? 1;
  // Up to three bytes fit a 32 bit integer whatever the sign; longer ones and
  // running sums are kept exactly by doubles (times stay below 2^53).
  const small = width <= 3 && !spec.delta;
  const out = small ? new Int32Array(rows) : new Float64Array(rows);
  let scale = 1;
  for (let plane = 0; plane < width; plane++, scale *= 256) {
    for (let i = 0, at = spec.at + plane * rows; i < rows; i++) out[i] += body[at + i] * scale;
  }
  if (spec.signed) {
    for (let i = 0; i < rows; i++) {
      const value = out[i];
      const half = Math.floor(value / 2);
      out[i] = value - half * 2 === 0 ? half : -half - 1;
    }
  }
  if (spec.delta) for (let i = 1; i < rows; i++) out[i] += out[i - 1];
  return out;
}
