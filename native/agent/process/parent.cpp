// getppid as a process of the program sees it. `sonde run` adopts processes whose parent has ended (it is their
// subreaper), so that a daemon's end and CPU time are known. A daemon would then see Sonde where it sees
// init without us, and some programs wait for just that. So it is told what it would have seen.
#include <stdlib.h>
#include <unistd.h>

#include "common/system.h"
#include "core/agent.h"
#include "process/follow.h"
#include "signals/real.h"

using namespace sonde;

SONDE_EXPORT pid_t getppid() noexcept {
  const auto parent = static_cast<pid_t>(syscall(SYS_getppid));
  const int launcher = agent_options().launcher;
  if (launcher == 0 || parent != launcher || process_id() == first_process()) return parent;
  return foster_parent();
}
