"""The page itself: a shell, the built bundle, and data that the browser never runs.

The data is base64 of gzip in `<script type="application/octet-stream">`: no
name of any program can end the element, and nothing in it is markup. A content
security policy forbids the page every connection.
"""

from __future__ import annotations

import base64
import gzip
import html
import zlib
from importlib import resources

from sonde.errors import EnvironmentLacks

SCRIPT, STYLE = "report.js", "report.css"
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<title>{title} · Sonde</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"><p class="boot">Opening the recording…</p></div>
<noscript>This report draws itself with JavaScript, all of which is inside this file.</noscript>
{data}
<script>{script}</script>
</body>
</html>
"""


def compress(data: bytes) -> bytes:
    """Gzip without a time stamp, so that equal recordings give equal pages."""
    squeezed: bytes = gzip.compress(data, 7, mtime=0)
    return squeezed


def assemble(title: str, blocks: dict[str, bytes]) -> bytes:
    """The page with its compressed data blocks (element id → gzip bytes)."""
    data = "\n".join(
        f'<script type="application/octet-stream" id="{name}" data-crc="{zlib.crc32(block)}">'
        f"{base64.b64encode(block).decode('ascii')}</script>"
        for name, block in blocks.items()
    )
    return _SHELL.format(
        policy=_POLICY,
        title=html.escape(title),
        style=asset(STYLE),
        script=asset(SCRIPT),
        data=data,
    ).encode("utf-8", "replace")


def asset(name: str) -> str:
    """The text of a file of the built bundle."""
    file = resources.files("sonde.render") / "assets" / name
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise EnvironmentLacks(
            f"the report's bundle {name} is not installed with Sonde",
            "in a source tree build it with: make web",
        ) from None
