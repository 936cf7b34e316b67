"""Numbers of collectives are the same on ranks that sent unlike many messages: gloo counts both together."""

from __future__ import annotations

import numpy as np

from sonde.ingest.observers.collectives import RECEIVE, SEND, calls_of
from sonde.ingest.observers.events import of
from sonde.record.inside.events import COLLECTIVE_MADE, COLLECTIVE_QUEUED

ALL_REDUCE, GROUP, OTHER_GROUP = 1, 7000, 8000


def rank(calls: list[tuple[int, int, int]]) -> list[tuple[str, int]]:
    """Kind and number of calls that are given as operation, gloo's number, group."""
    rows = []
    for at, (operation, number, group) in enumerate(calls):
        word = 1 if operation in (SEND, RECEIVE) else number  # of a message: the peer
        rows.append((1, COLLECTIVE_MADE, 100 * at + 1, 100 * at + 1, at + 1, operation | 6 << 8 | word << 16))
        rows.append((1, COLLECTIVE_QUEUED, 100 * at + 2, 100 * at + 2, at + 1, group))
    found = calls_of(of(np.array(rows)))
    return list(zip(found.kind, found.number.tolist(), strict=True))


def test_messages_between_collectives_do_not_move_their_numbers() -> None:
    first = rank([(ALL_REDUCE, 1, GROUP), (SEND, 2, GROUP), (ALL_REDUCE, 3, GROUP)])
    middle = rank(
        [
            (ALL_REDUCE, 1, GROUP),
            (RECEIVE, 2, GROUP),
            (SEND, 3, GROUP),
            (SEND, 4, GROUP),
            (ALL_REDUCE, 5, GROUP),
        ]
    )
    assert [n for kind, n in first if kind == "all_reduce"] == [1, 2]
    assert [n for kind, n in middle if kind == "all_reduce"] == [1, 2]


def test_each_group_has_its_own_count() -> None:
    found = rank([(SEND, 1, OTHER_GROUP), (ALL_REDUCE, 1, GROUP), (ALL_REDUCE, 2, OTHER_GROUP)])
    assert found == [("send", -1), ("all_reduce", 1), ("all_reduce", 1)]
