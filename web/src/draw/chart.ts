// A drawing surface that scrolls: a tall element gives the scroll bar its
// length, a canvas of the visible size stays in place and is redrawn. So a
// flame of ten thousand levels costs no more than what is on the screen.

import { CanvasPen, SvgPen, type Pen } from "./pen";
import type { Theme } from "./theme";

export interface Picture {
  // Height of everything for a given width.
  height(width: number): number;
  draw(pen: Pen, width: number, top: number, height: number, theme: Theme): void;
}

export class Chart {
  readonly canvas: HTMLCanvasElement;
  width = 0;
  height = 0;
  theme: Theme;
  readonly frameTimes: number[] = [];
  private readonly spacer: HTMLDivElement;
  private pending = 0;
  private readonly observer: ResizeObserver;

  constructor(
    readonly host: HTMLDivElement,
    public picture: Picture,
    theme: Theme,
  ) {
    this.theme = theme;
    this.canvas = document.createElement("canvas");
    this.spacer = document.createElement("div");
    this.spacer.style.pointerEvents = "none";
    host.append(this.canvas, this.spacer);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(host);
    host.addEventListener("scroll", this.onScroll, { passive: true });
    this.resize();
  }

  private onScroll = () => this.redraw();

  get top(): number {
    return this.host.scrollTop;
  }

  resize(): void {
    const width = this.host.clientWidth;
    const height = this.host.clientHeight;
    if (!width || !height) return;
    this.width = width;
    this.height = height;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.measure();
    this.drawNow();
  }

  // To call after the picture's content changed.
  measure(): void {
    const total = this.picture.height(this.width);
    this.spacer.style.height = `${Math.max(0, total - this.height)}px`;
  }

  redraw(): void {
    if (!this.pending) {
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.drawNow();
      });
    }
  }

  drawNow(): void {
    if (!this.width) return;
    const start = performance.now();
    const ctx = this.canvas.getContext("2d")!;
    const scale = window.devicePixelRatio || 1;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.textBaseline = "alphabetic";
    this.picture.draw(new CanvasPen(ctx), this.width, this.top, this.height, this.theme);
    this.frameTimes.push(performance.now() - start);
    if (this.frameTimes.length > 600) this.frameTimes.splice(0, 300);
  }

  svg(): string {
    const pen = new SvgPen();
    this.picture.draw(pen, this.width, this.top, this.height, this.theme);
    return pen.document(this.width, this.height, this.theme.panel);
  }

  png(): Promise<Blob | null> {
    const copy = document.createElement("canvas");
    copy.width = this.canvas.width;
    copy.height = this.canvas.height;
    const ctx = copy.getContext("2d")!;
    ctx.fillStyle = this.theme.panel;
    ctx.fillRect(0, 0, copy.width, copy.height);
    ctx.drawImage(this.canvas, 0, 0);
    return new Promise((resolve) => copy.toBlob(resolve, "image/png"));
  }

  dispose(): void {
    this.observer.disconnect();
    this.host.removeEventListener("scroll", this.onScroll);
    if (this.pending) cancelAnimationFrame(this.pending);
    this.host.replaceChildren();
  }
}
