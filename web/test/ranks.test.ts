import { expect, test } from "vitest";
import { rankLines } from "../src/calc/ranks";
import type { Model } from "../src/data/model";

function model(rows: object[]): Model {
  const answers: Record<string, unknown> = { gpu: { devices: [], stragglers: [], alignment: null, ranks: [] }, ranks: { rows, late: null } };
  return { answer: (name: string) => answers[name] } as unknown as Model;
}

test("parts of a recorded rank are of a mean step, also where collectives overlap", () => {
  const row = { rank: 0, step_ms: 100, mean_ms: 200, waiting_ms: 90, transfer_ms: 60, exposed_ms: 75, message_ms: 25, last_in: 3, host: "one" };
  const [line] = rankLines(model([row]));
  expect([line.window, line.compute, line.waiting, line.communication, line.host]).toEqual([200, 100, 45, 30, 25]);
});

test("a rank of which no step is compared has nothing but its step", () => {
  const row = { rank: 1, step_ms: 100, mean_ms: null, waiting_ms: null, transfer_ms: null, exposed_ms: null, message_ms: null, last_in: null, host: "one" };
  const [line] = rankLines(model([row]));
  expect([line.window, line.compute, line.waiting, line.communication, line.host]).toEqual([100, 100, 0, 0, 0]);
});
