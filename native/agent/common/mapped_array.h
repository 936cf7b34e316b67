// A growable array in its own mmap: the agent does not use the program's malloc, which may be
// a replaced one, may hold a lock in the thread we interrupted, and is what users profile.
// Not async-signal-safe to grow. Elements are trivially copyable; new ones are zero.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sonde {

template <typename T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr MappedArray() = default;
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  // Makes room for `count` elements; false when the system gives no memory.
  bool reserve(size_t count) {
    if (count <= capacity_) return true;
    size_t wanted = capacity_ ? capacity_ * 2 : (4096 + sizeof(T) - 1) / sizeof(T);
    while (wanted < count) wanted *= 2;
    void* grown = data_ ? mremap(data_, capacity_ * sizeof(T), wanted * sizeof(T), MREMAP_MAYMOVE)
                        : mmap(nullptr, wanted * sizeof(T), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return false;
    data_ = static_cast<T*>(grown);
    capacity_ = wanted;
    return true;
  }
  bool push(const T& value) {
    if (!reserve(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }
  void clear() { size_ = 0; }
  void resize_down(size_t count) { size_ = count; }
  void release() {
    if (data_) munmap(data_, capacity_ * sizeof(T));
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  T* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace sonde
