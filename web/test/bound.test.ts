import { describe, expect, it } from "vitest";
import { wordOf } from "../src/calc/bound";
import cases from "../../tests/data/bound_words.json";


describe("the verdict of a range", () => {
  it("has the word that Python has for the same shares", () => {
    expect(cases.length).toBeGreaterThan(5);
    for (const { shares, word } of cases) expect(wordOf(shares)).toBe(word);
  });
});
