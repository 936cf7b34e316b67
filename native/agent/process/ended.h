// The account of a process at its end: one line in FOLDER/raw/ended.tsv for every process that this library is in,
// also for helpers that are not sampled and for children too short for a log of their own. So their number and
// their CPU time are known, and a reader can tell what is missing from what never was.
//
// A line: pid, parent, start ns, end ns, user ns, system ns, peak bytes, how, program; tabs between.
// Times of use are those of the whole process since it was forked, whatever programs it was before: an exec adds no
// second count. how: "exit"; "exec"; "stay" (that exec failed: the line before does not hold).
#pragma once

namespace sonde {

// Not async-signal-safe. Called once by the constructor, when the options are known.
void begin_account();

// Async-signal-safe enough for _exit between fork and exec: one open, one write. Does nothing in a vfork child.
void note_end(const char* how);

}  // namespace sonde
