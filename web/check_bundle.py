"""Fail when sonde/render/assets was not built from the sources in web/, or is too large.

Needs neither npm nor a network: the build writes a hash of its sources into
the bundle (sources.js), and this computes the same hash again.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
PACKAGE = WEB.parent / "sonde"
MAX_SCRIPT_BYTES = 250_000
MAX_STYLE_BYTES = 30_000


def source_hash(package: Path = PACKAGE) -> str:
    """Hash of names and contents of everything the bundle is made of."""
    listed = [p.relative_to(WEB).as_posix() for p in (WEB / "src").rglob("*") if p.is_file()]
    listed += ["package-lock.json", "vite.config.js", "../sonde/layers.json"]
    total = hashlib.sha256()
    for name in sorted(listed):
        total.update(name.encode() + b"\0")
        file = package / "layers.json" if name.endswith("/layers.json") else WEB / name
        total.update(hashlib.sha256(file.read_bytes()).hexdigest().encode() + b"\n")
    return total.hexdigest()


def problems(package: Path = PACKAGE) -> list[str]:
    """What is wrong with the bundle in `package` (the clone's, or an installed one), in sentences."""
    assets = package / "render" / "assets"
    script, style = assets / "report.js", assets / "report.css"
    if not script.exists() or not style.exists():
        return [f"{assets} has no bundle; run: make web"]
    found = []
    text = script.read_text(encoding="utf-8")
    if f"sonde-web-sources: {source_hash(package)} " not in text.partition("\n")[0]:
        found.append("the bundle in sonde/render/assets is older than web/; run: make web")
    if "</script" in text.lower():
        found.append("the bundle holds a literal </script, which would end its own element")
    for file, most in ((script, MAX_SCRIPT_BYTES), (style, MAX_STYLE_BYTES)):
        if file.stat().st_size > most:
            found.append(f"{file.name} has {file.stat().st_size:,} bytes; the limit is {most:,}")
    return found


if __name__ == "__main__":
    trouble = problems()
    for sentence in trouble:
        print(sentence, file=sys.stderr)
    sys.exit(1 if trouble else 0)
