#include "pools/restores.h"

#include <unwind.h>  // names of the platform's ABI; nothing of it is called

namespace sonde {
namespace {

thread_local Restores* t_innermost __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

Restores::Restores(const void** variable, const void* value, const void** other, const void* other_value)
    : variable_(variable), value_(value), other_(other), other_value_(other_value), outer_(t_innermost) {
  // Frames below this one were left by longjmp, which tells nobody: nothing of theirs can be believed.
  if (outer_ && outer_ <= this) outer_ = nullptr;
  t_innermost = this;
}

void Restores::undo() {
  *variable_ = value_;
  if (other_) *other_ = other_value_;
  t_innermost = outer_;
}

void Restores::unwound() {
  if (t_innermost) t_innermost->undo();
}

extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code sonde_unwound(int, _Unwind_Action actions,
                                                                                   _Unwind_Exception_Class,
                                                                                   _Unwind_Exception*,
                                                                                   _Unwind_Context*) {
  if (actions & _UA_CLEANUP_PHASE) Restores::unwound();
  return _URC_CONTINUE_UNWIND;
}

}  // namespace sonde
