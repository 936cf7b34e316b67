"""Runs inside gdb: steps through the torture program and compares walks with gdb's frames.

Enters: environment SONDE_BREAKS (functions to stop in), SONDE_SEED. Leaves: one JSON object on the last
line: stops, frames compared, functions that were stopped in, and the differences.

Where gdb cannot know (code without unwind information), the truth is what gdb said about the callers
at the function's first instruction, when the return address is still at the stack pointer.
"""

import json
import os
import random
import struct

import gdb  # type: ignore[import-not-found]

REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()  # noqa: SIM905
BLIND = "nocfi_"


def address_of(symbol):
    return int(gdb.parse_and_eval(f"(unsigned long)&{symbol}"))


def gdb_frames():
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid() and len(frames) < 2000:
        # Inlined and tail-called frames are gdb's reading of debug information, not of the stack.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            frames.append((frame.pc(), frame.name() or "?"))
        if frame.unwind_stop_reason() not in (gdb.FRAME_UNWIND_NO_REASON,):
            break
        try:
            frame = frame.older()
        except gdb.error:
            break
    return frames


def stack_of(pointer):
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        for line in maps:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= pointer < high:
                return low, high
    return 0, 0


class Walker:
    def __init__(self):
        self.registers = address_of("sonde_test_registers")
        self.pcs = address_of("sonde_test_pc")
        self.end = address_of("sonde_test_end")
        # The thread's own stack, also while it is on another one.
        self.low, self.high = stack_of(int(gdb.parse_and_eval("$rsp")))

    def walk(self):
        frame = gdb.newest_frame()
        values = [int(frame.read_register(name)) & (2**64 - 1) for name in REGISTERS]
        inferior = gdb.selected_inferior()
        inferior.write_memory(self.registers, struct.pack("<17Q", *values))
        low = stack_of(values[7])[0] if self.low <= values[7] < self.high else self.low
        function = "((int(*)(unsigned long,unsigned long,unsigned,int))sonde_test_walk)"
        count = int(gdb.parse_and_eval(f"{function}({low}, {self.high}, 0x1ffff, 1)"))
        pcs = struct.unpack(f"<{count}Q", bytes(inferior.read_memory(self.pcs, 8 * count)))
        end = struct.unpack("<i", bytes(inferior.read_memory(self.end, 4)))[0]
        return list(pcs), end


def compare(walker, blind_callers):
    """(frames compared, difference or None, remembered callers of a blind function)."""
    expected = gdb_frames()
    pcs, end = walker.walk()
    names = [name for _, name in expected]
    truth = [pc for pc, _ in expected]
    # Below a blind function gdb's list is right up to it, and above it only what was remembered.
    if any(name.startswith(BLIND) for name in names) or blind_callers:
        position = next((i for i, name in enumerate(names) if name.startswith(BLIND)), None)
        if position is None:
            blind_callers = None
        elif position == 0 and gdb.newest_frame().pc() == address_of(names[0]):
            blind_callers = truth[1:]
        if position is not None:
            if blind_callers is None:
                return 0, None, None  # stepped into the middle: the truth was not seen
            truth = truth[: position + 1] + blind_callers
    if pcs != truth or end != 0:
        shown = [f"{pc:#x} {name}" for pc, name in expected[:8]]
        difference = {
            "end": end,
            "walk": [f"{pc:#x}" for pc in pcs[:10]],
            "gdb": shown,
            "truth": [f"{pc:#x}" for pc in truth[:10]],
            "code": gdb.execute("x/2i $pc", to_string=True),
        }
        return len(truth), difference, blind_callers
    return len(truth), None, blind_callers


SETTINGS = (
    "set pagination off",
    "set confirm off",
    "set backtrace past-main on",
    "set backtrace past-entry on",
    "set backtrace limit unlimited",
    "handle SIGUSR1 nostop noprint pass",
    "handle SIGUSR2 nostop noprint pass",
    "handle SIGSEGV nostop noprint pass",
)


def step(chooser, blind):
    """One or a few instructions. In a blind function calls are mostly stepped over, to see what is behind."""
    if not blind:
        gdb.execute(f"stepi {chooser.choice((1, 1, 2, 3, 7, 20))}", to_string=True)
    elif chooser.random() < 0.8:
        gdb.execute("disable", to_string=True)
        gdb.execute("nexti", to_string=True)
        gdb.execute("enable", to_string=True)
    else:
        gdb.execute("stepi", to_string=True)


def main():
    chooser = random.Random(int(os.environ.get("SONDE_SEED", "1")))
    for setting in SETTINGS:
        gdb.execute(setting, to_string=True)
    gdb.execute("break torture_begin", to_string=True)
    gdb.execute("run", to_string=True)
    walker = Walker()
    for name in os.environ["SONDE_BREAKS"].split():
        # By address: by name gdb skips what it takes for a prologue.
        gdb.Breakpoint(f"*{name}" if name.startswith(BLIND) else name)
    gdb.Breakpoint("torture_end")
    stops = compared = 0
    visits = {}
    stopped_in = {}
    differences = []
    blind_callers = None
    while True:
        gdb.execute("continue", to_string=True)
        name = gdb.newest_frame().name() or "?"
        if name == "torture_end":
            break
        visits[name] = visits.get(name, 0) + 1
        # Fewer steps where it stopped often: most breakpoints are hit a hundred times.
        budget = 60 if name.startswith(BLIND) else 12 if visits[name] <= 6 else 1
        for _ in range(budget):
            # From where the blind functions are called, on to the next one's first instruction.
            if gdb.newest_frame().name() in ("torture_end", "assembly()"):
                break
            frames, difference, blind_callers = compare(walker, blind_callers)
            compared += frames
            stops += frames > 0
            here = gdb.newest_frame().name() or "?"
            if frames:
                stopped_in[here] = stopped_in.get(here, 0) + 1
            if difference:
                differences.append(difference)
            step(chooser, here.startswith(BLIND))
        if gdb.newest_frame().name() == "torture_end":
            break
    wrong = {"wrong": len(differences), "differences": differences[:10]}
    print("\n" + json.dumps({"stops": stops, "frames": compared, "stopped_in": stopped_in, **wrong}))
    gdb.execute("kill")


main()
