// The function that a caller would have reached had the agent not stood in front of it.
#pragma once

namespace sonde {

// Each library that calls gets its own answer: a process may hold several OpenMP runtimes. Null: there is none.
// The first call from a library takes the loader's lock; later ones cost a look at a small table.
class RealFunction {
 public:
  explicit constexpr RealFunction(const char* name) : name_(name) {}
  void* for_caller(void* return_address);
  // For functions that nothing can stand in for. All loaded libraries are searched before the program is given up.
  void* must_find(void* return_address);

 private:
  struct Known {
    const void* library;  // link map
    const void* start;    // its mapping: a link map's memory may be used again for another library
    void* function;
  };
  static constexpr unsigned kMostLibraries = 32;

  void* resolve(void* return_address);

  const char* const name_;
  Known known_[kMostLibraries] = {};
  unsigned count_ = 0;  // published with release; entries below it never change
  unsigned claimed_ = 0;
};

}  // namespace sonde
