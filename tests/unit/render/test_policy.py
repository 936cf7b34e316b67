"""The page's content security policy allows the script and style that are in it, and no others."""

from __future__ import annotations

import base64
import hashlib
import re

from sonde.render.html.page import assemble


def test_script_and_style_are_allowed_by_hash() -> None:
    page = assemble("x", {"sonde-data": b"data"}).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for element in ("script", "style"):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{element}-src"] == f"'sha256-{digest}'"
        assert "\r" not in text  # a browser would hash it as a newline
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
