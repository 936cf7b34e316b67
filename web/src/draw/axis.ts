// The part of an axis that is shown: zoomed around a point, moved, never beyond the whole. A picture with one
// such axis extends it; the address keeps the shown part as a word, in shares of the whole or in whole units.

export interface Zoomable {
  zoomAt(share: number, factor: number, across?: number): void; // shares of the plot; factor < 1 shows less
  pan(share: number): void;
  reset(): void;
  word: string | null; // null: all of it
  read(word: string): void;
}

export class Axis implements Zoomable {
  from: number;
  to: number;

  constructor(
    readonly low: number,
    readonly high: number,
    private readonly least: number, // the smallest stretch that can be shown
    private readonly inUnits = false, // the word is in whole units, else in shares
  ) {
    this.from = low;
    this.to = high;
  }

  show(from: number, span: number): void {
    const wanted = Math.min(this.high - this.low, Math.max(Math.min(this.least, this.high - this.low), span));
    this.from = Math.max(this.low, Math.min(this.high - wanted, from));
    this.to = Math.min(this.high, this.from + wanted);
  }

  zoomAt(share: number, factor: number): void {
    const span = this.to - this.from;
    const wanted = Math.min(this.high - this.low, Math.max(this.least, span * factor));
    this.show(this.from + (span - wanted) * share, wanted);
  }

  pan(share: number): void {
    const span = this.to - this.from;
    this.show(this.from + span * share, span);
  }

  reset(): void {
    this.show(this.low, this.high - this.low);
  }

  // Where a value lies in what is shown, 0 to 1.
  share(value: number): number {
    return (value - this.from) / (this.to - this.from);
  }

  at(share: number): number {
    return this.from + share * (this.to - this.from);
  }

  get word(): string | null {
    const whole = this.high - this.low;
    if (this.to - this.from >= whole * 0.999999) return null;
    const one = (v: number) => (this.inUnits ? String(Math.round(v)) : ((v - this.low) / whole).toFixed(9));
    return `${one(this.from)}-${one(this.to)}`;
  }

  read(word: string): void {
    const found = /^([\d.]+)-([\d.]+)$/.exec(word);
    if (!found) return this.reset();
    const [from, to] = [Number(found[1]), Number(found[2])].map((v) => (this.inUnits ? v : this.low + v * (this.high - this.low)));
    if (Number.isFinite(from) && to > from) this.show(from, to - from);
    else this.reset();
  }
}
