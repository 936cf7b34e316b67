"""DataLoader: how long the program waited for each batch, and where epochs begin and end.

Modules that a data set calls (most transforms of torchvision are modules) are part of loading: no forward passes.
"""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

from sonde.record.inside.events import DATALOADER, DATALOADER_START
from sonde.record.inside.patch import wrap
from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation


class Epoch:
    """A pass over one DataLoader that is under way."""

    __slots__ = ("batches", "last_ns", "number", "start_ns")

    def __init__(self, number: int, start_ns: int) -> None:
        self.number = number
        self.start_ns = self.last_ns = start_ns
        self.batches = 0


def observe(torch: Any, seen: Observation) -> None:
    """Wrap the iterator's `__next__` and the loader's `__iter__`."""
    from torch.utils.data import dataloader

    loaders: dict[int, Epoch] = {}  # id of the loader → its pass under way
    passes: dict[int, int] = {}  # id of the loader → passes so far
    of_iterator: dict[int, int] = {}  # id of the iterator → id of the loader

    inside = seen.inside

    def end(loader: int, complete: bool) -> None:
        epoch = loaders.pop(loader, None)
        if epoch is not None and epoch.batches:
            extra = (
                f',"batches":{epoch.batches},"complete":{"true" if complete else "false"},"loader":{loader}'
            )
            seen.session.mark("epoch", "dataloader", epoch.start_ns, epoch.last_ns, epoch.number, extra)

    def make_iter(original: Any) -> Any:
        def __iter__(self: Any) -> Any:
            thread = seen.thread()
            if seen.windows.pending:
                seen.windows.safe_point(thread)
            start = now_ns()
            thread.steps.loader_started(start)
            thread.quiet = 0
            end(id(self), complete=False)  # the last pass was left before its end
            number = passes.get(id(self), 0)
            passes[id(self)] = number + 1
            loaders[id(self)] = Epoch(number, start)
            iterator = original(self)
            of_iterator[id(iterator)] = id(self)
            thread.record(DATALOADER_START, start, now_ns(), 0, 0)
            return iterator

        return __iter__

    def make_next(original: Any) -> Any:
        def __next__(self: Any) -> Any:
            thread = seen.thread()
            if seen.windows.pending:
                seen.windows.safe_point(thread)
            start = now_ns()
            thread.steps.saw(start)
            loader = of_iterator.get(id(self), -1)
            ident = get_ident()
            outermost = ident not in inside
            inside.add(ident)
            try:
                batch = original(self)
            except StopIteration:
                end(loader, complete=True)
                raise
            finally:
                if outermost:
                    inside.discard(ident)
            finished = now_ns()
            epoch = loaders.get(loader)
            if epoch is not None:
                epoch.batches += 1
                epoch.last_ns = finished
            thread.record(DATALOADER, start, finished, 0, 0)
            return batch

        return __next__

    def close_all() -> None:
        for loader in list(loaders):
            end(loader, complete=False)

    wrap(dataloader.DataLoader, "__iter__", make_iter)
    wrap(dataloader._BaseDataLoaderIter, "__next__", make_next)
    seen.session.on_exit.append(close_all)
    seen.session.on_fork.append(loaders.clear)
