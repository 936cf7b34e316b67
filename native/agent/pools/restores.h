// Puts variables back when a frame is left, also by an exception of the program that passes through it (a backward pass
// that throws), and without the C++ runtime, which this library does not bring along.
//
// A function that holds a Restores says SONDE_RESTORES_WHEN_UNWOUND: that names `sonde_unwound` in its unwind entry, as
// a compiler names __gxx_personality_v0. Whatever unwinder passes calls it once for each such frame, innermost
// first, while the frame's memory is still there; it stops nothing and needs nothing of the unwinder.
#pragma once

namespace sonde {

class Restores {
 public:
  // What the variables are to hold afterwards: one, or two.
  Restores(const void** variable, const void* value, const void** other = nullptr, const void* other_value = nullptr);
  ~Restores() { undo(); }
  Restores(const Restores&) = delete;
  Restores& operator=(const Restores&) = delete;

  void undo();
  static void unwound();  // the calling thread's innermost frame is being left

 private:
  const void** const variable_;
  const void* const value_;
  const void** const other_;
  const void* const other_value_;
  Restores* outer_;
};

// In the body of the function; 0x1b: a distance of four bytes.
#define SONDE_RESTORES_WHEN_UNWOUND asm volatile(".cfi_personality 0x1b, sonde_unwound")

}  // namespace sonde
