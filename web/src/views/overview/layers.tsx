// Time by layer of all threads, and of the main thread with its waits.

import { useMemo } from "preact/hooks";
import { layerSums, steadyRange } from "../../calc/layers";
import { showTooltip, hideTooltip } from "../../ui/tooltip";
import { ExportMenu, linkItem } from "../../ui/parts";
import { csv, download } from "../../ui/save";
import { CATEGORY_MEANING, CATEGORY_ORDER, CATEGORY_WORDS as NAMES, WAIT } from "../../data/model";
import type { ViewProps } from "../../ui/context";
import * as format from "../../calc/format";

export function Layers({ model, store, theme }: ViewProps) {
  const range = store.range;
  const stretch = range ?? steadyRange(model);
  const rows = useMemo(() => {
    if (!model.has("samples")) return [];
    const main = model.threads.find((t) => t.kind === "main")?.id ?? -1;
    const list: { name: string; sums: number[]; all: number; note: string }[] = [];
    const every = layerSums(model, stretch);
    list.push({ name: "All threads, on CPU", sums: every.sums.map((v, i) => (i === WAIT ? 0 : v)), all: every.running, note: `${format.count(every.samples)} samples` });
    if (main >= 0) {
      const own = layerSums(model, stretch, main);
      list.push({ name: "Main thread, with waiting", sums: own.sums, all: own.all, note: `${format.count(own.samples)} samples${own.taken > 0.1 * (own.all + own.taken) ? `; ${format.time(own.taken)} more ready but off the CPU` : ""}` });
    }
    return list;
  }, [model, stretch?.[0], stretch?.[1]]);
  const scope = range ? "in the selected range" : stretch ? (model.warmup ? `in steady steps (${model.warmup} of warm-up left out)` : "in all steps (no warm-up found)") : "in the whole recording";
  if (!rows.length) return null;
  return (
    <article class="card wide-card" data-role="layers">
      <header>
        <h2>Time by layer</h2>
        <span class="note">{scope}</span>
        <ExportMenu
          items={[
            ["CSV", () => download("layers.csv", csv([["what", ...NAMES, "unit"], ...rows.map((r) => [r.name, ...r.sums, "ns"])]), "text/csv")],
            linkItem(store),
          ]}
        />
      </header>
      {rows.map((row) => (
        <div class="layer-row">
          <div class="layer-title">
            <span>{row.name}</span>
            <span class="num">
              {format.time(row.all)} <span class="note">= 100 %, {row.note}</span>
            </span>
          </div>
          <div class="stack" role="img" aria-label={CATEGORY_ORDER.map((c) => `${NAMES[c]} ${format.percent(row.sums[c] / row.all)}`).join(", ")}>
            {CATEGORY_ORDER.filter((c) => row.sums[c] / row.all > 0.002).map((c) => (
              <div
                style={{ width: `${(row.sums[c] / row.all) * 100}%`, background: theme.category[c], color: theme.onFill }}
                onMouseMove={(event) => showTooltip(event.clientX, event.clientY, NAMES[c], [[row.name, `${format.time(row.sums[c])} · ${format.percent(row.sums[c] / row.all)}`], [CATEGORY_MEANING[c]]])}
                onMouseLeave={hideTooltip}
              >
                {row.sums[c] / row.all > 0.07 ? format.percent(row.sums[c] / row.all) : ""}
              </div>
            ))}
          </div>
        </div>
      ))}
      {rows.length > 0 && (
        <div class="legend">
          {CATEGORY_ORDER.map((c) => (
            <span title={CATEGORY_MEANING[c]}>
              <i style={{ background: theme.category[c] }} />
              {NAMES[c]}
            </span>
          ))}
        </div>
      )}
    </article>
  );
}
