"""`sonde explain`: what a word, an operator or a frame means in a profile."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from sonde.cli.inputs import add_json, open_input
from sonde.errors import UsageError


class Explain:
    """Explain a concept, operator or frame in a few sentences.

    sonde explain aten::copy_
    sonde explain "command buffer full" REC      with numbers from a recording
    sonde explain --list
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a word, operator, frame or kernel")
        parser.add_argument(
            "recording", nargs="?", type=Path, metavar="REC", help="a recording: also show its numbers"
        )
        parser.add_argument("--list", action="store_true", help="list all topics")
        add_json(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.insights.explain import find, topics
        from sonde.insights.explain.figures import figures
        from sonde.render.text.page import Page

        page = Page()
        if options.list or not options.topic:
            for topic in topics():
                page.line(f"{topic.slug:24} {topic.title}")
            return 0
        answer = find(options.topic)
        recording = open_input(options.recording) if options.recording else None
        asked = re.compile(re.escape(options.topic))
        pattern = answer.topic.matcher if answer.topic else asked
        numbers = figures(recording, pattern) if recording and pattern else []
        if answer.topic is None and not numbers:
            near = (
                f"did you mean: {'; '.join(answer.near)}" if answer.near else "see all: sonde explain --list"
            )
            raise UsageError(f"nothing is known about {options.topic!r}", near)
        if options.json:
            found = answer.topic
            said = {
                "topic": found and found.slug,
                "title": found.title if found else options.topic,
                "text": found and found.text,
                "see": list(found.see) if found else [],
                "figures": numbers,
            }
            print(json.dumps(said, indent=1, ensure_ascii=False))
            return 0
        page.heading(answer.topic.title if answer.topic else options.topic)
        page.line()
        for line in (
            answer.topic.text if answer.topic else "No text about it; what the recording shows:"
        ).splitlines():
            page.line(line)
        if numbers:
            page.line()
            page.heading(f"In {options.recording}:")
            for line in numbers:
                page.line(f"  {line}")
        if answer.topic and answer.topic.see:
            page.line()
            page.line("See also: " + ", ".join(answer.topic.see))
        return 0
