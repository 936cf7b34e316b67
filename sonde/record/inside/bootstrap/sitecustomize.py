"""Enter a Python process: run the user's own sitecustomize, then wait for the import of a framework.

Python imports this by itself at start-up because `sonde run` put its folder in
front on PYTHONPATH. It imports nothing that the interpreter has not loaded already;
a program that never imports one pays one dictionary look-up per import.
Nothing here may ever raise into the program.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def chain() -> None:
    """Run the sitecustomize that Python would have found without us, under its own name."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE or not entry]
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    spec = finder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = type(sys)("sitecustomize")
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    ours = sys.modules["sitecustomize"]
    sys.modules["sitecustomize"] = module
    chain.keep = ours  # type: ignore[attr-defined]  # the module in use must outlive its name
    spec.loader.exec_module(module)


def find_sonde():
    """Make `import sonde` find this very copy, installed for this Python or not."""
    if "sonde" not in sys.modules:
        import importlib.util as find

        root = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
        spec = find.spec_from_file_location(
            "sonde", os.path.join(root, "__init__.py"), submodule_search_locations=[root]
        )
        package = find.module_from_spec(spec)
        sys.modules["sonde"] = package
        spec.loader.exec_module(package)


class AfterImport:
    """A finder that finds nothing itself: it adds a call after the import of a watched module."""

    def __init__(self, text):
        """`text` as `sonde.record.outside.environment.watched` writes it."""
        # Watched module → "package:function" of Sonde's to call with it.
        self.watched = dict(word.split("=", 1) for word in text.split())

    def find_spec(self, name, path=None, target=None):
        action = self.watched.get(name)
        if action is None:
            return None
        del self.watched[name]
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self.wrap(spec, action)
                return spec
        self.watched[name] = action  # not there now; the program may add a path and try again
        return None

    @staticmethod
    def wrap(spec, action):
        """Shadow the loader's exec_module once, so that its type and all else stay as they are."""
        loader = spec.loader
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module):
            del loader.exec_module
            original(module)
            try:
                call(action, module)
            except Exception as error:  # the program goes on without us
                note(f"{action}: {type(error).__name__}: {error}")

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader that takes no attributes
            note(f"{action}: loader {loader!r} cannot be watched")


def call(action, module):
    """Call "package:function" of Sonde's with the module that was imported."""
    find_sonde()
    package, function = action.split(":")
    getattr(__import__(package, fromlist=["*"]), function)(module)


def note(problem: str) -> None:
    """Leave a line for `losses`; this is all that may happen when anything goes wrong."""
    import json

    try:
        find_sonde()
        from sonde import rawfolder

        raw = os.path.join(json.loads(os.environ["SONDE_OBSERVE"])["folder"], rawfolder.FOLDER)
        with open(rawfolder.TROUBLE.path(raw, os.getpid()), "a", encoding="utf-8") as file:
            file.write(problem + "\n")
    except Exception:
        pass


if os.environ.get("SONDE_OBSERVE"):
    sys.meta_path.insert(0, AfterImport(os.environ.get("SONDE_WATCH", "")))
chain()
