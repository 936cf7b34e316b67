// The program's way to the functions that the agent stands in front of, when it came too late for the loader to bind
// them: each library's own table of addresses (GOT) is changed, slot by slot, and changed back when the agent leaves.
// Only a slot that holds what the agent would call itself is changed: one that another tool has taken stays as it is.
// Not async-signal-safe; from one thread at a time.
#pragma once

#include <cstdint>

namespace sonde {

// Walks all libraries; those that were walked before only when the loader's list has changed. Returns slots changed.
uint32_t patch_slots();
// Puts everything back that still is as it was left. Returns slots that could not be.
uint32_t unpatch_slots();
uint32_t patched_slots();

// What the slot of this name held before, in the library that holds `caller`, else in any. Null: none was changed.
void* slot_original(const char* name, const void* caller);

}  // namespace sonde
