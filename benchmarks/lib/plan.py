"""What `make bench`, `make bench-quick` and `make proofs` run, and how long it takes: one row per suite.

`python -m benchmarks --all | --quick` goes through the table; benchmarks/README.md is made from it (lib/document.py).
Minutes are of two idle cores.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """A suite with its options in full and, where there is one, its short form."""

    name: str
    minutes: float
    needs: str = ""
    options: str = ""
    quick: str | None = None  # options of the short form; None: not in `make bench-quick`
    quick_minutes: float = 0.0
    proof: bool = False  # in `make proofs`, not in `make bench`


PEERS = "py-spy, scalene, austin, perf"
SUITES = (
    Suite(
        "overhead",
        45,
        PEERS,
        quick="--inside 15 --rounds 1 --seconds 2 --workloads op_dense",
        quick_minutes=3,
    ),
    Suite("defaults", 8, quick="--rounds 1 --scale 0.5", quick_minutes=1.5),
    Suite("attribution", 8, PEERS, quick="--seconds 3 --workloads conv_net", quick_minutes=1.5),
    Suite("hooks", 2, quick="--repeat 5", quick_minutes=0.5),
    Suite("interposers", 3, quick="15", quick_minutes=0.7),
    Suite("insights", 40, quick="--rounds 1 --seconds 2 --minutes 2", quick_minutes=2.5),
    Suite("diagnosis", 45, quick="--rounds 1 tokenise_in_loop polite_pause rows_in_a_loop", quick_minutes=1),
    Suite("insights_clean", 6, "transformers", quick="mlp gpt", quick_minutes=0.7),
    Suite("insights_speed", 0.5, quick="", quick_minutes=0.5),
    Suite("text_exam", 8),
    Suite("own_speed", 5, quick="--rounds 2 --only import start", quick_minutes=0.2),
    Suite("statistics", 1, quick="--trials 50", quick_minutes=0.3),
    Suite(
        "aa_pairs",
        12,
        "for --public: clones of nanoGPT and pytorch/examples",
        quick="--pairs 2",
        quick_minutes=1.5,
    ),
    Suite("reader", 4, "orjson, msgspec, simdjson", "--large", quick="--repeats 1", quick_minutes=0.5),
    Suite("hta", 2.5, "HTA 0.5.0"),
    Suite("ranks", 1, quick="--ranks 8 64", quick_minutes=0.2),
    Suite("onednn_log", 0.3, quick="--lines 200000", quick_minutes=0.1),
    Suite("report", 0.5, "Chromium, node", quick="--samples 200000 --ops 200000", quick_minutes=0.3),
    Suite("stragglers", 60, proof=True),
    Suite("split", 10, "g++", proof=True),
    Suite("size", 11, proof=True),
    Suite("guests", 60, "packages of tests/guests/packages.txt", "--rounds 10", proof=True),
    Suite("kills", 45, "gcc", "--moments 1000", proof=True),
    Suite(
        "attach", 60, "g++, libjemalloc2, packages of tests/guests/packages.txt", "--cycles 500", proof=True
    ),
    Suite("memory", 2, proof=True),
    Suite("undisturbed", 15, proof=True),
    Suite("busy_matrix", 10, proof=True),
    Suite("sanitizers", 15, "g++ with sanitizers", proof=True),
    Suite("guest_suites", 40, "Pythons with their tests", "--python all", proof=True),
    Suite("soak", 11, "g++", proof=True),
)
