"""`sonde show REC chain`: prints the answer of `sonde.views.chain`."""

from __future__ import annotations

from typing import Any

from sonde.render.text.chain_page import show_chain, show_sides
from sonde.render.text.page import Page
from sonde.views.options import ShowOptions


def show(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    if data["op"] is None:
        page.line("No operators: nothing was sampled inside one and no call was recorded.")
        return
    if data["sides"]:
        show_sides(data, page)
    else:
        show_chain(data, page, options)
