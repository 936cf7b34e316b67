// Entry: inflate the data, build the models, draw. A failure is said in words
// in the page, never as an empty screen.

import { render } from "preact";
import { App } from "./app";
import { decode, inflate } from "./data/payload";
import { Model } from "./data/model";
import { Store } from "./data/store";
import "./style.css";

async function boot(): Promise<void> {
  const started = performance.now();
  const app = document.getElementById("app")!;
  try {
    const blocks = [...document.querySelectorAll<HTMLScriptElement>('script[type="application/octet-stream"]')];
    const models: Model[] = [];
    for (const block of blocks) {
      models.push(new Model(decode(await inflate(block.textContent ?? ""))));
      block.textContent = ""; // the text is several megabytes
    }
    const store = new Store(location.hash || (models.length > 1 ? "#diff" : ""));
    window.addEventListener("popstate", () => {
      store.read(location.hash);
      store.notify();
    });
    window.addEventListener("hashchange", () => {
      if (location.hash !== store.hash()) {
        store.read(location.hash);
        store.notify();
      }
    });
    app.replaceChildren();
    render(<App models={models} store={store} />, app);
    document.documentElement.dataset.ready = String(Math.round(performance.now() - started));
  } catch (error) {
    const text = document.createElement("p");
    text.className = "boot";
    text.textContent = `This report could not be opened: ${error instanceof Error ? error.message : error}. A browser from 2023 or later is needed (DecompressionStream).`;
    app.replaceChildren(text);
    document.documentElement.dataset.ready = "failed";
    console.error(error);
  }
}

void boot();
