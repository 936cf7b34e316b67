"""The ways in which time can be won, few and general, and the evidence that speaks for one.

Enters: what a group of host samples does, when in the step, and how it changes over the run. Leaves: a `Way` with
the share of the time that it wins back (least, most) and words for people. Rules give the specific text where
one fits; where none does, the way is what a card says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Way:
    """`won`: part of the time that the way wins back, least and most. Below 0: it may be slower."""

    name: str
    won: tuple[float, float]
    why: str
    fix: str
    guess: bool = False  # no sign speaks for it: only where and what kind the time is


ONCE = Way(
    "once",
    (0.3, 1.0),
    "It makes what it made in earlier steps. What does not change between steps can be made once, and kept.",
    "# {place}: compute it once before the loop, or keep the result and use it again",
)
PERHAPS_ONCE = replace(
    ONCE,
    why="Whether what it makes changes between steps is not known. What does not can be made once, before the loop.",
    fix="# {place}: if it makes the same in every step, compute it once before the loop",
    guess=True,
)
READ_ONCE = replace(
    ONCE,
    why="A file is read in every step. What is read can be kept.",
    fix="# {place}: read it once before the loop",
)
BUILT_ONCE = replace(
    ONCE,
    why="Modules are built, and their parameters filled, in every step. One that is kept needs no building.",
    fix="# {place}: build it once before the loop, and use it again; load other weights only when they change",
)
LOOKED_UP = replace(
    ONCE,
    why="A container is made anew for each element that is looked up in it. Made once, every look-up is cheap.",
    fix="# {place}: make the container once, before the loop over the look-ups",
)
LESS_OFTEN = Way(
    "less often",
    (0.6, 1.0),
    "It is made after the update, or beside the model: if no step needs the result, it need not be made every time.",
    "if step % 100 == 0:  # only where no later step reads what it makes\n    ...  # {place}",
)
IN_BULK = Way(
    "in bulk",
    (0.25, 1.0),
    "Many small calls cost more than the work in them. One call over all rows, tensors or time steps pays it once.",
    "# {place}: one call on stacked tensors instead of one per element",
)
# Overhead of a line that was not seen to run many times: nothing is sure.
PERHAPS_IN_BULK = replace(
    IN_BULK,
    won=(0.0, 1.0),
    why="Calls cost more here than the work in them. Where many are of one kind, a single call over all pays it once.",
    guess=True,
)
IN_ONE_PASS = Way(
    "in one pass",
    (-0.3, 0.7),
    "Each operator reads and writes the whole tensor. Fused, they touch memory once.",
    "model = torch.compile(model)   # or an operator that does the chain at once; may be slower here: prove first",
)
INCREMENTALLY = Way(
    "incrementally",
    (0.3, 1.0),
    "Its time grows from step to step: it works again on everything that came before.",
    "# {place}: keep a running result and add only what is new",
)
ELSEWHERE = Way(
    "elsewhere",
    (0.3, 1.0),
    "The step waits for work that feeds it. It can be done before the loop, or by a worker while the step before runs.",
    "# {place}: prepare it before the loop, or in a Dataset of a DataLoader with num_workers > 0",
)
OTHER_FORMAT = Way(
    "in another format",
    (0.1, 1.0),
    "The data is moved into another layout, type or order before it can be used.",
    "# {place}: make the data in the form that its user needs: dtype, memory layout, sorted or packed indices",
)
WITHOUT_TEXT = replace(
    OTHER_FORMAT,
    won=(0.3, 1.0),
    why="Numbers are read out of text, one by one. In a binary form they need no reading.",
    fix="# {place}: keep and send numbers as bytes: numpy.save, torch.save, array.tobytes() and torch.frombuffer",
)
CHEAPER_NUMBERS = replace(
    OTHER_FORMAT,
    why="Random numbers are drawn here. Fewer of them, or of a simpler distribution, cost less.",
    fix="# {place}: draw only what is used, in the dtype that is used, from the simplest distribution that does",
    guess=True,
)
NOT_AT_ALL = Way(
    "not at all",
    (0.6, 1.0),
    "It serves to find mistakes, or makes the program wait: it computes nothing.",
    "# {place}: take it out, or switch it on only to debug",
)
ONLY_A_PIECE = replace(
    NOT_AT_ALL,
    why="Only a small piece of what is made here is kept.",
    fix="# {place}: make only the piece that is used",
)
UNUSED = replace(
    NOT_AT_ALL,
    why="What is made here has a name that nothing in this file reads.",
    fix="# {place}: take it out, unless its side effects are needed",
)
OTHER_HANDS = Way(
    "with fewer or more hands",
    (-0.2, 0.9),
    "Threads wait for each other or for a lock instead of working.",
    "# fewer threads (OMP_NUM_THREADS), or work that is split evenly; may be slower here: prove first",
)
WAITING = Way(
    "waiting for someone",
    (0.3, 1.0),
    "The step waits until something else is done.",
    "# {place}: start it earlier, in another thread or process, and fetch the result when it is needed",
)

_BY_KIND = {
    "debugging": NOT_AT_ALL,
    "sleep": NOT_AT_ALL,
    "io": LESS_OFTEN,
    "gc": LESS_OFTEN,
    "locks": WAITING,
    "barriers": OTHER_HANDS,
    "communication": WAITING,
    "waiting": WAITING,
    "loading": ELSEWHERE,
    "compiling": ONCE,
}
_IN_MODEL = {
    "copies": OTHER_FORMAT,
    "gather": OTHER_FORMAT,
    "random": CHEAPER_NUMBERS,
    "memory": IN_ONE_PASS,
    "allocation": IN_ONE_PASS,
    "dispatch": PERHAPS_IN_BULK,
    "autograd": PERHAPS_IN_BULK,
    "python": PERHAPS_IN_BULK,
    "native": ELSEWHERE,
    "arithmetic": PERHAPS_ONCE,
}
_FEEDING = dict.fromkeys(("python", "native", "dispatch", "random"), ELSEWHERE)
FEWEST_TURNS, LONGEST_TURN_NS = 8, 150_000.0  # of a loop inside a step, whose turns are small work


@dataclass(frozen=True)
class Signs:
    """What is known of some time of a step. All but kind and role may be unknown: then they are as here."""

    kind: str
    role: str
    grows: bool = False  # its time or its calls rise from step to step
    again: bool = False  # its result is one that it had before
    visits: float = 0.0  # turns in a step
    turn_ns: float = 0.0  # of one turn
    text: bool = False  # it handles strings
    cut: bool = False  # only a piece of the result is kept
    unused: bool = False  # the result is not read at all
    converts: bool = False  # Python objects become a tensor
    reads: bool = False  # a file is read
    permutes: bool = False  # a whole permutation is drawn
    builds: bool = False  # mostly the construction of modules
    one_hot: bool = False  # a product with vectors that are zero but for one place
    numbers: bool = False  # elements are taken out of arrays one by one
    parses: bool = False  # numbers are read out of text
    told: bool = False  # what it makes is printed or read after the loop, and nowhere else
    looks_up: bool = False  # a container is made, and one element of it is used
    needed: bool = False  # below the backward pass of a program whose update was not seen: it may be in here

    @property
    def in_a_loop(self) -> bool:
        return self.visits >= FEWEST_TURNS and self.turn_ns <= LONGEST_TURN_NS


def way_of(signs: Signs) -> Way:
    """The way: by what the time is, then by how it changes, by what becomes of it, by when in the step it is spent."""
    if signs.kind in _BY_KIND:
        return _BY_KIND[signs.kind]
    if signs.grows:
        return INCREMENTALLY
    if signs.again:
        return ONCE
    if signs.builds:
        return BUILT_ONCE
    if signs.reads:
        return READ_ONCE
    if signs.looks_up and signs.visits >= FEWEST_TURNS:
        return LOOKED_UP
    if signs.role == "hook" or signs.permutes or (signs.told and signs.role == "after"):
        return LESS_OFTEN
    if signs.cut:
        return ONLY_A_PIECE
    if signs.unused and signs.role != "after":
        return UNUSED
    if signs.one_hot:
        return OTHER_FORMAT
    if signs.parses:
        return WITHOUT_TEXT
    if signs.in_a_loop and (signs.numbers or not signs.text):
        return IN_BULK
    if signs.role == "after" and not signs.needed:
        return LESS_OFTEN
    if signs.converts:
        return OTHER_FORMAT
    return _guessed(signs)


def _guessed(signs: Signs) -> Way:
    """What often fits work of this kind at this time of the step."""
    feeding = _FEEDING if signs.role == "before" else _IN_MODEL
    return replace(ELSEWHERE if signs.text else feeding.get(signs.kind, PERHAPS_ONCE), guess=True)
