// Rules by pc, shared by all threads: what one thread has worked out from the unwind tables (3 to 10 us, because
// the tables are cold) no other has to. Fixed in size; two entries to a place, a third one replaces one.
//
// No lock: an entry carries its key mixed with its content, so one that is read while another thread
// writes it does not match any key. A key contains the unload generation: a library that went away takes
// its rules with it. Everything here is async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/modules.h"
#include "unwind/rule.h"

namespace sonde {

// The pc in the low 48 bits, the unload generation above. Never 0.
inline uint64_t rule_key(uint64_t pc) { return pc | static_cast<uint64_t>(unload_generation()) << 48; }

// Not async-signal-safe. Before the first walk; does nothing the second time.
void shared_rules_create();

// False: not there.
bool find_shared_rule(uint64_t key, Rule* rule);
void share_rule(uint64_t key, const Rule& rule);

}  // namespace sonde
