// The pace of the background thread's passes, by a clock that is told. Prints milliseconds until the next pass.
#include <cstdio>

#include "background/pace.h"

using namespace sonde;

namespace {
constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kRing = 8192;
uint64_t now_ns = 1'000 * kMs;

uint64_t pass(Pace* pace, uint32_t words, bool news) {
  pace->drained(words / 2);  // the fullest ring counts
  pace->drained(words);
  if (news) pace->look_again_soon();
  const uint64_t wait_ns = pace->next_ns(now_ns, kRing);
  now_ns += wait_ns;
  return wait_ns / kMs;
}

void many(const char* what, Pace* pace, int passes, uint32_t words, bool news) {
  uint64_t wait_ms = 0;
  for (int i = 0; i < passes; i++) wait_ms = pass(pace, words, news);
  printf("%s %llu\n", what, static_cast<unsigned long long>(wait_ms));
}
}  // namespace

int main() {
  Pace pace;
  pace.start(now_ns);
  many("young", &pace, 10, 100, false);
  many("calm", &pace, 60, 100, false);
  many("news", &pace, 1, 100, true);
  many("soon_after", &pace, 10, 100, false);
  many("calm_again", &pace, 60, 100, false);
  many("deep_stacks", &pace, 1, kRing / 2, false);
  many("flood", &pace, 5, kRing, false);
  return 0;
}
