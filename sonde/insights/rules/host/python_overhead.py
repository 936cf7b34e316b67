"""Rule 12, Python overhead: the user's own Python code, not the framework, takes the step's time.

Condition: on-CPU samples of the stepping thread whose innermost frame is the interpreter running a line of the
    user's own code (no operator, no library call below it), at least 10 % of the step. NumPy's loops over arrays
    are none of the interpreter's work.
Saving: that share; 50 to 100 % of it, because the vectorised form still costs something.
Not for: code inside a DataLoader (rules 18-21), Python frames of libraries, and programs without steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES, KERNELS
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.host_layers import in_loader
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10  # catalogue, rule 12
WON_LOW, WON_HIGH = 0.5, 1.0  # ours: a vectorised loop is rarely free
NUMPY_LIBRARY = r"_multiarray_umath|_umath_linalg|_pocketfft|numpy"
FRAMEWORK_LIBRARY = r"^(libtorch|libc10|_C\.|libmkl|libdnnl|libopenblas)"


def judge(subject: Subject) -> Iterator[Finding]:
    claim = own_python(subject) & ~in_loader(subject)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    lines = subject.lines(claim, 3)
    where = f" at {lines[0].file.rpartition('/')[2]}:{lines[0].line}" if lines else ""
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Python itself takes {share.middle:.0%} of each step{where}",
            why="The interpreter runs your lines one value at a time; a tensor operation does all values at once.",
            evidence=(
                Evidence(f"{share.middle:.1%} of the step runs Python code of yours, outside any operator"),
                *lines,
            ),
            saving=subject.saving(share, WON_LOW, WON_HIGH),
            confidence="high" if share.low > 2 * LEAST_SHARE else "medium",
            fix=_fix(lines),
            experiment=Experiment("patch", note="compare the results of both versions"),
        ),
        claim,
    )


def own_python(subject: Subject) -> Mask:
    """Host samples on the CPU in the interpreter, below a line of the user's and above any other library."""
    index, host = subject.stacks, subject.host
    foreign = index.frames_where(layer="^python$") & ~index.users_python
    stop = (
        foreign
        | index.frames_where(layer="^(op|jit|module)$")
        | index.frames_where(library=FRAMEWORK_LIBRARY)
    )
    # The innermost frame that is either the user's line or something foreign must be the user's.
    innermost = index.innermost(index.users_python | stop)
    own = np.concatenate((index.users_python, [False]))[innermost] if len(index) else np.zeros(0, np.bool_)
    arrays = np.isin(subject.host_work, [CODES[k] for k in KERNELS if k != "copies"])
    return subject.host_mask(own) & ~host.waiting & ~(arrays & subject.host_with(library=NUMPY_LIBRARY))


def _fix(lines: list[Evidence]) -> str:
    place = f"{lines[0].file.rpartition('/')[2]}:{lines[0].line}" if lines else "the loop"
    return (
        f"# {place}: replace the Python loop by one tensor expression, for example\n"
        "right = (scores.argmax(1) == labels).sum()  # instead of counting row by row\n"
        "# or move what does not change out of the step"
    )


RULE = Rule("python_overhead", 12, "samples in steady steps", judge, scope="cpu", breadth=1, way="in bulk")
