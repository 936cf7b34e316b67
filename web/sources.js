// Hash of everything the bundle is made of. check_bundle.py computes the same
// without npm, so that CI can tell a stale bundle from a fresh one.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";

function files(folder) {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? files(path) : [path]));
}

export function sourceHash(root) {
  const hash = createHash("sha256");
  const listed = [...files(join(root, "src")), ...["package-lock.json", "vite.config.js", "../sonde/layers.json"].map((name) => join(root, name))]
    .map((path) => relative(root, path).split(sep).join("/"))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const name of listed) {
    hash.update(name + "\0");
    hash.update(createHash("sha256").update(readFileSync(join(root, name))).digest("hex") + "\n");
  }
  return hash.digest("hex");
}
