// What a processor architecture must give. One folder beside this file per architecture gives it; the build puts the
// right folder on the include path. Nothing outside names a register or writes an instruction.
//
// processor.h of that folder defines what must be inline:
//   Registers            numbered as DWARF does: Set, bit, kSp, kPc, kFramePointer, kGeneral, kCount, kCalleeSaved, kSaved, kPushOrder
//   kRedZoneBytes        below the stack pointer, that code may use without moving it
//   kReturnOffset        where a call leaves the return address, from the caller's stack pointer; 0: in a register
//   kLowestUserAddress, kHighestUserAddress
//   raw_guarded_load<T>(address, &failed)   one load that may fault; entries in the section `sonde_fixups`
//   stack_pointer()      of the caller
//   SONDE_CAPTURE_REGISTERS(registers)      callee-saved registers, stack pointer and pc of this very point
//
// Everything here is async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "processor.h"

namespace sonde {

// --- The interrupted thread ---

Registers registers_of(const ucontext_t* context);
uint64_t pc_of(const ucontext_t* context);
uint64_t sp_of(const ucontext_t* context);
void set_pc(ucontext_t* context, uint64_t pc);

// --- Where it stands to a system call ---

enum class CallPlace : uint8_t { Before, Behind };  // pc is at the instruction (the kernel set it back), or behind it

// Is the instruction that ends at pc one that enters the kernel?
bool behind_system_call(uint64_t pc);
// Do the registers look like those of a thread in a system call? Reads no memory.
bool registers_fit_call(const ucontext_t* context, CallPlace place);
// Is there such an instruction at that place?
bool has_call_instruction(const ucontext_t* context, CallPlace place);
// The register that holds the number before a call and the result behind it.
uint64_t number_or_result(const ucontext_t* context);
uint64_t call_argument(const ucontext_t* context, unsigned index);
// The number of the call that pc is behind, from the code before it. False: not to be seen there.
bool number_from_code(const ucontext_t* context, uint32_t* number);
// pc is behind a call: it will be made again.
void make_call_again(ucontext_t* context, uint32_t number);
// pc is before a call: it will not be made, and has this result.
void skip_call(ucontext_t* context, uint64_t result);

// A call that newer architectures lack, as the one that took its place: open as openat, poll as ppoll.
int64_t modern_call(int64_t number);

// --- Handlers ---

// Copies the kernel's frame around `context` to below `top` and enters the handler there; it returns to what was
// interrupted. Comes back only when the frame is not the kernel's or would reach `lowest`.
void enter_handler(uint64_t top, uint64_t lowest, int signal, void (*handler)(int, siginfo_t*, void*), siginfo_t* info,
                   void* context);
// Does a frame lie below `top`, made for a handler that interrupted exactly what `context` says?
bool has_frame_below(uint64_t top, const ucontext_t* context);

// --- Threads ---

// Base of the calling thread's own variables. False: the kernel does not tell.
bool thread_pointer(uint64_t* base);
// Does libc's description of a thread lie there? Nothing is believed before it was seen.
bool is_thread_block(uint64_t base);

// --- Code ---

enum class CallBefore : uint8_t { None, Direct, Indirect };
// What kind of call instruction ends at `address`; for a direct one *target is where it goes.
CallBefore call_before(uint64_t address, uint64_t* target);

// Calls use(target, data) for every direct jump in [begin, end). Reads byte by byte, so some are no jumps at all.
void for_each_jump(uint64_t begin, uint64_t end, void (*use)(uint64_t target, void* data), void* data);

// Calls microtask(global, bound, arguments[0], …) with any number of pointer arguments; `arguments` has at least four.
extern "C" void sonde_call_microtask(void (*microtask)(), int* global_thread, int* bound_thread, long count,
                                     void** arguments);

// And unwind/read_ahead.h: the caller of code without unwind tables, from its instructions.

}  // namespace sonde
