// The registers of the interrupted thread, as the kernel left them for a handler.
#include "arch/arch.h"

namespace sonde {
namespace {

// DWARF number -> index in gregs.
constexpr int kIndex[Registers::kCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                           REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

}  // namespace

Registers registers_of(const ucontext_t* context) {
  Registers registers;
  for (unsigned i = 0; i < Registers::kCount; i++) {
    registers.set(i, static_cast<uint64_t>(context->uc_mcontext.gregs[kIndex[i]]));
  }
  return registers;
}

uint64_t pc_of(const ucontext_t* context) { return static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RIP]); }
uint64_t sp_of(const ucontext_t* context) { return static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]); }
void set_pc(ucontext_t* context, uint64_t pc) { context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc); }

}  // namespace sonde
