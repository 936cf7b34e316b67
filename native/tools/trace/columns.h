// Events as columns: one Store per family of events, arguments as flat (key, type, value) triples.
// Nothing is allocated per event; a growing column is remapped, not copied.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace sonde::trace {

// A growing array of plain values. realloc moves large blocks by remapping pages, so growth costs
// neither time nor a second copy in memory.
template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { std::free(data_); }

  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ < 1024 ? 1024 : capacity_ + capacity_ / 2);
    data_[size_++] = value;
  }
  void resize(std::size_t size, T value) {
    if (size > capacity_) reserve(size);
    while (size_ < size) data_[size_++] = value;
  }
  void truncate(std::size_t size) { size_ = size; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return size_; }
  const T* data() const { return data_; }

 private:
  void reserve(std::size_t capacity) {
    void* grown = std::realloc(data_, capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

enum Family : int {
  kOps = 0,       // operators, annotations, Python functions: nest on a thread
  kLaunches = 1,  // runtime and driver calls
  kDevice = 2,    // kernels, copies, sets, synchronisations, annotations on a device
  kInstants = 3,  // memory events and marks without a length
  kFlows = 4,     // arrows; `name` holds the phase: 0 start, 1 step, 2 end
  kCounters = 5,  // readings
  kOthers = 6,    // spans of the profiler itself and categories not known
  kFamilies = 7
};

enum class ArgType : std::uint8_t {
  kInteger = 0,
  kReal = 1,     // bits of a double
  kString = 2,   // code of a string
  kJson = 3,     // code of a compact JSON array or object
  kWord = 4,     // 0 false, 1 true, 2 null
  kUnsigned = 5  // integer beyond the signed range, as its unsigned bits
};

struct Arg {
  std::int64_t value;
  std::uint16_t key;
  ArgType type;
};

struct Store {
  Array<std::int32_t> track;
  Array<std::int32_t> category;
  Array<std::int32_t> name;
  Array<std::int64_t> start_ns;
  Array<std::int64_t> duration_ns;
  Array<std::int64_t> id;         // flows only
  Array<std::uint32_t> arg_end;   // row i has args [arg_end[i-1], arg_end[i])
  Array<std::uint16_t> arg_key;
  Array<ArgType> arg_type;
  Array<std::int64_t> arg_value;
};

}  // namespace sonde::trace
