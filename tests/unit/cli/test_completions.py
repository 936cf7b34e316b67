"""`sonde completions` and what is said of a misspelt option."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from sonde.cli.main import COMMANDS, main
from sonde.views import VIEWS


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completions", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_view_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    for name in [*COMMANDS, *VIEWS]:
        assert name in text


def completed(text: str, *words: str) -> list[str]:
    """What bash offers for the last of `words`."""
    line = " ".join(f"'{word}'" for word in words)
    program = f"{text}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _sonde; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_views(capsys: pytest.CaptureFixture[str]) -> None:
    text = script("bash", capsys)
    assert completed(text, "sonde", "rep") == ["report"]
    assert completed(text, "sonde", "run", "--no-w") == ["--no-waits"]
    assert completed(text, "sonde", "show", "a.sonde", "ste") == ["steps"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["report", "--max-sise", "3", "x"], "--max-size"),
        (["show", "x.sonde", "opps"], "ops"),
        (["diff", "a.sonde", "b.sonde", "--markdwon", "x"], "--markdown"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest_one(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"did you mean {meant}?" in said


def test_the_suggestion_stands_before_a_long_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", "x.sonde", "theads"])
    said = capsys.readouterr().err
    assert said.startswith("sonde show: there is no VIEW 'theads' → did you mean threads? (one of: verdict, ")
    assert said.endswith(", losses)\n")
    with pytest.raises(SystemExit):
        main(["show", "x.sonde", "qqq"])
    said = capsys.readouterr().err
    assert "did you mean" not in said
    assert "threads" in said
