"""Run by each interpreter version: compare the agent's walk with sys._getframe, exactly.

usage: python scenarios.py LIBRARY LINETABLE_FOLDER
Prints one line per scenario; fails at the first difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, sys.argv[2])
from linetable import line_of
from reader import FAILED, TRUNCATED, Harness, expected

harness = Harness(sys.argv[1])
MINOR = sys.version_info[1]


def check(held: bool = False) -> int:
    """Compare here and now. Own frame and callers; returns the number of frames."""
    flags, rows = harness.walk(held)
    want = expected(sys._getframe())
    assert not flags, flags
    seen = [(*harness.code(r.code)[:3], r.instruction) for r in rows]
    # The own frame has moved on since; callers stand where they stood.
    assert [s[:3] for s in seen] == [w[:3] for w in want], (seen, want)
    assert [s[3] for s in seen[1:]] == [w[3] for w in want[1:]], (seen, want)
    frame = sys._getframe()
    for row in rows:
        _, _, first_line, table = harness.code(row.code)
        line = line_of(table, first_line, row.instruction, MINOR)
        if frame.f_code is not check.__code__:
            assert line == frame.f_lineno, (frame, line, frame.f_lineno)
        frame = frame.f_back
    # One native evaluation frame for each entry frame, or the merge cannot be exact.
    entries = sum(r.entry for r in rows)
    evals = harness.lib.harness_eval_frames()
    assert evals == entries, (evals, entries)
    distance = (harness.held if held else harness.lib).harness_anchor()
    assert 0 < distance < 65536, distance
    return len(rows)


def nested(depth: int) -> int:
    return nested(depth - 1) if depth else check()


class Base:
    def method(self) -> int:
        return check()

    @property
    def attribute(self) -> int:
        return check()

    def __init__(self, run: bool = False) -> None:
        self.frames = check() if run else 0


class Metaclassed(Base):
    def __init_subclass__(cls) -> None:
        check()


def generator(n: int):
    for _ in range(n):
        yield check()


def delegating(n: int):
    yield from generator(n)


async def coroutine(depth: int) -> int:
    await asyncio.sleep(0)
    return await coroutine(depth - 1) if depth else check()


async def async_generator():
    for _ in range(3):
        await asyncio.sleep(0)
        yield check()


async def gather_all() -> None:
    await asyncio.gather(*(coroutine(i) for i in range(5)))
    async for _ in async_generator():
        pass


def größe_名前_𝔘𝔫𝔦(run):
    return run()


def scenario_plain() -> None:
    check()
    check(held=True)
    nested(1)
    nested(40)


def scenario_deep_recursion() -> None:
    sys.setrecursionlimit(5000)
    assert nested(700) > 700
    flags, rows = harness.walk(capacity=5)
    assert flags == TRUNCATED or len(rows) < 4


def scenario_calls_through_c() -> None:
    functools.reduce(lambda a, b: check(), [1, 2, 3])
    sorted([3, 1], key=lambda v: check())
    list(map(nested, range(3)))
    Base().method()
    _ = Base().attribute
    Base(run=True)
    type("Child", (Metaclassed,), {})
    functools.partial(nested, 3)()
    [check() for _ in range(2)]
    max({check() for _ in range(2)})


def scenario_generators() -> None:
    list(generator(3))
    list(delegating(3))
    for _ in (check() for _ in range(3)):
        pass
    sum(x for x in delegating(2))
    with contextlib.ExitStack() as stack:
        stack.callback(check)


def scenario_coroutines() -> None:
    asyncio.run(gather_all())


def scenario_exceptions() -> None:
    try:
        raise ValueError
    except ValueError:
        check()
    finally:
        check()
    with contextlib.suppress(KeyError):
        try:
            check()
        finally:
            raise KeyError


def scenario_threads() -> None:
    failures: list[BaseException] = []

    def body(n: int) -> None:
        try:
            for _ in range(20):
                nested(n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def scenario_names_beyond_ascii() -> None:
    größe_名前_𝔘𝔫𝔦(check)
    namespace = {"check": check}
    exec(compile("def été():\n  return check()\nété()", "/tmp/ünïcode/日本語.py", "exec"), namespace)
    assert any(
        harness.code(n)[1] == "/tmp/ünïcode/日本語.py" for n in range(1, harness.lib.harness_code_count() + 1)
    )


def scenario_freed_code() -> None:
    before = harness.lib.harness_code_count()
    for n in range(3000):
        namespace = {"check_fast": lambda: harness.walk()}
        exec(compile(f"def f_{n % 50}():\n  return check_fast()\nf_{n % 50}()", "<churn>", "exec"), namespace)
        del namespace
    gc.collect()
    grown = harness.lib.harness_code_count() - before
    assert grown < 250, grown  # the same content keeps its number, however often it is compiled


def scenario_code_at_the_address_of_freed_code() -> None:
    """Strings exec'ed one after the other: same addresses, name, file and first line, other lines."""
    for blank in list(range(1, 40)) * 5:
        source = "x = 1\n" * blank + "seen = check_here()\n"
        namespace = {"check_here": lambda: harness.walk()[1]}
        exec(source, namespace)
        row = namespace["seen"][1]
        name, _, first_line, table = harness.code(row.code)
        assert name == "<module>"
        assert line_of(table, first_line, row.instruction, MINOR) == blank + 1
        del namespace


def scenario_module_pointers() -> None:
    source = (
        "class Module:\n"
        "  def _wrapped_call_impl(self, *args):\n"
        "    return self._call_impl(*args)\n"
        "  def _call_impl(self, *args):\n"
        "    def inner():\n"
        "      return self\n"
        "    return self.forward(*args)\n"
        "  __call__ = _wrapped_call_impl\n"
        "  def forward(self):\n"
        "    return walk()\n"
    )
    namespace = {"walk": harness.walk}
    exec(compile(source, "/x/torch/nn/modules/module.py", "exec"), namespace)
    module = namespace["Module"]()
    _, rows = module()
    names = {harness.code(r.code)[0].rsplit(".", 1)[-1]: r.self for r in rows}
    # 3.10 has no qualified names, and moves a captured argument to a cell elsewhere.
    wanted = {"_wrapped_call_impl", "forward"} | ({"_call_impl"} if MINOR > 10 else set())
    for name in wanted:
        assert names[name] == id(module), (name, hex(names[name]), hex(id(module)))
    assert names["scenario_module_pointers"] == 0


def scenario_garbage() -> None:
    rows = harness.walk()[1]
    buffer = (type(rows[0]) * 2048)()
    for address in (1, 8, 0xDEAD0000, id(rows), id(None), id(check.__code__), 1 << 60):
        harness.lib.harness_walk_garbage(address, buffer)


def scenario_signal_handler() -> None:
    """From signals at any instruction: every stack ends at this scenario or at a thread's start."""
    stop = time.process_time() + 1.0
    harness.lib.harness_storm_start(200)

    def busy() -> None:
        while time.process_time() < stop:
            sorted(range(50), key=lambda v: -v)
            sum(i for i in range(50))
            exec("def g():\n  return 1\ng()")
            nested_busy(20)

    def nested_busy(n: int) -> int:
        return nested_busy(n - 1) if n else sum(range(10))

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    busy()
    for thread in threads:
        thread.join()
    harness.lib.harness_storm_stop()
    walks = harness.stored()
    roots: dict[str, int] = {}
    failed = 0
    for flags, rows in walks:
        failed += bool(flags & FAILED)
        root = harness.code(rows[-1].code)[0] if rows and rows[-1].code else "?"
        roots[root] = roots.get(root, 0) + 1
    known = roots.get("<module>", 0) + roots.get("Thread._bootstrap", 0) + roots.get("_bootstrap", 0)
    print(f"  {len(walks)} samples, {failed} failed, roots {roots}")
    assert len(walks) > 500
    assert failed <= len(walks) * 0.002, failed
    assert known >= len(walks) * 0.98, roots


print(harness.lib.harness_version().decode())
for name, scenario in list(globals().items()):
    if name.startswith("scenario_"):
        scenario()
        print("ok", name[9:])
