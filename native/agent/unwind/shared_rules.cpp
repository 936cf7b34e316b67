#include "unwind/shared_rules.h"

#include <atomic>
#include <cstring>

#include "common/hot_memory.h"

namespace sonde {
namespace {

constexpr unsigned kRuleWords = sizeof(Rule) / 8;
constexpr uint64_t kPlaces = 1u << 13;  // of two entries: 16,384 rules, 512 KiB, touched as used
static_assert(sizeof(Rule) % 8 == 0);

struct Entry {
  std::atomic<uint64_t> check;  // key ^ words
  std::atomic<uint64_t> word[kRuleWords];
};
struct alignas(64) Place {
  Entry entry[2];
};
static_assert(sizeof(Place) % 64 == 0);

constinit Place g_small_pages[kPlaces];  // untouched where there is a huge page; zeros match no key
constinit std::atomic<Place*> g_places{g_small_pages};

Place& place_of(uint64_t key) {
  uint64_t h = key * 0x9e3779b97f4a7c15u;
  return g_places.load(std::memory_order_relaxed)[h >> 51];
}
static_assert(kPlaces == uint64_t{1} << (64 - 51));

// Rotations: words that were swapped or are equal must not cancel each other out.
uint64_t mixed(const uint64_t* words) {
  uint64_t mix = 0x243f6a8885a308d3u;
  for (unsigned i = 0; i < kRuleWords; i++) mix = (mix << 21 | mix >> 43) * 0xbf58476d1ce4e5b9u ^ words[i];
  return mix;
}

}  // namespace

void shared_rules_create() {
  if (g_places.load(std::memory_order_relaxed) != g_small_pages) return;
  if (void* hot = hot_memory(sizeof g_small_pages)) g_places.store(static_cast<Place*>(hot), std::memory_order_release);
}

bool find_shared_rule(uint64_t key, Rule* rule) {
  for (const Entry& entry : place_of(key).entry) {
    const uint64_t check = entry.check.load(std::memory_order_relaxed);
    uint64_t words[kRuleWords];
    for (unsigned i = 0; i < kRuleWords; i++) words[i] = entry.word[i].load(std::memory_order_relaxed);
    if ((check ^ mixed(words)) != key) continue;
    std::memcpy(static_cast<void*>(rule), words, sizeof words);
    return true;
  }
  return false;
}

void share_rule(uint64_t key, const Rule& rule) {
  uint64_t words[kRuleWords];
  std::memcpy(words, &rule, sizeof words);
  Place& place = place_of(key);
  Entry* chosen = &place.entry[key >> 7 & 1];
  for (Entry& entry : place.entry) {
    if (entry.check.load(std::memory_order_relaxed) == 0) chosen = &entry;
  }
  for (unsigned i = 0; i < kRuleWords; i++) chosen->word[i].store(words[i], std::memory_order_relaxed);
  chosen->check.store(key ^ mixed(words), std::memory_order_relaxed);
}

}  // namespace sonde
