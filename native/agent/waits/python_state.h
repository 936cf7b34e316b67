// The interpreter state of a thread that no tick has seen yet (it waits most of the time).
#pragma once

#include <cstdint>

namespace sonde {

// Not async-signal-safe to rely on, but every read is guarded. `known` is the state of any
// other thread. Every CPython (3.10 to 3.14) chains its thread states by their first two fields
// and keeps the pthread_t in them; the place of the latter differs and is searched. Null: not found.
void* find_python_state(void* known, uint64_t pthread);

}  // namespace sonde
