import { describe, expect, it } from "vitest";
import { decodeColumn } from "../src/data/payload";

// The writer's rules again, in a few lines: values, maybe differences, maybe zigzag, byte planes.
function planes(values: number[], width: number): Uint8Array {
  const out = new Uint8Array(values.length * width);
  values.forEach((value, i) => {
    let rest = BigInt(value);
    for (let p = 0; p < width; p++, rest >>= 8n) out[p * values.length + i] = Number(rest & 255n);
  });
  return out;
}

describe("column decoding", () => {
  it("reads plain bytes", () => {
    expect([...decodeColumn(planes([1, 2, 300], 2), { type: "int", width: 2, at: 0 }, 3)]).toEqual([1, 2, 300]);
  });
  it("undoes zigzag, so that -1 comes back as -1", () => {
    expect([...decodeColumn(planes([1, 0, 3, 2], 1), { type: "int", width: 1, signed: true, at: 0 }, 4)]).toEqual([-1, 0, -2, 1]);
  });
  it("sums differences beyond 32 bits exactly", () => {
    const start = 5_000_000_000_001;
    const found = decodeColumn(planes([start, 100, 7], 6), { type: "int", width: 6, delta: true, at: 0 }, 3);
    expect([...found]).toEqual([start, start + 100, start + 107]);
  });
  it("does not wrap a large unsigned value of three bytes", () => {
    expect([...decodeColumn(planes([16_777_215], 3), { type: "int", width: 3, at: 0 }, 1)]).toEqual([16_777_215]);
  });
  it("reads doubles with NaN", () => {
    const bytes = new Uint8Array(new Float64Array([1.5, NaN]).buffer);
    const split = new Uint8Array(16);
    for (let p = 0; p < 8; p++) for (let i = 0; i < 2; i++) split[p * 2 + i] = bytes[i * 8 + p];
    expect([...decodeColumn(split, { type: "float", at: 0 }, 2)]).toEqual([1.5, NaN]);
  });
  it("starts at its own offset", () => {
    expect([...decodeColumn(new Uint8Array([9, 9, 4, 5]), { type: "int", width: 1, at: 2 }, 2)]).toEqual([4, 5]);
  });
});
