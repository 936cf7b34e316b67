// The unwinder alone, with plain C entry points, for tests that drive it from gdb or ctypes.
// Built by tests/workloads/unwind from the agent's own sources; never shipped.
#include <signal.h>
#include <ucontext.h>

#include <cstring>

#include "arch/x86_64/decoder/instruction.h"
#include "common/guarded_memory.h"
#include "jit/regions.h"
#include "python/frames.h"
#include "unwind/expression.h"
#include "unwind/frame_description.h"
#include "unwind/frame_row.h"
#include "unwind/read_ahead.h"
#include "unwind/rule.h"
#include "unwind/unwind.h"

// The harness has no interpreter and writes no log.
bool sonde::python_is_eval(uint64_t) { return false; }
void sonde::note_generated_code(uint64_t) {}

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace sonde;

namespace {

struct sigaction g_previous_segv;

void on_fault(int, siginfo_t*, void* context) {
  if (guarded_fault_fixup(context)) return;
  sigaction(SIGSEGV, &g_previous_segv, nullptr);  // the fault repeats under the program's own handler
}

__attribute__((constructor)) void start() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &g_previous_segv);
  unwind_refresh();
}

}  // namespace

// In: 17 registers in DWARF order. Out: frame pcs, leaf first, with their flags.
extern "C" {
__attribute__((visibility("default"))) uint64_t sonde_test_registers[17];
__attribute__((visibility("default"))) uint64_t sonde_test_pc[4096];
__attribute__((visibility("default"))) uint8_t sonde_test_flags[4096];
__attribute__((visibility("default"))) int sonde_test_end;
}

EXPORT uint64_t sonde_test_faults() { return guarded_fault_count(); }

EXPORT int sonde_test_walk(uint64_t stack_low, uint64_t stack_high, uint32_t known, int exact) {
  static NativeFrame frames[4096];
  static RuleCache* cache = new_rule_cache();
  Registers from;
  for (unsigned i = 0; i < Registers::kCount; ++i) {
    if (known >> i & 1) from.set(i, sonde_test_registers[i]);
  }
  const WalkResult result = walk(from, {stack_low, stack_high}, Anchor{}, cache, exact != 0, frames, 4096);
  for (unsigned i = 0; i < result.count; ++i) {
    sonde_test_pc[i] = frames[i].pc;
    sonde_test_flags[i] = frames[i].flags;
  }
  sonde_test_end = static_cast<int>(result.end);
  return result.count;
}

EXPORT void sonde_test_refresh() { unwind_refresh(); }

// The row in force at pc as plain numbers: [lookup, cfa kind, cfa register, cfa offset,
// then for each of the 17 registers: rule kind, value]. Expressions give their absolute address.
EXPORT void sonde_test_row(uint64_t pc, int64_t* out) {
  FrameRow row;
  out[0] = static_cast<int64_t>(find_row(pc, &row));
  out[1] = static_cast<int64_t>(row.cfa);
  out[2] = row.cfa_register;
  out[3] = row.cfa_offset + (row.cfa == CfaRule::Expression ? static_cast<int64_t>(row.base) : 0);
  for (unsigned i = 0; i < Registers::kCount; ++i) {
    const bool expression =
        row.rule[i] == RegisterRule::AtExpression || row.rule[i] == RegisterRule::IsExpression;
    out[4 + 2 * i] = static_cast<int64_t>(row.rule[i]);
    out[5 + 2 * i] = row.value[i] + (expression ? static_cast<int64_t>(row.base) : 0);
  }
}

// The compact rule for pc: [kind, cfa register, cfa offset, extra, from-rbp bits, from-sp bits, six offsets].
static void report(const Rule& rule, int64_t* out) {
  out[0] = static_cast<int64_t>(rule.kind);
  out[1] = rule.cfa_register;
  out[2] = rule.cfa_offset;
  out[3] = rule.cfa_extra;
  out[4] = rule.from_fp;
  out[5] = rule.from_sp;
  for (unsigned i = 0; i < Rule::kSaved; ++i) out[6 + i] = rule.saved[i];
}

EXPORT void sonde_test_rule(uint64_t pc, int64_t* out) { report(find_rule(pc), out); }

EXPORT int sonde_test_evaluate(const uint8_t* code, uint64_t length, const uint64_t* registers, uint64_t* result) {
  Registers from;
  for (unsigned i = 0; i < Registers::kCount; ++i) from.set(i, registers[i]);
  return evaluate_expression(reinterpret_cast<uint64_t>(code), length, from, false, 0, result);
}

EXPORT int sonde_test_readable(uint64_t address) {
  uint32_t fault = 0;
  guarded_load<uint64_t>(address, &fault);
  return !fault;
}

// The rule that reading ahead from pc finds, in the form of sonde_test_rule; returns 0 when it gives up.
EXPORT int sonde_test_read_ahead(uint64_t pc, int64_t* out) {
  Rule rule;
  const bool found = rule_by_reading_ahead(pc, nullptr, &rule);
  report(rule, out);
  return found;
}

EXPORT int sonde_test_decode(const uint8_t* bytes, uint64_t available, int64_t* out) {
  const Instruction one = decode_instruction(bytes, available);
  out[0] = static_cast<int64_t>(one.kind);
  out[1] = one.length;
  out[2] = one.reg;
  out[3] = one.base;
  out[4] = one.writes;
  out[5] = one.displacement;
  return one.length;
}
