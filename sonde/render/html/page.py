"""The page itself: a shell, the built bundle, and data that the browser never runs.

The data is base64 of gzip in `<script type="application/octet-stream">`: no
name of any program can end the element, and nothing in it is markup. A content
security policy forbids the page every connection, and every script and style but
its own, which it knows by their hash.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import zlib
from importlib import resources

from sonde.errors import EnvironmentLacks

SCRIPT, STYLE = "report.js", "report.css"
_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; "
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
    style, script = asset(STYLE), asset(SCRIPT)
    return _SHELL.format(
        policy=_POLICY.format(script=_source(script), style=_source(style)),
        title=html.escape(title),
        style=style,
        script=script,
        data=data,
    ).encode("utf-8", "replace")


def _source(text: str) -> str:
    """How the policy names an inline script or style: the hash of exactly what stands in the element."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


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
