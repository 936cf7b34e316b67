"""A hook of mkdocs: links to files outside of docs, which the site does not have, become plain text."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+"
    r"(?:README|CONTRIBUTING|CHANGELOG|sonde/|benchmarks/|examples/|native/|scripts/|tests/|web/|action)[^)]*\)"
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return OUTSIDE.sub(r"\1", markdown)
