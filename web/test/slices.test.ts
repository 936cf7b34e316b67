import { expect, test } from "vitest";
import { drawSlices } from "../src/draw/slices";
import { TimelinePicture } from "../src/draw/timeline";
import { LIGHT_THEME } from "../src/draw/theme";
import type { Pen } from "../src/draw/pen";
import { buildLanes } from "../src/calc/lanes";
import { calls } from "./calls";

test("a long slice that begins in the same pixel as a short one is drawn", () => {
  const model = calls();
  const picture = new TimelinePicture(model, buildLanes(model));
  picture.gutter = 0;
  (picture as { from: number; to: number }).to = 1000;
  const start = model.column("ops", "start");
  const duration = model.column("ops", "duration");
  [start[0], duration[0], start[1], duration[1]] = [100, 1, 102, 500];
  const drawn: number[] = [];
  const pen = new Proxy({}, { get: (_, name) => (name === "rect" ? (_x: number, _y: number, wide: number) => drawn.push(wide) : () => undefined) }) as Pen;
  drawSlices(picture, pen, Int32Array.from([0, 1]), "ops", 0, 14, 100, LIGHT_THEME);
  expect(drawn.some((wide) => wide > 45)).toBe(true);
});
