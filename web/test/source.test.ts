import { describe, expect, it } from "vitest";
import { fileTimes } from "../src/calc/lines";
import { layerName, sampleSource } from "../src/calc/source";
import { small } from "./small";

describe("labels of frames", () => {
  it("a module's own code is told by its file", () => {
    const { labels, key } = sampleSource(small());
    expect(labels.map((label) => label.name)).toEqual(["main", "f", "g", "<module> p/__init__.py"]);
    expect(Array.from(key)).toEqual([0, 1, 2]);
    expect([layerName(0), layerName(99)]).toEqual(["python", "label"]);
  });
});

describe("time per line", () => {
  it("goes to the innermost line of the user's files, and up to its callers", () => {
    const source = { files: [{ file: 3, lines: ["x"], changed: false }] };
    const [file] = fileTimes(small({ source }), null);
    expect(file.file).toBe("train.py");
    expect([10, 20, 30].map((line) => file.lines.get(line)?.total)).toEqual([40, 10, 27]);
    expect(file.lines.get(10)?.sum).toBe(3);
    expect(file.sum).toBe(40);
  });
});
