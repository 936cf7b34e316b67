// A library that is loaded, called and unloaded; SIZE makes two of them differ in every frame.
#include <string.h>

extern "C" __attribute__((noinline)) long plugin_inner(void (*next)(), long n) {
  volatile char room[SIZE];
  memset(const_cast<char*>(room), 1, sizeof room);
  if (n > 0) return plugin_inner(next, n - 1) + room[n];
  next();
  return room[SIZE / 2];
}

extern "C" __attribute__((visibility("default"))) void plugin_enter(void (*next)()) {
  volatile char pad[SIZE / 3 + 16];
  pad[0] = static_cast<char>(plugin_inner(next, 2));
}
