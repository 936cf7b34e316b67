// The link between guarded reads (common/safe_memory) and the fault handler. All async-signal-safe.
#pragma once

#include <cstdint>

namespace sonde {

void set_fault_guard(bool installed);  // false: guarded reads go through process_vm_readv
bool fault_guard_installed();
uint64_t faults_guarded();

// Did a guarded read fault at pc? Then execution continues at *continue_at.
bool fault_is_ours(uint64_t pc, uint64_t* continue_at);

}  // namespace sonde
