"""The screen of `sonde top`, made with textual: keys, tables, and a thread that looks at the job.

Enters: a `Watched` job and what the keys w, s and d do. The thread paces itself: looking and drawing cost at most a
hundredth of one CPU, so a large job is looked at less often.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, Static, Tab, Tabs

from sonde.errors import SondeError
from sonde.live.picture import Picture, callers
from sonde.render.text.units import percent
from sonde.render.top import lines
from sonde.store.recording import Recording

OWN_SHARE = 0.01  # of one CPU
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 6.0
MOST_ROWS = 200
HELP = """\
1–6, Tab     lines, operators, functions, modules, threads, processes
↑ ↓          move through the rows
Enter        who calls this row
o            order: by time, by change, by name
/            show only rows that contain a text; Esc shows all again
Space        freeze the screen; the job goes on
w            record a profiling window (operators with shapes) now
s            save what was recorded so far as a recording
d            print the stacks of all threads
q            leave; the job goes on
"""


@dataclass(frozen=True)
class Look:
    """The job at one moment."""

    now: Picture
    recording: Recording  # what the picture is of
    ended: bool


@dataclass(frozen=True)
class Watched:
    """The job and what can be done with it. An action returns what to tell, or raises a SondeError."""

    look: Callable[[], Look]
    window: Callable[[], str]
    save: Callable[[], str]
    dump: Callable[[], str]


class Page(ModalScreen[None]):
    """A text over the table: help, callers, stacks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "app.pop_screen", "close", show=False)
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(f"{self._title}   (Esc closes)\n\n{self._text}", markup=False)


class Top(App[None]):
    """Tables of the last seconds of a job."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: auto; padding: 0 1; background: $panel; }
    Tabs { height: 2; }
    #filter { height: 1; border: none; display: none; padding: 0 1; }
    DataTable { height: 1fr; }
    #keys { height: 1; background: $panel; padding: 0 1; }
    Page { align: center middle; }
    #page { width: 96%; height: 90%; border: round $accent; background: $surface; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "leave"),
        Binding("o", "order", "order"),
        Binding("slash", "filter", "filter"),
        Binding("escape", "no_filter", "all rows", show=False),
        Binding("space", "freeze", "freeze", priority=False),
        Binding("w", "do('window')", "window"),
        Binding("s", "do('save')", "save"),
        Binding("d", "do('dump')", "dump"),
        Binding("question_mark", "help", "help"),
        Binding("tab", "next_table", "next", priority=True, show=False),
        *(Binding(str(i + 1), f"table('{name}')", name, show=False) for i, name in enumerate(lines.TABLES)),
    ]

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self._watched = watched
        self._trends = lines.Trends()
        self._picture: Picture | None = None
        self._recording: Recording | None = None
        self._table, self._sort, self._wanted, self._frozen = lines.TABLES[0], lines.SORTS[0], "", False
        self._names: list[str] = []
        self._stop = threading.Event()
        self._own_share = 0.0
        self._notice = ""

    def compose(self) -> ComposeResult:
        yield Static("Waiting for the first samples …", id="head", markup=False)
        yield Tabs(*(Tab(f"{i + 1} {name}", id=name) for i, name in enumerate(lines.TABLES)))
        yield Input(placeholder="text to look for, Enter to keep, Esc for all rows", id="filter")
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        self._draw_keys()
        self.query_one(DataTable).focus()
        threading.Thread(target=self._look_on, daemon=True).start()

    def on_unmount(self) -> None:
        self._stop.set()

    def _look_on(self) -> None:
        used_s, began = 0.0, time.monotonic()
        looks: deque[float] = deque(maxlen=9)
        while not self._stop.is_set():
            start = time.thread_time()
            try:
                seen = self._watched.look()
            except (SondeError, OSError) as error:
                self.call_from_thread(self._say, str(error))
                return
            cost_s = time.thread_time() - start
            used_s += cost_s
            self._own_share = used_s / max(time.monotonic() - began, 1.0)
            if self._stop.is_set():
                return
            self.call_from_thread(self._show, seen)
            if seen.ended:
                self.call_from_thread(self._say, "The program has ended. q leaves.")
                return
            # Names are looked up once: what the first looks cost is not what the next ones will.
            looks.append(cost_s)
            usual_s = sorted(looks)[len(looks) // 2]
            self._stop.wait(min(max(usual_s / OWN_SHARE, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))

    def _show(self, seen: Look) -> None:
        self._trends.add(seen.now)
        if not self._frozen:
            self._picture, self._recording = seen.now, seen.recording
            self._draw()

    def _draw(self) -> None:
        if self._picture is None:
            return
        head = lines.head(self._picture, self.size.width - 2, self._own_share)
        self.query_one("#head", Static).update("\n".join(head))
        self._draw_keys()
        table = self.query_one(DataTable)
        at = self._names[table.cursor_row] if 0 <= table.cursor_row < len(self._names) else None
        found = lines.rows(self._picture, self._table, self._trends, self._sort, self._wanted)[:MOST_ROWS]
        titles = lines.columns(self._table)
        if tuple(str(column.label) for column in table.ordered_columns) != titles:
            table.clear(columns=True)
            for title, width in zip(titles, lines.widths(self._table), strict=True):
                table.add_column(title, width=width)
        else:
            table.clear()
        for _, cells in found:
            table.add_row(*cells)
        self._names = [name for name, _ in found]
        if at in self._names:
            table.move_cursor(row=self._names.index(at))

    def _draw_keys(self) -> None:
        state = [f"order: {self._sort}"]
        state += [f"filter: {self._wanted}"] if self._wanted else []
        state += ["FROZEN"] if self._frozen else []
        keys = "Enter callers  o order  / filter  Space freeze  w window  s save  d dump  ? help  q leave"
        self.query_one("#keys", Static).update(self._notice or f"{'  '.join(state)}   {keys}")

    def _say(self, text: str) -> None:
        self._notice = text
        self._draw_keys()

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        if event.tab is not None and event.tab.id:
            self._table = event.tab.id
            self._draw()
            self.query_one(DataTable).focus()

    def action_table(self, name: str) -> None:
        self.query_one(Tabs).active = name

    def action_next_table(self) -> None:
        following = lines.TABLES[(lines.TABLES.index(self._table) + 1) % len(lines.TABLES)]
        self.action_table(following)

    def action_order(self) -> None:
        self._sort = lines.SORTS[(lines.SORTS.index(self._sort) + 1) % len(lines.SORTS)]
        self._notice = ""
        self._draw()

    def action_freeze(self) -> None:
        self._frozen = not self._frozen
        self._notice = ""
        self._draw_keys()

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def action_no_filter(self) -> None:
        self._wanted, self._notice = "", ""
        self._close_filter()
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._wanted = event.value
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_filter()

    def _close_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = self._wanted
        box.display = False
        self.query_one(DataTable).focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        if self._recording is None or not 0 <= event.cursor_row < len(self._names):
            return
        name = self._names[event.cursor_row]
        if self._table in ("threads", "processes"):
            return
        found = callers(self._recording, name)
        text = "\n".join(f"{percent(row.share):>7}  {row.name}" for row in found)
        self.push_screen(Page(f"Callers of {name}", text or "It is not on any stack of this interval."))

    def action_help(self) -> None:
        self.push_screen(Page("Keys", HELP))

    def action_do(self, what: str) -> None:
        """In a thread of its own: an action may take seconds."""
        self._say({"window": "Asking for a window …", "save": "Saving …", "dump": "Reading stacks …"}[what])
        threading.Thread(target=self._do, args=(what,), daemon=True).start()

    def _do(self, what: str) -> None:
        try:
            told = getattr(self._watched, what)()
        except (SondeError, OSError) as error:
            self.call_from_thread(self._say, str(error))
            return
        if what == "dump":
            self.call_from_thread(self._say, "")
            self.call_from_thread(self.push_screen, Page("Stacks of all threads", told))
        else:
            self.call_from_thread(self._say, told)
