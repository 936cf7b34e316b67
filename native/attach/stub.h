// The code that is copied into the program.
#pragma once

#include <cstdint>

#include "block.h"

namespace sonde::attach {

extern "C" void* sonde_stub_thread(void* block);        // on a thread of the program's libc: loads the agent
extern "C" void sonde_stub_first(AttachBlock* block);   // on the bare clone: starts that thread, and ends

// All of it, to be copied as one piece.
const uint8_t* stub_bytes();
uint64_t stub_size();
uint64_t stub_offset(const void* function);

}  // namespace sonde::attach
