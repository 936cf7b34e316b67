// The frame around the views: title, tabs, search, range, theme.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Model } from "./data/model";
import { Store, useStore } from "./data/store";
import { matcher } from "./calc/search";
import { steadyRange } from "./calc/layers";
import { DARK_THEME, LIGHT_THEME } from "./draw/theme";
import { Panel } from "./ui/panel/panel";
import { tabKeys } from "./ui/parts";
import { hideTooltip } from "./ui/tooltip";
import { VIEWS } from "./views/registry";
import * as format from "./calc/format";

export function App({ models, store }: { models: Model[]; store: Store }) {
  useStore(store);
  const comparing = models.length > 1;
  const side = comparing && store.get("side", "b") === "a" ? 0 : models.length - 1;
  const model = models[side];
  const dark = useDark(store);
  const theme = dark ? DARK_THEME : LIGHT_THEME;
  const q = store.get("q", "");
  const regex = store.flag("re", false);
  const match = useMemo(() => matcher(q, regex), [q, regex]);
  const input = useRef<HTMLInputElement>(null);
  const views = VIEWS.filter((view) => (!view.comparison || comparing) && (view.id === store.view || (view.there?.(model) ?? true)));
  const view = views.find((v) => v.id === store.view) ?? views[0];
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  useEffect(() => {
    hideTooltip();
    document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view.id]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest?.("input, select, textarea");
      if (event.key === "Escape" && typing) (event.target as HTMLElement).blur();
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") {
        event.preventDefault();
        input.current?.focus();
        input.current?.select();
      } else if (event.key === "?") store.open("guide");
      else if (event.key === "t") store.set({ theme: dark ? "light" : "dark" });
      else if (event.key === "Escape" && store.get("sel", "")) store.set({ sel: null, tab: null });
      else if (event.key === "Escape" && store.range) store.setRange(null);
      else if (event.key === "[" || event.key === "]") {
        const at = views.indexOf(view) + (event.key === "]" ? 1 : -1);
        store.open(views[(at + views.length) % views.length].id);
      } else if (/^[1-9]$/.test(event.key) && views[Number(event.key) - 1]) store.open(views[Number(event.key) - 1].id);
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, [view, dark, comparing]);
  const range = store.range;
  const steady = useMemo(() => steadyRange(model), [model]);
  const onlySteady = Boolean(steady && range && Math.round(steady[0]) === range[0] && Math.round(steady[1]) === range[1]);
  const meta = model.facts.meta ?? {};
  const View = view.component;
  const props = { model, before: comparing ? models[0] : null, store, theme, match };
  return (
    <>
      <header class="top">
        <div class="title">
          <span class="logo" aria-hidden="true" />
          <div>
            <h1>
              <bdi>{model.facts.title}</bdi>
            </h1>
            <span class="note">
              {model.duration > 1 ? format.time(model.duration) : ""}
              {meta.started ? ` · ${String(meta.started).slice(0, 16).replace("T", " ")}` : ""}
              {meta.exit_code ? ` · exit code ${meta.exit_code}` : ""}
            </span>
          </div>
        </div>
        <div class="tools">
          {comparing && (
            <div class="choice" role="radiogroup" aria-label="Recording" onKeyDown={tabKeys}>
              {["a", "b"].map((name, i) => (
                <button type="button" role="radio" aria-checked={side === i} tabIndex={side === i ? 0 : -1} onClick={() => store.set({ side: name, sel: null })}>
                  {i ? "After" : "Before"}
                </button>
              ))}
            </div>
          )}
          {steady && (
            <button
              type="button"
              class="toggle"
              data-role="steady"
              aria-pressed={onlySteady}
              title="Leave out start, warm-up and end: every view shows only the steady steps"
              onClick={() => store.setRange(onlySteady ? null : steady)}
            >
              Steady steps
            </button>
          )}
          <div class={`search${match.error ? " wrong" : ""}`}>
            <input
              ref={input}
              type="search"
              placeholder="Search   /"
              aria-label="Search names"
              value={q}
              title={match.error ?? "Find names in every view"}
              onInput={(event) => store.set({ q: event.currentTarget.value || null })}
            />
            <button type="button" aria-pressed={regex} title="Regular expression" onClick={() => store.set({ re: regex ? null : "1" })}>
              .*
            </button>
          </div>
          <button type="button" class="icon" title="Light or dark (t)" aria-label="Switch theme" onClick={() => store.set({ theme: dark ? "light" : "dark" })}>
            {dark ? "☀" : "☾"}
          </button>
        </div>
      </header>
      <nav class="tabs" aria-label="Views">
        {views.map((v, i) => (
          <a
            href={`#${v.id}`}
            data-tab={v.id}
            aria-current={v.id === view.id ? "page" : undefined}
            class={v.empty(model) ? "dim" : ""}
            title={`${v.about}${i < 9 ? `  (${i + 1})` : ""}`}
            onClick={(event) => {
              event.preventDefault();
              store.open(v.id);
            }}
          >
            {v.title}
          </a>
        ))}
      </nav>
      {range && (
        <div class="range" data-role="range">
          <span>
            Range <b>{format.time(range[0])}</b> to <b>{format.time(range[1])}</b> ({format.time(range[1] - range[0])}, {format.percent((range[1] - range[0]) / model.duration)} of the recording): every view shows only this.
          </span>
          <button type="button" onClick={() => store.setRange(null)}>
            Clear
          </button>
        </div>
      )}
      <main>
        <View key={view.id} {...props} />
      </main>
      <Panel {...props} view={view.id} />
    </>
  );
}

function useDark(store: Store): boolean {
  const query = useMemo(() => window.matchMedia("(prefers-color-scheme: dark)"), []);
  const [system, setSystem] = useState(query.matches);
  useEffect(() => {
    const change = () => setSystem(query.matches);
    query.addEventListener("change", change);
    return () => query.removeEventListener("change", change);
  }, [query]);
  const chosen = store.get("theme", "");
  return chosen === "dark" || (chosen !== "light" && system);
}
