"""`sonde mcp`: serve recordings to an assistant."""

from __future__ import annotations

import argparse


class Mcp:
    """Answer an assistant's questions about recordings and traces (Model Context Protocol, stdio).

    Needs: pip install 'sonde-profiler[mcp]'. In the assistant's configuration: command "sonde", arguments ["mcp"].
    Tools: guide, insights, show, explain, query. They read; nothing is recorded or changed.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, options: argparse.Namespace) -> int:
        from sonde.integrations.mcp_server import serve

        serve()
        return 0
