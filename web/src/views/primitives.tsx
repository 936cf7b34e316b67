// Primitives: what oneDNN and MKL really ran, with the roofline of the machine.

import { useMemo, useRef } from "preact/hooks";
import { RooflinePicture, type Dot, type Roofs } from "../draw/roofline";
import type { Chart } from "../draw/chart";
import { Canvas } from "../ui/canvas";
import { primitiveRows, type PrimitiveRow } from "../calc/primitives";
import { Empty, ExportMenu, Legend, linkItem, pictureItems } from "../ui/parts";
import { DataTable } from "../ui/table";
import { hideTooltip, showTooltip } from "../ui/tooltip";
import { keyZoom, useZoom, wheelZoom } from "../ui/zoom";
import type { ViewProps } from "../ui/context";
import { SPIN, type Model } from "../data/model";
import * as format from "../calc/format";

const QUALITY = ["good", "fallback", "reference"];

export function PrimitivesView({ model, store, theme, match }: ViewProps) {
  const range = store.range;
  const follows = range !== null && model.has("primitivecalls");
  const rows = useMemo(() => primitiveRows(model, follows ? range : null), [model, follows, range?.[0], range?.[1]]);
  const chart = useRef<Chart | null>(null);
  const run = rows.filter((row) => row.event.startsWith("exec") || !row.event);
  const sum = run.reduce((total, row) => total + row.ms, 0) || 1;
  const picture = useMemo(() => {
    const dots: Dot[] = run
      .filter((row) => row.flops > 0 && row.bytes > 0 && row.ms > 0)
      .map((row) => ({
        name: `${row.kind} ${row.shape}`, detail: row.implementation, intensity: row.flops / row.bytes, rate: row.flops / (row.ms / 1e3),
        share: row.ms / sum, quality: QUALITY.includes(row.quality) ? QUALITY.indexOf(row.quality) : 3,
      }));
    return dots.length ? new RooflinePicture(dots, roofsOf(model, dots), 330) : null;
  }, [rows]);
  if (!model.has("primitives")) {
    return (
      <Empty title="No oneDNN or MKL calls were recorded" command="sonde run --primitives your_script.py">
        Primitives come from the libraries' own verbose logs (a log made with ONEDNN_VERBOSE=2 can be opened as it is: sonde report onednn.log). To record them:
      </Empty>
    );
  }
  const shown = rows.filter((row) => !match.active || match.test(row.kind) || match.test(row.implementation) || match.test(row.shape));
  const worst = run.filter((row) => row.quality === "reference" || row.quality === "fallback").reduce((total, row) => total + row.ms, 0);
  return (
    <section class="view" data-view="primitives">
      {range && (
        <p class="note" data-role="primitives-note">
          {follows ? "Calls that began in the selected range." : "The log has no times of day, so the selected range does not apply: this is the whole recording."}
        </p>
      )}
      {picture && (
        <article class="card">
          <header>
            <h2>Roofline</h2>
            <span class="note">
              each dot is one problem, its size the share of {format.time(sum * 1e6)} of primitive time
              {worst > 0 ? `; ${format.percent(worst / sum)} of it runs in fallback or reference code` : ""}
            </span>
            <ExportMenu
              items={[
                ...pictureItems("roofline", () => chart.current),
                linkItem(store),
              ]}
            />
          </header>
          <Roofline picture={picture} store={store} theme={theme} match={match} chartRef={(c) => (chart.current = c)} />
          <Legend items={[["good code", theme.layer[2]], ["fallback", theme.layer[4]], ["reference", theme.category[SPIN]], ["vendor's own or unknown", theme.layer[7]]]} />
          {!picture.roofs?.measured && <p class="note">The dashed roof is the best seen in this recording. Measure this machine's own before recording: sonde check --roof</p>}
        </article>
      )}
      <DataTable<PrimitiveRow>
        id="primitives"
        store={store}
        rows={shown}
        sort="ms"
        file="primitives"
        note={`percentages are of ${format.time(sum * 1e6)}, all execution time the libraries printed`}
        columns={[
          { id: "kind", title: "Kind", meaning: "Kind of primitive", width: "minmax(70px, 110px)", value: (row) => (row.event.startsWith("exec") || !row.event ? row.kind : `${row.kind} (${row.event})`) },
          { id: "implementation", title: "Implementation", meaning: "What the library chose; ref means unoptimised", width: "minmax(100px, 0.8fr)", value: (row) => row.implementation },
          { id: "quality", title: "Quality", meaning: "Good, fallback, reference, vendor or unknown", width: "90px", wide: true, value: (row) => row.quality },
          { id: "shape", title: "Problem", meaning: "Shape as printed", width: "minmax(90px, 1fr)", value: (row) => row.shape },
          { id: "dtypes", title: "Types", meaning: "Data types: source, weights, bias, destination", width: "110px", wide: true, value: (row) => row.dtypes },
          { id: "calls", title: "Calls", meaning: "Number of calls", width: "70px", wide: true, value: (row) => row.calls, show: (row) => format.count(row.calls) },
          { id: "ms", title: "Time", meaning: "Time as the library printed it", width: "minmax(110px, 130px)", value: (row) => row.ms, show: (row) => `${format.time(row.ms * 1e6)}  ${format.percent(row.ms / sum)}`, bar: (row) => row.ms / sum },
          { id: "rate", title: "FLOP/s", meaning: "Floating point operations by time; – when unknown", width: "90px", wide: true, value: (row) => row.flops / (row.ms / 1e3), show: (row) => (row.flops > 0 ? format.scaled(row.flops / (row.ms / 1e3), "") : "–") },
          { id: "bandwidth", title: "GB/s", meaning: "Bytes that must move by time", width: "80px", wide: true, value: (row) => row.bytes / (row.ms / 1e3), show: (row) => (row.bytes > 0 ? format.digits(row.bytes / (row.ms / 1e3) / 1e9) : "–") },
        ]}
      />
    </section>
  );
}

function Roofline(props: Pick<ViewProps, "store" | "theme" | "match"> & { picture: RooflinePicture; chartRef: (chart: Chart | null) => void }) {
  const { picture, store, theme, match } = props;
  const changed = useZoom(picture, store.get("roofline.shown", ""), (word) => store.set({ "roofline.shown": word }));
  picture.matches = match.active ? (dot) => match.test(dot.name) || match.test(dot.detail) : null;
  return (
    <Canvas
      picture={picture}
      theme={theme}
      label="Roofline plot. Ctrl+wheel or W S zooms, A D moves, 0 shows all."
      height="330px"
      class="flat"
      chartRef={props.chartRef}
      handlers={{
        move(c, x, y, event) {
          const i = picture.hit(x, y, c.width, c.height);
          if (i !== picture.hover) {
            picture.hover = i;
            c.redraw();
          }
          if (i < 0) return hideTooltip();
          const dot = picture.dots[i];
          const roofs = picture.roofs;
          const lid = roofs ? Math.min(roofs.peak, dot.intensity * roofs.bandwidth) : NaN;
          showTooltip(event.clientX, event.clientY, dot.name, [
            ["implementation", dot.detail],
            ["achieved", format.scaled(dot.rate, "FLOP/s")],
            ["intensity", `${format.digits(dot.intensity)} FLOP/B`],
            ["of the roof above it", format.percent(dot.rate / lid)],
            ["share of primitive time", format.percent(dot.share)],
          ]);
        },
        leave(c) {
          picture.hover = -1;
          hideTooltip();
          c.redraw();
        },
        wheel(c, x, y, event) {
          if (!wheelZoom(picture, event, c.width, ...picture.shareAt(x, y, c.width, c.height))) return false;
          changed(c);
          return true;
        },
        key(c, event) {
          if (!keyZoom(picture, event)) return false;
          changed(c);
          return true;
        },
      }}
    />
  );
}

// Peak and bandwidth from the machine's own measurement, if it has one.
function roofsOf(model: Model, dots: Dot[]): Roofs {
  const told = model.facts.roof;
  if (told && told.peak > 0 && told.bandwidth > 0) return { peak: told.peak, bandwidth: told.bandwidth, measured: true };
  return { peak: Math.max(...dots.map((d) => d.rate)), bandwidth: Math.max(...dots.map((d) => d.rate / d.intensity)), measured: false };
}
