"""Views as text: a module of the view's name prints its answer; a view without one gets a plain table of its rows."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from sonde.render.text.page import Page
from sonde.views.options import ShowOptions


def show(name: str, data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    """Print what `View.data` of this view returned."""
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        from sonde.render.text.plain_table import show_rows

        show_rows(name, data, page, options)
    else:
        importlib.import_module(f"{__name__}.{name}").show(data, page, options)
