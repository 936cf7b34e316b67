// Machine: where it ran, with which versions and settings, what is wrong with
// that, and the system's counters over the run.

import { useMemo } from "preact/hooks";
import { counterSeries } from "../calc/counters";
import { CurveCard } from "../ui/curve";
import { ExportMenu, linkItem } from "../ui/parts";
import { copyText, csv, download } from "../ui/save";
import { Fix } from "./insights";
import type { ViewProps } from "../ui/context";
import type { Json } from "../data/facts";
import * as format from "../calc/format";

type Fact = [string, string];

export function MachineView({ model, store, theme, match }: ViewProps) {
  const meta = model.facts.meta ?? {};
  const groups = useMemo(() => {
    const command = Array.isArray(meta.command) ? meta.command.join(" ") : "";
    const run: Fact[] = [
      ["command", command], ["directory", meta.directory ?? ""], ["started", meta.started ?? ""],
      ["duration", format.time(model.duration)], ["exit code", meta.exit_code === null || meta.exit_code === undefined ? "" : String(meta.exit_code)],
      ["recorded by", `${meta.source === "run" ? "sonde run" : `import of ${meta.source}`} ${meta.sonde_version ?? ""}`],
    ];
    const ran: Fact[] = (model.answer("machine")?.kernels ?? []).map(({ library, isa, share, samples, heaviest }) => [
      `${library} ${isa ?? "(no instruction set in the name)"}`, `${format.percent(share)} of running time, ${format.count(samples)} samples, most in ${heaviest}`,
    ]);
    return ([
      ["Run", run], ["Kernels that actually ran, seen in samples", ran], ["Machine", flat(meta.machine)], ["Versions", flat(meta.versions)], ["Environment", flat(meta.environment)],
      ["Options", flat(meta.options)], ["Details of the source", flat(meta.details)],
    ] as [string, Fact[]][])
      .map(([name, list]) => [name, list.filter(([k, v]) => v !== "" && (!match.active || match.test(k) || match.test(v)))] as [string, Fact[]])
      .filter(([, list]) => list.length);
  }, [model, match]);
  const counters = useMemo(() => counterSeries(model).filter((c) => c.times.length > 1 && !/rss_bytes$/.test(c.name)).map((c) => ({ ...c, drawn: c.rate && c.name.endsWith("_ns") ? cores(c.series) : c.series })), [model]);
  const findings = model.facts.findings ?? [];
  const markdown = () => groups.map(([name, list]) => `### ${name}\n\n| | |\n|---|---|\n${list.map(([k, v]) => `| ${k} | ${v.replace(/\|/g, "\\|")} |`).join("\n")}`).join("\n\n");
  return (
    <section class="view" data-view="machine">
      <div class="bar">
        <span class="note">What a colleague needs to repeat this run. Values that look like secrets are hidden.</span>
        <ExportMenu
          items={[
            ["Copy as Markdown for an issue", () => void copyText(markdown())],
            ["CSV of these facts", () => download("machine.csv", csv([["group", "fact", "value"], ...groups.flatMap(([name, list]) => list.map(([k, v]) => [name, k, v]))]), "text/csv")],
            ...(counters.length ? [["CSV of the counters", () => download("counters.csv", csv(counterRows(counters)), "text/csv")] as [string, () => void]] : []),
            linkItem(store),
          ]}
        />
      </div>
      {findings.length > 0 && (
        <div class="insights">
          {findings.map((f) => (
            <article class="insight">
              <header>
                <h2>{String(f.what ?? f.title ?? "finding")}</h2>
                <b class="note">{String(f.severity ?? "")}</b>
              </header>
              <p>{String(f.why ?? "")}</p>
              {f.fix && <Fix text={String(f.fix)} />}
            </article>
          ))}
        </div>
      )}
      <div class="cards">
        {groups.map(([name, list]) => (
          <article class="card">
            <header>
              <h2>{name}</h2>
            </header>
            <dl class="facts">
              {list.map(([key, value]) => (
                <div>
                  <dt>{key}</dt>
                  <dd>
                    <bdi>{value}</bdi>
                  </dd>
                </div>
              ))}
            </dl>
          </article>
        ))}
      </div>
      {counters.slice(0, 24).map((c) => (
        <CurveCard
          title={c.name.replace(/_/g, " ").replace(/ ns$/, "")}
          note={`${c.process < 0 ? "machine" : `process ${c.process}`}${c.rate ? (c.name.endsWith("_ns") ? ", cores in use" : ", per second") : ""}`}
          file={c.name}
          unit={c.rate && !c.name.endsWith("_ns") ? "per second" : c.name.endsWith("bytes") ? "bytes" : "value"}
          label={c.label}
          times={c.times}
          series={c.drawn}
          show={c.name.endsWith("bytes") ? format.bytes : (v) => format.digits(v)}
          theme={theme}
          height={150}
          store={store}
        />
      ))}
    </section>
  );
}

// Readings as drawn: rates where a counter only grows.
function counterRows(counters: ReturnType<typeof counterSeries>): (string | number)[][] {
  const rows: (string | number)[][] = [["counter", "process", "time_ns", "value"]];
  for (const c of counters) {
    c.series[0].values.forEach((value, i) => value !== null && rows.push([c.name, c.process, c.times[i], value]));
  }
  return rows;
}

function cores(series: { name: string; values: (number | null)[] }[]) {
  return series.map((s) => ({ name: "cores", values: s.values.map((v) => (v === null ? null : v / 1e9)) }));
}

// Nested facts as "a.b" rows.
function flat(value: Json | undefined, prefix = ""): Fact[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [[prefix, typeof value === "number" && /bytes$/.test(prefix) ? format.bytes(value) : String(value)]];
  if (Array.isArray(value) && value.every((v) => typeof v !== "object")) return [[prefix, value.join(", ")]];
  return Object.entries(value).flatMap(([k, v]) => flat(v, prefix ? `${prefix}.${k}` : k));
}
