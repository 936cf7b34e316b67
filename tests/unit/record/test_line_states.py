"""Line, stack and module at any moment of a window, from its events."""

from __future__ import annotations

import numpy as np

from sonde.record.frameworks.torch.inside.lines import ENTER, LEAVE, LINE, MODULE, MODULE_END
from sonde.record.frameworks.torch.line_states import replay
from sonde.record.frameworks.torch.module_paths import ModulePaths

PLACES = [["train.py", "main"], ["model.py", "Net.forward"]]


def test_the_line_and_module_at_each_moment() -> None:
    modules = ModulePaths()
    modules.add(0, 500, "Net", 500)
    modules.add(0, 501, "body.0", 500)
    events = np.array(
        [
            [10, ENTER, 0, 5],
            [20, LINE, 0, 6],
            [30, MODULE, 500, 0],
            [40, ENTER, 1, 90],
            [50, LINE, 1, 91],
            [60, MODULE, 501, 0],
            [70, MODULE_END, 0, 0],
            [80, LINE, 1, 92],
            [90, LEAVE, 0, 0],
            [95, MODULE_END, 0, 0],
            [100, LINE, 0, 7],
        ],
        np.int64,
    )
    states = replay(events, PLACES, modules)
    found = states.at(np.array([5, 25, 35, 55, 65, 75, 85, 99, 150]))
    assert found[0] == -1
    got = [(s.file, s.line, s.module) for s in (states.states[i] for i in found[1:])]
    assert got == [
        ("train.py", 6, None),
        ("train.py", 6, "Net"),
        ("model.py", 91, "Net"),
        ("model.py", 91, "body.0"),
        ("model.py", 91, "Net"),
        ("model.py", 92, "Net"),
        ("train.py", 6, None),
        ("train.py", 7, None),
    ]
    assert states.states[found[4]].stack == "main (train.py:6);Net.forward (model.py:91)"


def test_a_module_under_two_roots_is_named_by_the_root_that_runs() -> None:
    modules = ModulePaths()
    modules.add(0, 9, "body", 1)
    modules.add(0, 9, "module.body", 2)
    assert modules.path(9, 5, root=1) == "body"
    assert modules.path(9, 5, root=2) == "module.body"
    assert modules.path(9, 5) == "body"
    assert modules.path(7, 5) is None


def test_an_address_that_is_used_again_has_another_name_later() -> None:
    modules = ModulePaths()
    modules.add(10, 9, "old", 1)
    modules.add(20, 9, "new", 1)
    assert modules.path(9, 15, 1) == "old"
    assert modules.path(9, 25, 1) == "new"


def test_a_module_without_a_path_works_for_the_one_around_it() -> None:
    modules = ModulePaths()
    modules.add(0, 500, "Net", 500)
    modules.add(0, 501, "body.0", 500)
    events = np.array(
        [
            [10, MODULE, 500, 0],
            [20, MODULE, 501, 0],
            [30, MODULE, 999, 0],
            [40, MODULE_END, 0, 0],
            [50, MODULE_END, 0, 0],
            [60, MODULE, 999, 0],
        ],
        np.int64,
    )
    states = replay(events, PLACES, modules)
    found = states.at(np.array([15, 25, 35, 45, 55, 65]))
    assert [states.states[i].module for i in found] == ["Net", "body.0", "body.0", "body.0", "Net", "Net"]
