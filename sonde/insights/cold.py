"""What runs beside a large, needless pass over memory: its pages, and caches that the pass has emptied.

Enters: the share of a pass. Leaves: the same share with the most that goes with it. Two planted mistakes show the size:
without a copy of 16 MB the product behind it took half of its time, without a dense gradient of 26 MB
what was left of the step took two fifths of it (examples/pitfalls, noncontiguous and embedding).
"""

from __future__ import annotations

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

MOST_OF_REST = 0.5
PAGES = (
    r"page_fault|mm_fault|do_anonymous_page|clear_page|unmap|zap_|madvise|do_brk|vm_mmap|alloc_pages|folio"
)


def page_work(subject: Subject) -> Mask:
    """Host samples in the kernel's management of memory: buffers that come from the system and go back."""
    return subject.host_with(PAGES, layer="^kernel$")


def with_cold(share: Share) -> Share:
    """At most also half of the rest of the step, whose data the pass drives out of the caches."""
    return Share(share.middle, share.low, share.high + MOST_OF_REST * (1 - share.high), share.looks)
