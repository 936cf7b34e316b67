// The report in Debian's Firefox, by WebDriver BiDi over a local socket: Playwright drives only its own build of Firefox.
// Prints one JSON object: sentence → "ok" or what was seen.   node --experimental-websocket firefox.mjs report.html VIEW …

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [file, ...views] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "sonde-firefox-"));
const firefox = spawn(process.env.SONDE_FIREFOX || "/usr/bin/firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], {
  env: { ...process.env, HOME: profile, MOZ_REMOTE_SETTINGS_DEVTOOLS: "0" }, stdio: ["ignore", "ignore", "pipe"],
});
const address = await new Promise((resolve, reject) => {
  let text = "";
  firefox.stderr.on("data", (part) => {
    text += part;
    const found = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(text);
    if (found) resolve(found[1]);
  });
  firefox.on("exit", () => reject(new Error(`Firefox ended: ${text.slice(-500)}`)));
});
const socket = new WebSocket(`${address}/session`);
await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
const waiting = new Map();
const problems = [];
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.method === "log.entryAdded" && ["error", "warn"].includes(message.params.level)) problems.push(message.params.text);
  if (!waiting.has(message.id)) return;
  const { resolve, reject } = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.type === "error") reject(new Error(message.message));
  else resolve(message.result);
};
let last = 0;
const send = (method, params) =>
  new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    socket.send(JSON.stringify({ id: last, method, params }));
  });

await send("session.new", { capabilities: {} });
await send("session.subscribe", { events: ["log.entryAdded"] });
const { contexts } = await send("browsingContext.getTree", {});
const { context } = contexts[0];
await send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 800 } });
const run = async (code) => {
  const found = await send("script.evaluate", { expression: code, target: { context }, awaitPromise: true });
  if (found.type === "exception") throw new Error(found.exceptionDetails.text);
  return found.result.value;
};
const READY = `(async () => { for (let i = 0; i < 300 && !document.documentElement.dataset.ready; i++) await new Promise((r) => setTimeout(r, 50)); return document.documentElement.dataset.ready; })()`;
const results = {};
const check = async (name, hash, code) => {
  problems.length = 0;
  await send("browsingContext.navigate", { context, url: "about:blank", wait: "complete" });
  await send("browsingContext.navigate", { context, url: `file://${file}${hash}`, wait: "complete" });
  try {
    await run(READY);
    const seen = await run(code);
    results[name] = problems.length ? problems.join("; ") : seen === true ? "ok" : String(seen).slice(0, 200);
  } catch (error) {
    results[name] = error.message;
  }
};
try {
  for (const view of views) {
    await check(`${view} opens in Firefox without an error and fits`, `#${view}`, `(() => { const part = document.querySelector('[data-view="${view}"], .empty'); if (!part) return document.body.innerText; return document.documentElement.scrollWidth <= innerWidth || "too wide"; })()`);
  }
  await check("the timeline is drawn, and a key selects something", "#timeline", `(async () => {
    const host = document.querySelector(".chart"); const canvas = host.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    if (new Set(new Uint32Array(data.buffer)).size < 8) return "an empty picture";
    host.focus(); host.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await new Promise((r) => setTimeout(r, 100));
    return Boolean(document.querySelector("[data-role=panel] h2")) || "no panel";
  })()`);
  console.log(JSON.stringify(results));
} finally {
  socket.close();
  firefox.kill();
  await new Promise((resolve) => (firefox.exitCode === null ? firefox.on("exit", resolve) : resolve()));
  rmSync(profile, { recursive: true, force: true });
}
