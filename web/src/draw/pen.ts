// What a picture is drawn with. The same drawing code fills a canvas on the
// screen or writes an SVG file, so an export shows exactly what is shown.

export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  frame(x: number, y: number, width: number, height: number, stroke: string, thickness: number): void;
  text(text: string, x: number, y: number, fill: string, size: number, weight?: number): void;
  line(points: number[], stroke: string, thickness: number, dash?: number[]): void;
  dot(x: number, y: number, radius: number, fill: string): void;
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
