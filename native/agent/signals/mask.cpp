#include "signals/mask.h"

#include "core/agent.h"
#include "signals/real.h"
#include "signals/shared.h"

namespace sonde {
namespace {
// The program believes that SIGPROF is blocked in this thread.
__thread bool believed_blocked __attribute__((tls_model("initial-exec"))) = false;
}  // namespace

int program_sigmask(int how, const sigset_t* set, sigset_t* previous) {
  if (!agent_present()) return real_sigmask(how, set, previous);
  bool believed_before = believed_blocked;
  int error;
  if (!set) {
    error = real_sigmask(how, nullptr, previous);
  } else if (program_uses_sample_signal()) {
    error = real_sigmask(how, set, previous);  // its own business; ours is to wait
    if (error == 0 && (how == SIG_SETMASK || sigismember(set, kSampleSignal))) believed_blocked = false;
  } else {
    bool named = sigismember(set, kSampleSignal) == 1;
    sigset_t allowed = *set;
    if (how != SIG_UNBLOCK) sigdelset(&allowed, kSampleSignal);
    error = real_sigmask(how, &allowed, previous);
    if (error == 0) {
      if (how == SIG_SETMASK) believed_blocked = named;
      else if (named) believed_blocked = how == SIG_BLOCK;
    }
  }
  if (error == 0 && previous && believed_before) sigaddset(previous, kSampleSignal);
  return error;
}

void adopt_inherited_mask() {
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, kSampleSignal);
  if (program_uses_sample_signal()) return;
  if (real_sigmask(SIG_UNBLOCK, &only, &before) == 0 && sigismember(&before, kSampleSignal) == 1) {
    believed_blocked = true;
  }
}

bool sample_signal_believed_blocked() { return believed_blocked; }
void inherit_belief(bool blocked) { believed_blocked = blocked; }

}  // namespace sonde
