// Stand-ins for rooms that are not furnished yet. Weak: a real definition replaces each.
#include "jit/jit.h"

#define SONDE_WEAK __attribute__((weak))

namespace sonde {

SONDE_WEAK void jit_poll(log::Writer&) {}
SONDE_WEAK void jit_after_fork() {}

}  // namespace sonde
