"""The self-contained HTML report: one file, no server, no network.

    recording ─► sections (profile, operators, device, memory, …) ─► payload ─► page

Each section puts columns and strings into a `Payload`; `encode` makes bytes of
it; `page` puts them, compressed, beside the built bundle of `web/`.
"""

from sonde.render.html.options import Insight, ReportOptions, ReportSummary
from sonde.render.html.report import write_diff_report, write_report

__all__ = ["Insight", "ReportOptions", "ReportSummary", "write_diff_report", "write_report"]
