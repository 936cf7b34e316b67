// The Python code that asks for something now, for later: one number for each place that asks.
//
// FOLDER/raw/PID.places.tsv has a line for each number: NUMBER VERSION FILE FUNCTION FIRST_LINE INSTRUCTION TABLE, all
// apart by tabs, of the innermost frame that is no library's (then VERSION is the last). TABLE is the code's own line
// table in hexadecimal: only the analysis knows how to read that of each version.
#pragma once

#include <cstdint>

namespace sonde {

// Not async-signal-safe. 0: no Python code asks, or there are too many places. Some hundred nanoseconds when it is known.
int64_t asked_from();

}  // namespace sonde
