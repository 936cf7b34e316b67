// One thread writes records of random length into a ring, another reads them: order, length and content
// must survive, whatever the ring's fill. Prints "records N refused N". usage: ring_torture RECORDS
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "sample/ring.h"

int main(int argc, char** argv) {
  const uint64_t records = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1000;
  static uint64_t memory[256];
  sonde::Ring ring;
  ring.attach(memory, 256);
  uint64_t refused = 0;
  std::thread producer([&] {
    uint64_t random = 88172645463325252u;
    for (uint64_t i = 0; i < records;) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      uint32_t words = 2 + static_cast<uint32_t>(random % 120);
      uint64_t* at = ring.reserve(words);
      if (!at) {
        refused++;
        std::this_thread::yield();
        continue;
      }
      at[0] = words;
      for (uint32_t k = 1; k < words; k++) at[k] = i * 1000 + k;
      ring.commit();
      i++;
    }
  });
  for (uint64_t i = 0; i < records;) {
    const uint64_t* at = ring.peek();
    if (!at) {
      std::this_thread::yield();
      continue;
    }
    uint32_t words = static_cast<uint32_t>(at[0]);
    for (uint32_t k = 1; k < words; k++) {
      if (at[k] != i * 1000 + k) {
        printf("record %lu word %u is %lu\n", i, k, at[k]);
        return 1;
      }
    }
    ring.pop(words);
    i++;
  }
  producer.join();
  printf("records %lu refused %lu\n", records, refused);
  return ring.peek() ? 1 : 0;
}
