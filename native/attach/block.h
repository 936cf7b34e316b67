// What the injector, the stub and the agent share: one block of memory in the program, at a fixed layout.
// The injector fills it before anything runs; stage and answer come back through it.
#pragma once

#include <cstdint>

namespace sonde {

enum class AttachStage : uint32_t {
  Nothing = 0,
  NoThread = 1,     // pthread_create failed: error
  Loading = 2,      // a thread of the program's libc has begun
  NotLoaded = 3,    // dlopen failed: answer has its reason
  NoEntry = 4,      // the library is not the agent
  Entered = 5,      // the agent has been called: from here on it cannot be cancelled
  Done = 6,         // and has returned: result
  Cancelled = 7,    // the injector had given up before: the agent was not called
};

struct AttachBlock {
  // Of the program's libc.
  int (*pthread_create)(unsigned long*, const void*, void* (*)(void*), void*);
  int (*pthread_detach)(unsigned long);
  void* (*dlopen)(const char*, int);
  void* (*dlsym)(void*, const char*);
  char* (*dlerror)();
  void* (*main)(void*);            // stub's second half, where it lies in the program
  unsigned long thread;            // that runs it
  int32_t error;
  uint32_t stage;                  // AttachStage
  uint32_t cancelled;
  uint32_t sacrificial;            // not 0 as long as the first thread exists
  int32_t result;                  // of the agent's entry; 0: it is there
  uint64_t pages, pages_bytes;     // all that was mapped for this: kept for the next time
  char entry[32];                  // name of the agent's function: int (AttachBlock*)
  char library[1024];
  char answer[512];                // text for the user
  char request[8192];              // NAME=VALUE lines for the agent
};

constexpr char kAttachEntry[] = "sonde_agent_attach";

}  // namespace sonde
