// Runs in the program. Position independent; calls nothing but what the block has addresses of, and keeps no state.
#include "stub.h"

#define IN_STUB __attribute__((section("sonde_stub"), used, noinline))

extern "C" {
extern const uint8_t __start_sonde_stub[], __stop_sonde_stub[];
}

namespace sonde::attach {
namespace {

constexpr int kNow = 2;         // RTLD_NOW, and local: nobody else's symbols are looked for in the agent
constexpr long kExitThread = 60;

__attribute__((always_inline)) inline void set_stage(AttachBlock* block, AttachStage stage) {
  __atomic_store_n(&block->stage, static_cast<uint32_t>(stage), __ATOMIC_RELEASE);
}

__attribute__((always_inline)) inline bool is_cancelled(AttachBlock* block) {
  return __atomic_load_n(&block->cancelled, __ATOMIC_ACQUIRE) != 0;
}

}  // namespace

// A dlopen that waits for a lock may come back hours later, when nobody waits for the agent any more.
extern "C" IN_STUB void* sonde_stub_thread(void* argument) {
  auto* block = static_cast<AttachBlock*>(argument);
  set_stage(block, AttachStage::Loading);
  void* library = is_cancelled(block) ? nullptr : block->dlopen(block->library, kNow);
  if (is_cancelled(block)) {
    block->pthread_detach(block->thread);
    set_stage(block, AttachStage::Cancelled);
    return nullptr;
  }
  if (!library) {
    const volatile char* why = block->dlerror();
    volatile char* to = block->answer;
    for (unsigned i = 0; why && why[i] && i < sizeof block->answer - 1; i++) to[i] = why[i];
    block->pthread_detach(block->thread);
    set_stage(block, AttachStage::NotLoaded);
    return nullptr;
  }
  void* entry = block->dlsym(library, block->entry);
  if (!entry) {
    block->pthread_detach(block->thread);
    set_stage(block, AttachStage::NoEntry);
    return nullptr;
  }
  set_stage(block, AttachStage::Entered);
  block->result = reinterpret_cast<int (*)(AttachBlock*)>(entry)(block);
  if (block->result) block->pthread_detach(block->thread);  // else the agent joins it
  set_stage(block, AttachStage::Done);
  return nullptr;
}

extern "C" IN_STUB void sonde_stub_first(AttachBlock* block) {
  block->error = block->pthread_create(&block->thread, nullptr, block->main, block);
  if (block->error) set_stage(block, AttachStage::NoThread);
  asm volatile("syscall" : : "a"(kExitThread), "D"(0) : "rcx", "r11", "memory");
  __builtin_unreachable();
}

const uint8_t* stub_bytes() { return __start_sonde_stub; }
uint64_t stub_size() { return static_cast<uint64_t>(__stop_sonde_stub - __start_sonde_stub); }
uint64_t stub_offset(const void* function) {
  return static_cast<uint64_t>(static_cast<const uint8_t*>(function) - __start_sonde_stub);
}

}  // namespace sonde::attach
