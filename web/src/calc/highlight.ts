// Colours of Python source: enough of the language to tell words, strings, comments and numbers apart in one line.

export type Token = [kind: "word" | "string" | "comment" | "number" | "call" | "", text: string];

const WORDS = new Set(
  ("and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or pass " +
    "raise return True False try while with yield match case self").split(" "),
);
const PARTS = /(#.*$)|((?:[rbfuRBFU]{0,2})(?:"""(?:.*?"""|.*$)|'''(?:.*?'''|.*$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))|(\b\d[\d_.]*(?:e[+-]?\d+)?\b)|([A-Za-z_]\w*)(?=(\s*\()?)/g;

export function tokens(line: string): Token[] {
  const out: Token[] = [];
  let last = 0;
  for (const found of line.matchAll(PARTS)) {
    if (found.index > last) out.push(["", line.slice(last, found.index)]);
    const [text, comment, string, number, name, called] = found;
    out.push([comment ? "comment" : string ? "string" : number ? "number" : name && WORDS.has(name) ? "word" : called !== undefined ? "call" : "", text]);
    last = found.index + text.length;
  }
  if (last < line.length) out.push(["", line.slice(last)]);
  return out;
}
