"""Change a program from inside without touching its files: switches, constructor arguments, flips.

Python imports this at start-up because the experiment put its folder on PYTHONPATH, behind that of the
observers, which chain to it. It acts once torch has been imported, and does what SONDE_EXPERIMENT says:
    code     Python statements, with `torch` in scope
    patches  [{target, arguments}]: keyword arguments for every call of a constructor
    flip     {a, b, block, seed}: statements to alternate between blocks of optimizer steps
Standard library only. What took effect is noted in the experiment's folder; what fails there is noted too, since
an arm that silently was not changed would be compared with itself.
"""

# mypy: ignore-errors
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def chain() -> None:
    """Run the sitecustomize that Python would have found without us, under its own name."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE or not entry]
    spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    chain.keep = sys.modules.get("sitecustomize")  # type: ignore[attr-defined]  # must outlive its name
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class AfterTorch:
    """A finder that finds nothing itself: it adds a call after the import of torch."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None and spec.loader is not None:
                self.wrap(spec.loader)
                return spec
        sys.meta_path.insert(0, self)  # not there now; the program may add a path and try again
        return None

    @staticmethod
    def wrap(loader):
        before = vars(loader).get("exec_module")  # the observers' own wrapper, which removes itself
        original = loader.exec_module

        def exec_module(module):
            if before is not None:
                loader.exec_module = before
            else:
                del loader.exec_module
            original(module)
            act(module)

        loader.exec_module = exec_module


def note(kind: str, text: str = "") -> None:
    with open(os.path.join(SPEC["folder"], "inside.txt"), "a", encoding="utf-8") as file:
        file.write(f"{kind} {text}".strip().replace("\n", " ") + "\n")


def act(torch) -> None:
    """torch is here: do what the experiment asks."""
    try:
        if SPEC.get("code"):
            exec(SPEC["code"], {"torch": torch, "__name__": "sonde_experiment"})
            note("code")
        for patch in SPEC.get("patches", ()):
            constructor(patch["target"], patch["arguments"])
        if SPEC.get("flip"):
            flips(torch, SPEC["flip"])
    except BaseException as error:
        note("failed", f"{type(error).__name__}: {error}")
        raise SystemExit(
            f"the experiment cannot change the program: {type(error).__name__}: {error}"
        ) from error


def constructor(target, arguments) -> None:
    """Give every call of a class these keyword arguments, also where the program gives others."""
    import functools
    import importlib
    import inspect

    module, _, name = target.rpartition(".")
    owner = getattr(importlib.import_module(module), name)
    is_class = isinstance(owner, type)
    original = owner.__init__ if is_class else owner
    signature = inspect.signature(original)

    @functools.wraps(original)
    def changed(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(arguments)
        if name == "DataLoader" and bound.arguments.get("num_workers", 0) == 0:
            # These may only be given with workers.
            for extra in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
                bound.arguments.pop(extra, None)
        note("patched", target)
        return original(*bound.args, **bound.kwargs)

    if is_class:
        owner.__init__ = changed
    else:
        setattr(sys.modules[module], name, changed)


def flips(torch, plan) -> None:
    """Alternate two states between blocks of optimizer steps: pairs in random order."""
    import random
    import time

    from torch.optim.optimizer import register_optimizer_step_post_hook

    coin = random.Random(plan["seed"])
    codes = {side: compile(plan[side.lower()], f"<arm {side}>", "exec") for side in "AB"}
    scope = {"torch": torch, "__name__": "sonde_experiment"}
    order: list = []
    state = {"steps": 0}

    def turn() -> None:
        if not order:
            pair = ["A", "B"]
            coin.shuffle(pair)
            order.extend(pair)
        side = order.pop(0)
        exec(codes[side], scope)
        note("flip", f"{side} {time.monotonic_ns()}")

    def after(optimizer, args, kwargs) -> None:
        state["steps"] += 1
        if state["steps"] >= plan["warmup"] and (state["steps"] - plan["warmup"]) % plan["block"] == 0:
            turn()

    register_optimizer_step_post_hook(after)


if os.environ.get("SONDE_EXPERIMENT"):
    import json

    SPEC = json.loads(os.environ["SONDE_EXPERIMENT"])
    sys.meta_path.insert(0, AfterTorch())
chain()
