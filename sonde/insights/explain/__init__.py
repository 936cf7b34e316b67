"""Short texts for beginners: what a concept, an operator or a frame means in a profile.

`topics/*.md`: one file per topic. Head lines `title:`, `alias:`, `pattern:` (a regular expression that
operators, frames or kernels match) and `see:`, then an empty line and Markdown.
A question is answered by exact name first, then by pattern, then by likeness.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

TOPICS = Path(__file__).parent / "topics"
LIKENESS = 0.6


@dataclass(frozen=True)
class Topic:
    """One text."""

    slug: str
    title: str
    aliases: tuple[str, ...]
    patterns: tuple[str, ...]
    see: tuple[str, ...]
    text: str

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(plain(n) for n in (self.slug, self.title, *self.aliases, *self.title.split(", ")))

    @cached_property
    def matcher(self) -> re.Pattern[str] | None:
        """What frames and operators of a recording belong to the topic; None for a mere concept."""
        return re.compile("|".join(f"(?:{p})" for p in self.patterns)) if self.patterns else None


@dataclass(frozen=True)
class Answer:
    """The topic found, or none with the nearest titles."""

    topic: Topic | None
    near: tuple[str, ...] = ()


def plain(name: str) -> str:
    """A name without what people leave out: case, blanks, dashes."""
    return re.sub(r"[\s_-]+", " ", name.strip().lower())


@lru_cache(maxsize=1)
def topics() -> tuple[Topic, ...]:
    """All topics, by slug."""
    return tuple(_read(path) for path in sorted(TOPICS.glob("*.md")))


def find(question: str) -> Answer:
    """The topic that a question names."""
    wanted = plain(question)
    for topic in topics():
        if wanted in topic.names:
            return Answer(topic)
    bare = re.sub(r"^\[\w+\] ", "", question.strip())  # as frames are printed: [op] aten::mm
    hits = [(t, m.end() - m.start()) for t in topics() if t.matcher and (m := t.matcher.search(bare))]
    if hits:
        return Answer(max(hits, key=lambda hit: hit[1])[0])
    names = {name: topic for topic in topics() for name in topic.names}
    close = difflib.get_close_matches(wanted, names, 3, LIKENESS)
    inside = [n for n in names if len(wanted) > 3 and wanted in n]
    near = tuple(dict.fromkeys(names[n].title for n in (*close, *inside)))
    return Answer(None, near[:4])


def _read(path: Path) -> Topic:
    head, _, text = path.read_text(encoding="utf-8").partition("\n\n")
    lines = [line.partition(": ") for line in head.splitlines()]

    def all_of(key: str) -> tuple[str, ...]:
        return tuple(value for name, _, value in lines if name == key)

    return Topic(
        path.stem, all_of("title")[0], all_of("alias"), all_of("pattern"), all_of("see"), text.strip()
    )
