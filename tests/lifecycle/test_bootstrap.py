"""Getting into Python processes, and doing no harm there."""

from __future__ import annotations

from pathlib import Path

from tests.lifecycle.observed import needs_torch, run


def test_a_program_without_torch_is_left_alone(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import sys, json, asyncio
        assert not [m for m in sys.modules if m.startswith(("sonde", "numpy", "mmap"))], sys.modules
        assert not any("bootstrap" in p for p in sys.path)
        print("fine")
        """,
    )
    assert (done.code, done.stdout, done.stderr) == (0, "fine\n", "")
    assert not done.raw.exists()


def test_the_users_own_sitecustomize_runs_under_its_own_name(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("HERE = __file__\nimport builtins; builtins.seen = __name__\n")
    done = run(
        tmp_path,
        """
        import sitecustomize, sys
        print(seen, sitecustomize.HERE == sitecustomize.__file__, [p for p in sys.path if p.endswith("own")])
        """,
        environment={"PYTHONPATH": str(own)},
    )
    assert done.stdout == f"sitecustomize True ['{own}']\n"


def test_a_broken_sitecustomize_fails_as_it_would_without_us(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("raise ValueError('planted')\n")
    done = run(tmp_path, "print('ran')", environment={"PYTHONPATH": str(own)})
    assert done.code == 0
    assert done.stdout == "ran\n"
    assert "planted" in done.stderr


def test_an_import_of_torch_that_fails_fails_as_it_would_without_us(tmp_path: Path) -> None:
    own = tmp_path / "own" / "torch"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("raise ImportError('planted')\n")
    done = run(
        tmp_path,
        """
        try:
            import torch
        except ImportError as error:
            print("caught", error)
        """,
        environment={"PYTHONPATH": str(own.parent)},
    )
    assert (done.code, done.stdout, done.stderr) == (0, "caught planted\n", "")


def test_something_else_called_torch_costs_us_the_observers_and_the_program_nothing(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "torch.py").write_text("__version__ = 'mine'\n")
    done = run(tmp_path, "import torch; print(torch.__version__)", environment={"PYTHONPATH": str(own)})
    assert (done.code, done.stdout, done.stderr) == (0, "mine\n", "")
    assert "observer_failed" in done.causes()


@needs_torch
def test_spawned_and_forked_children_are_entered(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch, multiprocessing as mp, os
        def work(name):
            model = torch.nn.Linear(2, 2)
            for _ in range(3):
                model(torch.ones(1, 2))
        if __name__ == "__main__":
            work("parent")
            for method in ("spawn", "fork"):
                child = mp.get_context(method).Process(target=work, args=(method,))
                child.start(); child.join()
                assert child.exitcode == 0
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    tables = done.framework().tables
    assert len(tables["processes"]) == 3
    steps = tables["marks"].take(tables["marks"].text("kind").equals("step"))
    assert [int((steps.array("process") == p).sum()) for p in tables["processes"].array("process")] == [
        3,
        3,
        3,
    ]


@needs_torch
def test_isolated_pythons_run_unobserved(tmp_path: Path) -> None:
    for flags in (("-I",), ("-S", "-E"), ("-E",)):
        done = run(tmp_path, "print('ran')", flags=flags)
        assert (done.code, done.stdout) == (0, "ran\n")


@needs_torch
def test_a_read_only_recording_folder_does_not_hurt(tmp_path: Path) -> None:
    (tmp_path / "out.sonde").write_text("a file where the folder should be")
    done = run(tmp_path, "import torch; print(torch.nn.Linear(1, 1)(torch.ones(1)).shape)")
    assert (done.code, done.stdout, done.stderr) == (0, "torch.Size([1])\n", "")
