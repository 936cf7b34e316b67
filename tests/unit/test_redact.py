"""Secrets are hidden in command lines, variables and text; what is no secret stays."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sonde.ingest.agent.process_table import _command
from sonde.redact import hide_command, hide_environment, hide_keys

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests" / "data" / "secrets.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["words"])[:60])
def test_a_command_line_keeps_all_but_its_secrets(case: dict[str, list[str]]) -> None:
    assert hide_command(case["words"]) == case["hidden"]
    assert hide_command(case["hidden"]) == case["hidden"]


def test_variables_keep_their_names() -> None:
    given = {
        "PYTORCH_API_KEY": "abc", "HF_TOKEN": "x" * 8, "OMP_NUM_THREADS": "4", "TORCH_LOGS": "+dynamo",
        "NCCL_PROXY": "http://me:pw@host:1", "CUDA_VISIBLE_DEVICES": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "TOKENIZERS_PARALLELISM": "false", "MKL_X": "Zk3vQ9bT1xLm8Rw2Yc7N", "TORCH_TOKEN": "",
    }  # fmt: skip
    assert hide_environment(given) == {
        **given, "PYTORCH_API_KEY": "***", "HF_TOKEN": "***", "NCCL_PROXY": "http://***@host:1", "MKL_X": "***",
    }  # fmt: skip


def test_source_code_loses_keys_of_a_known_form_and_nothing_else() -> None:
    code = 'key = "s' + 'k-proj-abcdEFGH1234ijkl"\ntoken = tokens[3]  # 9f86d081884c7d659a2feaa0c55ad015\n'
    assert hide_keys(code) == 'key = "***"\ntoken = tokens[3]  # 9f86d081884c7d659a2feaa0c55ad015\n'


def test_a_log_of_an_older_agent_is_cleaned_when_it_is_read() -> None:
    assert _command("python\0t.py\0--token\0abc") == "python t.py --token '***'"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_agent_hides_the_same(tmp_path: Path) -> None:
    """The cases, and pieces of them put together at random."""
    program = tmp_path / "hide"
    sources = [ROOT / "native/tests/hide_secrets.cpp", ROOT / "native/agent/process/secrets.cpp"]
    flags = ["-std=c++20", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["g++", *flags, f"-I{ROOT / 'native/agent'}", *sources, "-o", program], check=True)

    def agents(words: list[str]) -> list[str]:
        given = "\0".join(words).encode()
        done = subprocess.run([program], input=given, stdout=subprocess.PIPE, check=True, timeout=60)
        return done.stdout.decode().split("\0")

    for case in CASES:
        assert agents(case["words"]) == case["hidden"]
    chance = random.Random(17)
    words = sorted({word for case in CASES for word in case["words"]})
    joints = ["", "=", ":", " ", "'", '"', "&", "://", "@", "-"]
    for _ in range(10):
        made = []
        for _ in range(80):
            first, second = chance.choice(words), chance.choice(words)
            cut = first[: chance.randint(0, len(first))] + chance.choice(joints)
            made.append(cut + second[chance.randint(0, len(second)) :])
        assert agents(made) == hide_command(made)
