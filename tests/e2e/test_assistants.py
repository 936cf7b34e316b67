"""Assistants: the guide, the skill in the package, short answers, and the server asked by the real client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.cli.main import COMMANDS, main
from sonde.skills import SKILL, guide_text
from sonde.store.writer import write_tables
from sonde.views import VIEWS
from sonde.views.brief import MOST_CHARACTERS, share_interval
from tests.environments import ROOT, python_of
from tests.fixtures.synthetic import training_run

TRACE = ROOT / "tests" / "data" / "traces" / "multirank" / "megatron_tp8" / "megatron_kineto_0.json.gz"
CLIENT = """
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    own = dict(os.environ)
    server = StdioServerParameters(command=sys.executable, args=["-m", "sonde", "mcp"], env=own)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = await session.list_tools()
        said = {"tools": sorted(tool.name for tool in tools.tools)}
        for name, arguments in json.load(sys.stdin):
            answer = await session.call_tool(name, arguments)
            said[name + json.dumps(arguments)] = "".join(part.text for part in answer.content)
        print(json.dumps(said))

asyncio.run(main())
"""


def gpt_run(folder: Path) -> Path:
    """A made-up recording on disk."""
    made = training_run()
    write_tables(folder, made.tables())
    made.meta.write(folder)
    return folder


def test_the_guide_is_the_skill_and_names_only_commands_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    head, _, text = SKILL.read_text(encoding="utf-8").partition("\n---\n")
    assert re.search(r"^name: sonde$", head, re.MULTILINE)
    description = re.search(r"^description: (.+)$", head, re.MULTILINE)
    assert description is not None
    assert len(description[1]) <= 1024
    assert main(["guide"]) == 0
    assert capsys.readouterr().out.strip() == text.strip() == guide_text()
    for command in re.findall(r"(?<![.\w])sonde ([a-z]+)", text):
        assert command in COMMANDS, command
    views = re.search(r"^Views: `(.+)`\.$", text, re.MULTILINE)
    assert views is not None
    assert set(views[1].split()) <= set(VIEWS)


def test_every_view_has_a_short_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = gpt_run(tmp_path / "gpt.sonde")
    for view in VIEWS:
        words = [
            "show",
            str(recording),
            view,
            "--brief",
            *(["--op", "aten::addmm"] if view == "chain" else []),
        ]
        assert main(words) == 0, view
        text = capsys.readouterr().out
        assert len(text) <= MOST_CHARACTERS + 1, view
        answer = json.loads(text)
        assert answer["answer"] == view
        assert answer["samples"] > 0
        assert all(command.startswith("sonde ") for command in answer["ask_next"])
    assert main(["show", str(recording), "stacks", "--brief"]) == 0
    row = json.loads(capsys.readouterr().out)["hot"][0]
    low, share, high = row["share_of_samples"]
    assert low < share < high


def test_long_answers_say_what_they_leave_out(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show", str(TRACE), "gpu"], ["show", str(TRACE), "ops"], ["insights", str(TRACE)]):
        assert main([*words, "--brief"]) == 0
        text = capsys.readouterr().out
        assert len(text) <= MOST_CHARACTERS + 1
        assert json.loads(text)["left_out"], words


def test_the_interval_of_a_share() -> None:
    low, share, high = share_interval(30, 300)
    assert share == pytest.approx(0.1)
    assert (low, high) == (pytest.approx(0.0710, abs=2e-3), pytest.approx(0.1393, abs=2e-3))
    assert share_interval(0, 10)[0] == 0
    # Two threads at the same moments: half as many looks, a wider interval around the same share.
    assert share_interval(60, 600, 2.0) == share_interval(30, 300)


def test_the_server_answers_the_real_client(tmp_path: Path) -> None:
    python = python_of("mcp", "mcp")
    recording = str(gpt_run(tmp_path / "gpt.sonde"))
    calls = [
        ("guide", {}),
        ("insights", {"recording": recording}),
        ("show", {"recording": recording, "view": "stacks"}),
        ("show", {"recording": recording, "view": "stacks", "by": "line"}),
        ("show", {"recording": "/nowhere.sonde"}),
        ("explain", {"topic": "aten::copy_"}),
        ("query", {"recording": recording, "sql": "SELECT count(*) AS n FROM samples"}),
    ]
    done = subprocess.run(
        [python, "-c", CLIENT],
        input=json.dumps(calls),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == ["explain", "guide", "insights", "query", "show"]
    answers = [said[name + json.dumps(arguments)] for name, arguments in calls]
    assert answers[0] == guide_text()
    assert "insights" in json.loads(answers[1])
    assert json.loads(answers[2])["hot"]
    assert json.loads(answers[3]) == {
        "refused": "the view stacks does not take by",
        "do": "it takes sort, filter",
    }
    assert "does not exist" in json.loads(answers[4])["refused"]
    assert json.loads(answers[5])["title"]
    assert json.loads(answers[6])["rows"][0]["n"] > 0


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "mcp"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert (
        done.stderr
        == "sonde: sonde mcp needs the package mcp, version 2 → pip install 'sonde-profiler[mcp]'\n"
    )
