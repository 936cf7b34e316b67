// Small building blocks of every view: segmented choice, switch, empty state,
// export menu, legend.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copyText, download } from "./save";
import type { Chart } from "../draw/chart";
import type { Store } from "../data/store";

// Arrow keys in a row of choices or tabs: the next one is chosen and has the focus, as WAI-ARIA asks.
export function tabKeys(event: KeyboardEvent): void {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=radio], [role=tab]")];
  const next = all[(all.indexOf(document.activeElement as HTMLElement) + step + all.length) % all.length];
  event.preventDefault();
  event.stopPropagation();
  next?.focus();
  next?.click();
}

export function Choice(props: {
  label: string;
  value: string;
  options: [string, string, string?][]; // value, text, tooltip
  onChange: (value: string) => void;
}) {
  return (
    <div class="choice" role="radiogroup" aria-label={props.label} onKeyDown={tabKeys}>
      {props.options.map(([value, text, title]) => (
        <button
          type="button"
          role="radio"
          aria-checked={value === props.value}
          tabIndex={value === props.value ? 0 : -1}
          title={title}
          data-value={value}
          onClick={() => props.onChange(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

export function Toggle(props: { on: boolean; title: string; name: string; onChange: (on: boolean) => void; children: ComponentChildren }) {
  return (
    <button type="button" class="toggle" aria-pressed={props.on} title={props.title} data-toggle={props.name} onClick={() => props.onChange(!props.on)}>
      {props.children}
    </button>
  );
}

// A select that stays usable with five thousand entries: the first 300 by weight.
export function Pick(props: { label: string; bare?: boolean; value: string; options: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label class="pick">
      {!props.bare && <span>{props.label}</span>}
      <select value={props.value} aria-label={props.label} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.slice(0, 300).map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </label>
  );
}

// What a view says when the recording has nothing for it.
export function Empty(props: { title: string; children: ComponentChildren; command?: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      <p>{props.children}</p>
      {props.command && (
        <p class="command">
          <code>{props.command}</code>
          <button type="button" onClick={async () => setCopied(await copyText(props.command!))}>
            {copied ? "copied" : "copy"}
          </button>
        </p>
      )}
    </div>
  );
}

export function ExportMenu(props: { items: [string, () => void][] }) {
  const [open, setOpen] = useState(false);
  return (
    <div class="export">
      <button type="button" aria-expanded={open} aria-haspopup="menu" onClick={() => setOpen(!open)} title="Save or copy what is shown">
        Export
      </button>
      {open && (
        <div class="menu" role="menu">
          {props.items.map(([name, run]) => (
            <button
              type="button"
              role="menuitem"
              onClick={() => {
                setOpen(false);
                run();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function Legend(props: { items: [string, string, string?][] }) {
  return (
    <div class="legend">
      {props.items.map(([text, colour, title]) => (
        <span title={title}>
          <i style={{ background: colour }} />
          {text}
        </span>
      ))}
    </div>
  );
}

// A picture as a file; `of` says which when there are several.
export function pictureItems(file: string, chart: () => Chart | null, of = "this picture"): [string, () => void][] {
  return [
    [`SVG of ${of}`, () => download(`${file}.svg`, chart()!.svg(), "image/svg+xml")],
    [`PNG of ${of}`, async () => download(`${file}.png`, (await chart()!.png())!)],
  ];
}

export function linkItem(store: Store): [string, () => void] {
  return ["Copy link to this view", () => void copyText(location.href.split("#")[0] + store.hash())];
}
