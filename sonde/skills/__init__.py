"""How an assistant uses Sonde: one text, printed by `sonde guide`, served by `sonde mcp`, installed as a skill."""

from __future__ import annotations

from pathlib import Path

SKILL = Path(__file__).parent / "sonde" / "SKILL.md"


def guide_text() -> str:
    """The skill without its front matter."""
    return SKILL.read_text(encoding="utf-8").partition("\n---\n")[2].strip()
