import { describe, expect, it } from "vitest";
import { Axis } from "../src/draw/axis";
import { CurvePicture } from "../src/draw/curve";
import { RooflinePicture } from "../src/draw/roofline";

describe("the shown part of an axis", () => {
  it("keeps the point under the pointer in place", () => {
    const axis = new Axis(10, 110, 1);
    axis.zoomAt(0.3, 0.5);
    expect([axis.from, axis.to]).toEqual([25, 75]);
    expect(axis.share(40)).toBeCloseTo(0.3, 12);
  });
  it("never leaves the whole, nor shows less than the least", () => {
    const axis = new Axis(0, 100, 10);
    axis.zoomAt(0, 1e-9);
    expect(axis.to - axis.from).toBe(10);
    axis.pan(-5);
    expect(axis.from).toBe(0);
    axis.pan(1e9);
    expect(axis.to).toBe(100);
    axis.zoomAt(0.5, 1e9);
    expect([axis.from, axis.to, axis.word]).toEqual([0, 100, null]);
  });
  it("comes back from its word, in shares and in units", () => {
    for (const units of [false, true]) {
      const axis = new Axis(1_000, 2_000_000, 10, units);
      axis.show(5_000, 70_000);
      const again = new Axis(1_000, 2_000_000, 10, units);
      again.read(axis.word!);
      expect(again.from).toBeCloseTo(5_000, 1);
      expect(again.to).toBeCloseTo(75_000, 1);
      again.read("not-a-number");
      expect(again.word).toBe(null);
    }
  });
});

describe("pictures with an axis", () => {
  it("a curve zooms in time", () => {
    const curve = new CurvePicture([0, 50_000, 100_000], [{ name: "a", values: [1, 2, 3] }], String, 100, false);
    curve.zoomAt(1, 0.5);
    expect([curve.from, curve.to]).toEqual([50_000, 100_000]);
    expect(curve.indexAt(76, 500)).toBe(1);
  });
  it("a roofline zooms both ways around the pointer", () => {
    const dot = { name: "", detail: "", intensity: 10, rate: 1e10, share: 1, quality: 0 };
    const plot = new RooflinePicture([dot, { ...dot, intensity: 0.1, rate: 1e8 }], null, 300);
    const [x, y] = plot.place(dot, 600, 300);
    plot.zoomAt(...([plot.shareAt(x, y, 600, 300)[0], 0.5, plot.shareAt(x, y, 600, 300)[1]] as [number, number, number]));
    const after = plot.place(dot, 600, 300);
    expect(after[0]).toBeCloseTo(x, 6);
    expect(after[1]).toBeCloseTo(y, 6);
    const copy = new RooflinePicture([dot, { ...dot, intensity: 0.1, rate: 1e8 }], null, 300);
    copy.read(plot.word!);
    expect(copy.place(dot, 600, 300)[0]).toBeCloseTo(x, 4);
  });
});
