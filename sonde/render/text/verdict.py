"""`sonde show REC verdict`: prints the answer of `sonde.views.verdict`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.page import Page
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    page.heading(data["sentence"])
    for line in data["evidence"][1:]:
        page.line(f"  {line}")
    page.next(f"sonde insights {options.name}")
