// One tooltip for the whole page, filled as text (names are never markup).

let box: HTMLDivElement | null = null;

export type Lines = [string, string?][]; // a line, or a name and its value

export function showTooltip(x: number, y: number, title: string, lines: Lines): void {
  if (!box) {
    box = document.createElement("div");
    box.className = "tooltip";
    box.setAttribute("role", "tooltip");
    document.body.append(box);
  }
  const heading = document.createElement("b");
  heading.textContent = title.length > 400 ? `${title.slice(0, 400)}…` : title;
  const parts: Node[] = [heading];
  for (const [name, value] of lines) {
    const row = document.createElement("div");
    if (value === undefined) {
      row.className = "note";
      row.textContent = name;
    } else {
      const left = document.createElement("span");
      const right = document.createElement("span");
      left.textContent = name;
      right.textContent = value;
      row.append(left, right);
    }
    parts.push(row);
  }
  box.replaceChildren(...parts);
  box.style.display = "block";
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = Math.min(x + 14, window.innerWidth - width - 8);
  const top = y + 18 + height > window.innerHeight ? y - height - 10 : y + 18;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, top)}px`;
}

export function hideTooltip(): void {
  if (box) box.style.display = "none";
}
