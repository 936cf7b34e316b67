"""Pages that are made, not written: docs/options.md, glossary.md, api.md, json.md, and the table of insights.md.

usage: python scripts/docs/generate.py [--check]

Enters: every command's parser, the topics of `sonde explain`, docstrings of the public API and of rules. Leaves: pages.
`--check` writes nothing and fails where a page is not what would be written; tests/docs runs it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
API = (
    ("sonde.integrations.annotate", ("step", "region", "role", "profile"), "sonde"),
    ("sonde.integrations.loaded", ("load", "Loaded"), "sonde"),
)
RULES_BEGIN, RULES_END = "<!-- rules: made by scripts/docs/generate.py -->", "<!-- end of rules -->"
MADE = "<!-- made by scripts/docs/generate.py -->"


def options() -> str:
    """Every option of every command, as its own --help has it."""
    from sonde.cli.main import COMMANDS, GROUPS, load

    lines = [MADE, "# Every option", "", "As `sonde COMMAND --help` prints them."]
    for title, names in GROUPS.items():
        lines += ["", f"## {title}"]
        for name in names:
            _, parser = load(name)
            lines += ["", f"### sonde {name}", "", _sentence(COMMANDS[name].line), ""]
            rows = []
            for action in parser._actions:
                if action.help == argparse.SUPPRESS or "-h" in action.option_strings:
                    continue
                value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
                if action.option_strings:
                    said = ", ".join(f"`{word}`" for word in action.option_strings)
                    said += f" {value}" if action.nargs != 0 else ""
                else:
                    said = f"`{value}`"
                said = said.replace("|", "\\|")
                text = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
                rows.append(f"| {said} | {_cell(text)} |")
            lines += ["| option | what it does |", "|---|---|", *rows] if rows else ["It takes no options."]
    return "\n".join(lines) + "\n"


def glossary() -> str:
    """The topics of `sonde explain`, by title."""
    from sonde.insights.explain import topics

    lines = [
        MADE,
        "# Glossary",
        "",
        "What `sonde explain` says, all of it. `sonde explain TOPIC REC` adds your numbers.",
    ]
    for topic in sorted(topics(), key=lambda t: t.title.lower()):
        lines += ["", f"## {topic.title}", "", topic.text.strip()]
        if topic.see:
            lines += ["", "See also: " + ", ".join(topic.see) + "."]
    return "\n".join(lines) + "\n"


def api() -> str:
    """The public Python API, from its docstrings."""
    lines = [
        MADE,
        "# Python API",
        "",
        "Importing `sonde` loads nothing else; each name is imported when first used.",
    ]
    for module_name, names, shown in API:
        module = importlib.import_module(module_name)
        for name in names:
            thing = getattr(module, name)
            lines += ["", f"## `{shown}.{name}{_signature(thing)}`", "", *_text(thing)]
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    if member.startswith("_") or not (callable(value) or isinstance(value, property)):
                        continue
                    called = "" if isinstance(value, property) else _signature(value)
                    lines += ["", f"### `.{member}{called}`", "", *_text(value)]
    lines += ["", "## Callbacks", "", "`sonde.integrations.huggingface.SondeCallback` and"]
    lines += ["`sonde.integrations.lightning.SondeCallback`: see [trainers](recipes/trainers.md)."]
    return "\n".join(lines) + "\n"


def json_keys() -> str:
    """Every key of the answers, from what the views declare."""
    from sonde.views.document import document

    return document()


def insights() -> str:
    """docs/insights.md with its table of rules, by number: the first sentence of each one's header."""
    from sonde.insights.rules import RULES

    rows = []
    for rule in sorted(RULES, key=lambda rule: (rule.number, rule.name)):
        header = " ".join((inspect.getdoc(sys.modules[rule.judge.__module__]) or "").split("\n\n")[0].split())
        said = re.sub(r"^Rules? \d+\w?( and \d+)?( on (the host|devices))?, ", "", header).rstrip(".")
        said = said if said != header.rstrip(".") else said[0].lower() + said[1:]
        scope = {"cpu": "CPU", "gpu": "devices", "any": "both"}[rule.scope]
        rows.append(f"| `{rule.name}` | {rule.number} | {scope} | {_cell(said)} |")
    table = "\n".join(["| rule | nr | for | what it finds |", "|---|---|---|---|", *rows])
    before, begin, rest = (DOCS / "insights.md").read_text(encoding="utf-8").partition(RULES_BEGIN)
    after = rest.partition(RULES_END)[2]
    return f"{before}{begin}\n{table}\n{RULES_END}{after}"


def _signature(thing: object) -> str:
    try:
        found = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "()"
    kept = [p.replace(annotation=inspect.Parameter.empty) for n, p in found.parameters.items() if n != "self"]
    return str(found.replace(parameters=kept, return_annotation=inspect.Signature.empty))


def _text(thing: object) -> list[str]:
    """A docstring as Markdown: indented examples become code."""
    text = inspect.getdoc(thing) or ""
    return re.sub(
        r"(?m)^((?:    .*\n?)+)", lambda m: f"\n```\n{inspect.cleandoc(m[0])}\n```\n", text
    ).splitlines()


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


PAGES = {
    "options.md": options,
    "glossary.md": glossary,
    "api.md": api,
    "insights.md": insights,
    "json.md": json_keys,
}


def main() -> int:
    sys.path.insert(0, str(ROOT))
    old = []
    for name, make in PAGES.items():
        text, path = make(), DOCS / name
        if "--check" in sys.argv:
            old += [name] if not path.exists() or path.read_text(encoding="utf-8") != text else []
        else:
            path.write_text(text, encoding="utf-8")
    for name in old:
        print(f"docs/{name} is not what would be made now: python scripts/docs/generate.py", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
