// What a picture is drawn with. The same drawing code fills a canvas on the
// screen or writes an SVG file, so an export shows exactly what is shown.

export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void;
  text(text: string, x: number, y: number, fill: string, size: number, weight?: number): void;
  line(points: number[], stroke: string, thickness: number, dash?: number[]): void;
  dot(x: number, y: number, radius: number, fill: string): void;
  // Columns one wide, each a stack of colours from the bottom; `shares` holds
  // `colours.length` parts per column, of which 1 fills the height.
  strip(x: number, y: number, columns: number, height: number, shares: Float64Array, colours: string[]): void;
  clip(x: number, y: number, width: number, height: number): void;
  unclip(): void;
}

export const FONT = '-apple-system, "Segoe UI", Inter, Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif';

export class CanvasPen implements Pen {
  private lastFill = "";
  private lastFont = "";
  constructor(private readonly ctx: CanvasRenderingContext2D) {}
  rect(x: number, y: number, width: number, height: number, fill: string): void {
    if (fill !== this.lastFill) this.ctx.fillStyle = this.lastFill = fill;
    this.ctx.fillRect(x, y, width, height);
  }
  frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void {
    this.ctx.strokeStyle = stroke;
    this.ctx.lineWidth = thickness;
    this.ctx.strokeRect(x + thickness / 2, y + thickness / 2, width - thickness, height - thickness);
  }
  text(text: string, x: number, y: number, fill: string, size: number, weight = 400): void {
    const font = `${weight} ${size}px ${FONT}`;
    if (font !== this.lastFont) this.ctx.font = this.lastFont = font;
    if (fill !== this.lastFill) this.ctx.fillStyle = this.lastFill = fill;
    this.ctx.fillText(text, x, y);
  }
  line(points: number[], stroke: string, thickness: number, dash?: number[]): void {
    const { ctx } = this;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = thickness;
    ctx.setLineDash(dash ?? []);
    ctx.beginPath();
    ctx.moveTo(points[0], points[1]);
    for (let i = 2; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
    ctx.stroke();
    if (dash) ctx.setLineDash([]);
  }
  dot(x: number, y: number, radius: number, fill: string): void {
    this.ctx.fillStyle = this.lastFill = fill;
    this.ctx.beginPath();
    this.ctx.arc(x, y, radius, 0, 2 * Math.PI);
    this.ctx.fill();
  }
  // Thousands of small rectangles are slow on a canvas without a GPU; one image is not.
  strip(x: number, y: number, columns: number, height: number, shares: Float64Array, colours: string[]): void {
    if (columns < 1) return;
    scratch ??= document.createElement("canvas");
    const tall = Math.round(height * 2);
    if (scratch.width !== columns || scratch.height !== tall) {
      scratch.width = columns;
      scratch.height = tall;
    }
    const inner = scratch.getContext("2d", { willReadFrequently: true })!;
    const image = inner.createImageData(columns, tall);
    const pixels = new Uint32Array(image.data.buffer);
    const fills = colours.map((c) => (0xff000000 | (hex(c, 5) << 16) | (hex(c, 3) << 8) | hex(c, 1)) >>> 0);
    for (let px = 0; px < columns; px++) {
      let sum = 0;
      for (let c = 0; c < fills.length; c++) sum += shares[px * fills.length + c];
      if (sum < 0.004) continue;
      const scale = tall / Math.max(1, sum);
      let filled = 0;
      for (let c = 0; c < fills.length; c++) {
        const next = filled + shares[px * fills.length + c] * scale;
        for (let row = Math.round(filled); row < Math.round(next); row++) pixels[(tall - 1 - row) * columns + px] = fills[c];
        filled = next;
      }
    }
    inner.putImageData(image, 0, 0);
    this.ctx.drawImage(scratch, x, y, columns, height);
  }
  clip(x: number, y: number, width: number, height: number): void {
    this.ctx.save();
    this.ctx.beginPath();
    this.ctx.rect(x, y, width, height);
    this.ctx.clip();
  }
  unclip(): void {
    this.ctx.restore();
    this.lastFill = this.lastFont = "";
  }
}

let scratch: HTMLCanvasElement | null = null;

function hex(colour: string, at: number): number {
  return parseInt(colour.slice(at, at + 2), 16);
}

export class SvgPen implements Pen {
  private parts: string[] = [];
  private clips = 0;
  rect(x: number, y: number, width: number, height: number, fill: string): void {
    this.parts.push(`<rect x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}" fill="${fill}"/>`);
  }
  frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void {
    this.parts.push(
      `<rect x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}" fill="none" stroke="${stroke}" stroke-width="${thickness}"/>`,
    );
  }
  text(text: string, x: number, y: number, fill: string, size: number, weight = 400): void {
    this.parts.push(
      `<text x="${r(x)}" y="${r(y)}" fill="${fill}" font-size="${size}" font-weight="${weight}">${escapeXml(text)}</text>`,
    );
  }
  line(points: number[], stroke: string, thickness: number, dash?: number[]): void {
    const dashed = dash ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(
      `<polyline points="${points.map(r).join(" ")}" fill="none" stroke="${stroke}" stroke-width="${thickness}"${dashed}/>`,
    );
  }
  dot(x: number, y: number, radius: number, fill: string): void {
    this.parts.push(`<circle cx="${r(x)}" cy="${r(y)}" r="${radius}" fill="${fill}"/>`);
  }
  strip(x: number, y: number, columns: number, height: number, shares: Float64Array, colours: string[]): void {
    for (let px = 0; px < columns; px++) {
      const parts = colours.map((_, c) => shares[px * colours.length + c]);
      const scale = height / Math.max(1, parts.reduce((a, b) => a + b, 0));
      let bottom = y + height;
      parts.forEach((part, c) => {
        if (part * scale < 0.15) return;
        bottom -= part * scale;
        this.rect(x + px, bottom, 1, part * scale, colours[c]);
      });
    }
  }
  clip(x: number, y: number, width: number, height: number): void {
    const id = `c${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}"/></clipPath><g clip-path="url(#${id})">`,
    );
  }
  unclip(): void {
    this.parts.push("</g>");
  }
  document(width: number, height: number, background: string): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `font-family="${escapeXml(FONT)}"><rect width="100%" height="100%" fill="${background}"/>${this.parts.join("\n")}</svg>`
    );
  }
}

function r(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

// As much of a label as fits; an average glyph is a bit over half the font size.
export function fit(text: string, width: number, size: number): string {
  const room = Math.floor(width / (size * 0.56));
  if (room < 3) return "";
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}
