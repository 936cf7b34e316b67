"""What a runtime or driver call does, by its name, for CUDA, HIP, XPU and MTIA."""

from __future__ import annotations

import re

# First match wins. Graph launches come before launches, event and stream waits before copies.
_KINDS = (
    ("graph", r"Graph(Launch|Instantiate|Exec|Upload|Create|Destroy|Clone|AddNode)|StreamBeginCapture"),
    ("graph", r"StreamEndCapture|ThreadExchangeStreamCaptureMode"),
    ("launch", r"Launch(Cooperative)?(Kernel|Host)|ExtLaunch|ModuleLaunch|zeCommandListAppendLaunch"),
    ("launch", r"^urEnqueueKernelLaunch|^runExecutable|^mtiaLaunch|LaunchFunction"),
    ("sync", r"[Ss]ynchroni[sz]e|StreamWaitEvent|StreamWaitValue|EventQuery|StreamQuery|hostWait|waitFor"),
    ("event", r"Event(Record|Create|Destroy|ElapsedTime)|^recordEvent"),
    ("copy", r"Memcpy|memcpy|MemCopy|urEnqueueUSMMemcpy|copyTo|CopyH|CopyD"),
    ("set", r"Memset|memset|USMFill"),
    ("allocate", r"Malloc|Free|MemAlloc|HostAlloc|HostRegister|HostUnregister|MemCreate|MemMap|MemAddress"),
    ("allocate", r"MemRelease|MemUnmap|MemSetAccess|MemPool|alloc|deallocate"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)


def kind_of(name: str) -> str:
    """launch, copy, set, sync, allocate, graph, event or other."""
    for kind, pattern in _COMPILED:
        if pattern.search(name):
            return kind
    return "other"
