// One line of source with its colours.

import { tokens } from "../calc/highlight";

export function Code({ text }: { text: string }) {
  return (
    <code>
      <bdi>{tokens(text).map(([kind, part]) => (kind ? <span class={`k-${kind}`}>{part}</span> : part))}</bdi>
    </code>
  );
}
