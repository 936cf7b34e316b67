// WCAG AA over the page as drawn: every visible text against the nearest
// opaque ground behind it; 4.5 to 1, or 3 to 1 when it is large.

export function contrastProblems(page) {
  return page.evaluate(() => {
    const parse = (colour) => {
      const found = /rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:[,/ ]+([\d.]+))?/.exec(colour);
      return found ? [Number(found[1]), Number(found[2]), Number(found[3]), found[4] === undefined ? 1 : Number(found[4])] : [0, 0, 0, 0];
    };
    const light = ([r, g, b]) => {
      const part = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const ground = (element) => {
      const layers = [];
      for (let at = element; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour[3] > 0) layers.push(colour);
        if (colour[3] === 1) break;
      }
      return layers.reverse().reduce((below, [r, g, b, a]) => [r * a + below[0] * (1 - a), g * a + below[1] * (1 - a), b * a + below[2] * (1 - a)], [255, 255, 255]);
    };
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const style = getComputedStyle(element);
      if (!own || style.visibility === "hidden" || style.display === "none" || !element.getClientRects().length) continue;
      const text = parse(style.color);
      const behind = ground(element);
      const [a, b] = [light(text), light(behind)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} "${element.textContent.trim().slice(0, 30)}"`);
    }
    return found;
  });
}
