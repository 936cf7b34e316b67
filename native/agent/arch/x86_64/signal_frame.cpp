// What the kernel puts on a stack for a handler, and how a handler is entered on another one.
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "arch/arch.h"
#include "common/guarded_memory.h"

namespace sonde {
namespace {


// From the stack pointer up. The vector registers follow, at the address in uc_mcontext.fpregs.
struct Frame {
  uint64_t return_address;  // libc's call of sigreturn, which finds the frame by the stack pointer
  uint8_t context[offsetof(ucontext_t, uc_sigmask) + 8];
  uint8_t info[sizeof(siginfo_t)];
};
static_assert(sizeof(Frame) == 8 + 304 + 128);

struct FramePlace {
  uint64_t frame, vectors, vector_bytes;
};

uint64_t vector_bytes(const void* fpregs) {
  constexpr uint64_t kLegacyBytes = 512, kSizeAt = 464;
  constexpr uint32_t kMagic = 0x46505853;  // FP_XSTATE_MAGIC1
  if (!fpregs) return 0;
  uint32_t magic, bytes;
  std::memcpy(&magic, static_cast<const uint8_t*>(fpregs) + kSizeAt, 4);
  std::memcpy(&bytes, static_cast<const uint8_t*>(fpregs) + kSizeAt + 4, 4);
  return magic == kMagic ? bytes : kLegacyBytes;
}

// Below `top`, with vector registers as large as those of another frame of the thread.
FramePlace frame_below(uint64_t top, const void* fpregs) {
  const uint64_t bytes = vector_bytes(fpregs);
  const uint64_t vectors = (top - bytes) & ~uint64_t{63};
  // As at the entry of any function: 8 below a multiple of 16.
  return {((vectors - sizeof(Frame)) & ~uint64_t{15}) - 8, vectors, bytes};
}

[[noreturn]] void jump(Frame* frame, int signal, void (*handler)(int, siginfo_t*, void*)) {
  asm volatile(
      "mov %0, %%rsp\n"
      "xor %%eax, %%eax\n"
      "jmp *%1"
      :
      : "r"(frame), "r"(handler), "D"(signal), "S"(frame->info), "d"(frame->context)
      : "memory", "rax");
  __builtin_unreachable();
}

}  // namespace

void enter_handler(uint64_t top, uint64_t lowest, int signal, void (*handler)(int, siginfo_t*, void*), siginfo_t* info,
                   void* context) {
  const auto* old_frame = reinterpret_cast<const Frame*>(static_cast<uint8_t*>(context) - offsetof(Frame, context));
  if (static_cast<void*>(info) != old_frame->info) return;
  const void* fp = static_cast<const ucontext_t*>(context)->uc_mcontext.fpregs;
  const FramePlace place = frame_below(top, fp);
  if (place.frame <= lowest) return;
  auto* frame = reinterpret_cast<Frame*>(place.frame);
  std::memcpy(frame, old_frame, sizeof *frame);
  if (fp) {
    std::memcpy(reinterpret_cast<void*>(place.vectors), fp, place.vector_bytes);
    std::memcpy(frame->context + offsetof(ucontext_t, uc_mcontext.fpregs), &place.vectors, sizeof place.vectors);
  }
  jump(frame, signal, handler);
}

bool has_frame_below(uint64_t top, const ucontext_t* context) {
  const uint64_t at = frame_below(top, context->uc_mcontext.fpregs).frame + offsetof(Frame, context);
  uint32_t fault = 0;
  for (int index : {REG_RIP, REG_RSP, REG_RAX}) {
    const uint64_t field = at + offsetof(ucontext_t, uc_mcontext.gregs) + 8u * static_cast<unsigned>(index);
    const auto expected = static_cast<uint64_t>(context->uc_mcontext.gregs[index]);
    if (guarded_load<uint64_t>(field, &fault) != expected || fault) return false;
  }
  return true;
}

}  // namespace sonde
