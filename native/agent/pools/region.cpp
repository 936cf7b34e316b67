#include "pools/region.h"

#include "core/agent.h"
#include "pools/trail.h"
#include "python/frames.h"

namespace sonde {
namespace {

// Numbers of open regions, hashed. Two regions that meet in one place only make the older look closed.
constexpr unsigned kPlaces = 256;
std::atomic<uint64_t> g_open[kPlaces];
std::atomic<uint64_t> g_next_number{1};

std::atomic<uint64_t>& place(uint64_t number) { return g_open[number % kPlaces]; }

}  // namespace

constinit thread_local PoolThread t_pool;

bool region_wanted() { return current_thread_number() != kNoThread; }

void open_region(Region* region) {
  region->enclosing = t_pool.region.load(std::memory_order_relaxed);
  region->owner.thread = current_thread_number();
  region->owner.stack = current_stack_bounds();
  region->owner.python_state = python_thread_state();
  // A worker that opens a region does so for the Python code of its own owner.
  if (region->owner.python_state == nullptr && region->enclosing) {
    region->owner.python_state = region->enclosing->owner.python_state;
  }
  region->origin = current_origin(&region->origin_ticket);
  region->number = g_next_number.fetch_add(1, std::memory_order_relaxed);
  RegionTrail* trail = agent_sampling() ? next_trail() : nullptr;
  if (trail) {
    leave_trail(*region, trail);
    region->trail = trail;
  }
  place(region->number).store(region->number, std::memory_order_release);
  t_pool.opened_number = region->number;
}

void close_region(const Region& region) {
  uint64_t expected = region.number;
  place(region.number).compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
}

bool is_open(uint64_t number) { return place(number).load(std::memory_order_acquire) == number; }

InRegion::InRegion(const Region* region)
    : region_(region),
      outer_(t_pool.region.load(std::memory_order_relaxed)),
      outer_anchor_(t_pool.anchor) {
  t_pool.anchor = reinterpret_cast<uint64_t>(this);
  if (region->owner.thread != current_thread_number()) t_pool.worker = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.region.store(region, std::memory_order_relaxed);
}

InRegion::~InRegion() {
  t_pool.last_number = 0;  // no moment with a number and the other region's pointer
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.last.store(region_, std::memory_order_relaxed);
  t_pool.last_trail = region_->trail;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.last_number = region_->number;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_pool.region.store(outer_, std::memory_order_relaxed);
  t_pool.anchor = outer_anchor_;
}

asm(R"(
  .text
  .type sonde_call_microtask, @function
  .globl sonde_call_microtask
  .hidden sonde_call_microtask
sonde_call_microtask:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdi, %r11          # microtask
  movq %rsi, %rdi          # global thread
  movq %rdx, %rsi          # bound thread
  movq %rcx, %r10          # count
  movq %r8, %rax           # arguments
  subq $4, %rcx            # those that go on the stack
  jle 2f
  testq $1, %rcx           # an odd number of words leaves the stack misaligned
  jz 1f
  subq $8, %rsp
1:
  pushq -8(%rax,%r10,8)    # from the last to the fifth
  decq %r10
  cmpq $4, %r10
  jg 1b
2:
  movq %rax, %r10
  movq 0(%r10), %rdx
  movq 8(%r10), %rcx
  movq 16(%r10), %r8
  movq 24(%r10), %r9
  xorl %eax, %eax
  call *%r11
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size sonde_call_microtask, .-sonde_call_microtask
)");

extern "C" __attribute__((noinline)) void sonde_region_work(void* opaque) {
  const auto* region = static_cast<const Region*>(opaque);
  const InRegion inside(region);
  region->work(region->data);
}

extern "C" __attribute__((noinline)) void sonde_region_microtask(int* global_thread, int* bound_thread,
                                                                 void* opaque) {
  const auto* region = static_cast<const Region*>(opaque);
  const InRegion inside(region);
  sonde_call_microtask(region->microtask, global_thread, bound_thread, region->argument_count,
                       region->arguments);
}

}  // namespace sonde
