"""The command lines printed in README and docs: found here, so that tests can run each of them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "sonde" / "skills" / "sonde" / "SKILL.md",
)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINE = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(sonde(?: .*)?)$")
SAID = re.compile(r"^sonde: ")  # what Sonde prints, not what is typed


@dataclass(frozen=True)
class Command:
    """One line that a page tells people to type."""

    page: str
    text: str

    @property
    def words(self) -> list[str]:
        """As a shell splits it, without the comment; what stands after a pipe or a redirection is not Sonde's."""
        words = shlex.split(self.text, comments=True)[1:]
        ends = [i for i, word in enumerate(words) if word in ("|", ">", "&&")]
        return words[: ends[0]] if ends else words


def commands() -> list[Command]:
    """Every `sonde …` line in a code block, in order, each once per page."""
    found = []
    for page in PAGES:
        for kind, block in FENCE.findall(page.read_text(encoding="utf-8")):
            if kind.split(" ")[0] not in ("", "bash", "console", "sh"):
                continue
            for line in block.replace("\\\n", " ").splitlines():
                typed = LINE.match(line.strip())
                if typed and not SAID.match(line.strip()):
                    found.append(Command(str(page.relative_to(ROOT)), typed[1]))
    return list(dict.fromkeys(found))
