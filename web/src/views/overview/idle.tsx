// What the GPU waits for: idle time by cause, and the longest gaps as links to the moment.

import { useMemo } from "preact/hooks";
import { GAP_CAUSES, GAP_WORDS, hostDuring } from "../../calc/details/gap";
import type { Model } from "../../data/model";
import type { ViewProps } from "../../ui/context";
import { hideTooltip, showTooltip } from "../../ui/tooltip";
import * as format from "../../calc/format";

export const IDLE_WORDS = { host: "host", sync: "sync", kernel: "gap", other: "other" } as const;

export function longestGaps(model: Model, most: number): number[] {
  if (!model.rows("gaps")) return [];
  const duration = model.column("gaps", "duration");
  return Array.from(duration.keys()).sort((a, b) => duration[b] - duration[a]).slice(0, most);
}

export function gapSentence(model: Model, row: number): string {
  const cause = GAP_CAUSES[model.column("gaps", "cause")[row]] ?? "other";
  const host = hostDuring(model, row);
  const why = cause === "host" && host ? `host ${host.words}, no launch` : GAP_WORDS[cause];
  return `${format.time(model.column("gaps", "duration")[row])}: ${why}`;
}

export function showGap(store: ViewProps["store"], model: Model, row: number): void {
  const [start, length] = [model.column("gaps", "start")[row], model.column("gaps", "duration")[row]];
  store.open("timeline", { sel: `gap:${row}`, "timeline.shown": `${Math.max(0, Math.round(start - length))}-${Math.round(start + 2 * length)}` });
}

export function IdleCard({ model, store, theme }: ViewProps) {
  const devices = model.answer("gpu")?.devices ?? [];
  const gaps = useMemo(() => longestGaps(model, 3), [model]);
  if (!devices.length) return null;
  return (
    <article class="card wide-card" data-role="idle">
      <header>
        <h2>What the GPU waits for</h2>
        <span class="note">idle = nothing runs between the first and the last event of the device</span>
      </header>
      {devices.slice(0, 8).map((d) => {
        const parts = GAP_CAUSES.map((cause) => [cause, d[`idle_${cause}_ms`]] as const).filter(([, ms]) => ms > 0);
        return (
          <div class="layer-row">
            <div class="layer-title">
              <span>{d.rank >= 0 ? `Rank ${d.rank}, ` : ""}GPU {d.device}: busy {format.percent(d.busy_ms / d.window_ms)}, idle {format.percent(d.idle_ms / d.window_ms)}</span>
              <span class="note">{parts.map(([cause, ms]) => `${IDLE_WORDS[cause]} ${format.time(ms * 1e6)}`).join(" · ")}</span>
            </div>
            <div class="stack" role="img" aria-label={`busy ${format.percent(d.busy_ms / d.window_ms)}, ${parts.map(([cause, ms]) => `idle because of ${IDLE_WORDS[cause]} ${format.percent(ms / d.window_ms)}`).join(", ")}`}>
              <div style={{ width: `${(d.busy_ms / d.window_ms) * 100}%`, background: theme.layer[6], color: theme.onFill }}>busy</div>
              {parts.map(([cause, ms]) => (
                <div
                  style={{ width: `${(ms / d.window_ms) * 100}%`, background: gapColour(theme, cause), color: theme.onFill }}
                  onMouseMove={(event) => showTooltip(event.clientX, event.clientY, `idle: ${IDLE_WORDS[cause]}`, [["time", `${format.time(ms * 1e6)} · ${format.percent(ms / d.window_ms)}`], [GAP_WORDS[cause]]])}
                  onMouseLeave={hideTooltip}
                >
                  {ms / d.window_ms > 0.06 ? IDLE_WORDS[cause] : ""}
                </div>
              ))}
            </div>
          </div>
        );
      })}
      {gaps.length > 0 && (
        <ul class="gaps" data-role="gaps">
          {gaps.map((row) => (
            <li>
              <a href={`#timeline?sel=gap:${row}`} onClick={(event) => { event.preventDefault(); showGap(store, model, row); }}>
                <bdi>{gapSentence(model, row)}</bdi>
              </a>
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

export function gapColour(theme: ViewProps["theme"], cause: (typeof GAP_CAUSES)[number]): string {
  return { host: theme.named.blue, sync: theme.named.red, kernel: theme.named.grey, other: theme.named.sand }[cause];
}
