// The program's memory, read and written as it is now, and the functions of its libc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sonde::attach {

class Memory {
 public:
  explicit Memory(int pid);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  bool is_open() const { return file_ >= 0; }
  bool read(uint64_t address, void* to, size_t bytes) const;
  bool write(uint64_t address, const void* from, size_t bytes) const;

 private:
  int file_ = -1;
};

struct Libc {
  uint64_t pthread_create = 0, pthread_detach = 0, dlopen = 0, dlsym = 0, dlerror = 0;
  uint64_t loader_list = 0;     // _r_debug of the loader
  uint64_t system_call = 0;     // an instruction that makes one, in the program's own libc
  uint64_t kept_pages = 0;      // of an agent that was there before: what was mapped then
  const char* missing = nullptr;  // what was not found
};

// Reads the program's libraries; nothing of it is stopped.
Libc find_libc(int pid);

}  // namespace sonde::attach
