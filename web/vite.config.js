// One classic script and one style sheet: they are pasted into the page, so
// that it opens from file:// where modules and requests are refused.
import { defineConfig } from "vite";
import { fileURLToPath } from "node:url";
import { sourceHash } from "./sources.js";

const root = fileURLToPath(new URL(".", import.meta.url));

const stamp = {
  name: "sonde-stamp",
  generateBundle(_options, bundle) {
    for (const part of Object.values(bundle)) {
      if (part.type !== "chunk") continue;
      // A literal "</script" would end the element that the page puts this in.
      const safe = part.code.replace(/<\/script/gi, "<\\/script").replace(/<!--/g, "<\\!--");
      part.code = `/* sonde-web-sources: ${sourceHash(root)} */\n${safe}`;
    }
  },
};

export default defineConfig({
  plugins: [stamp],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../sonde/render/assets",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "Sonde",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
  test: { include: ["test/**/*.test.ts"] },
});
