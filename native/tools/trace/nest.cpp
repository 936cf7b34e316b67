#include "trace/nest.h"

#include <algorithm>
#include <vector>

namespace sonde::trace {

std::int64_t nest(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
                  const std::int64_t* duration, std::int64_t* order, std::int64_t* parent) {
  if (count <= 0) return 0;
  const std::int32_t tracks = *std::max_element(track, track + count) + 1;
  std::vector<std::int64_t> first(static_cast<std::size_t>(tracks) + 1, 0);
  for (std::int64_t i = 0; i < count; ++i) ++first[static_cast<std::size_t>(track[i]) + 1];
  for (std::size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  for (std::int64_t i = 0; i < count; ++i) order[next[static_cast<std::size_t>(track[i])]++] = i;

  const auto before = [&](std::int64_t a, std::int64_t b) {
    if (start[a] != start[b]) return start[a] < start[b];
    if (duration[a] != duration[b]) return duration[a] > duration[b];
    return a < b;
  };
  std::int64_t overlaps = 0;
  std::vector<std::int64_t> stack;
  for (std::size_t t = 0; t + 1 < first.size(); ++t) {
    std::int64_t* begin = order + first[t];
    std::int64_t* end = order + first[t + 1];
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    stack.clear();
    for (std::int64_t at = first[t]; at < first[t + 1]; ++at) {
      const std::int64_t row = order[at];
      const std::int64_t begins = start[row];
      const std::int64_t ends = begins + duration[row];
      const auto end_of = [&](std::int64_t i) { return start[order[i]] + duration[order[i]]; };
      // A call of no length that starts where another ends stands after it, not in it; one at the
      // start of another with no length is in it.
      while (!stack.empty() && end_of(stack.back()) <= begins && start[order[stack.back()]] < begins) {
        stack.pop_back();
      }
      // Whatever lies between a call and its parent on the stack ends before that call does, so the parents
      // alone are asked: calls that overlap like stairs cost one look each, not one per open call.
      std::int64_t above = stack.empty() ? -1 : stack.back();
      if (above >= 0 && end_of(above) < ends) ++overlaps;
      while (above >= 0 && end_of(above) < ends) above = parent[above];
      parent[at] = above;
      stack.push_back(at);
    }
  }
  return overlaps;
}

namespace {

// Finds the innermost open call on a chain of parents, whose ends never shrink on the way up.
//
// Short chains are walked. Once a walk was long, each row gets a second pointer, far up its chain, so that a chain
// of n costs log n looks and the pointers cost one pass (Myers, "An applicative random-access stack").
class Chain {
 public:
  Chain(std::int64_t count, const std::int64_t* end, const std::int64_t* parent, const std::uint8_t* eligible)
      : count_(count), end_(end), parent_(parent), eligible_(eligible) {}

  std::int64_t innermost(std::int64_t at, std::int64_t time) {
    for (int steps = 0; jump_.empty() && at >= 0 && !fits(at, time); ++steps) {
      if (steps == kShort) {
        prepare();
      } else {
        at = parent_[at];
      }
    }
    if (jump_.empty() || at < 0) return at;
    at = nearest_[static_cast<std::size_t>(at)];
    while (at >= 0 && end_[at] < time) {
      const std::int64_t far = jump_[static_cast<std::size_t>(at)];
      at = far >= 0 && end_[far] < time ? far : above(at);
    }
    return at;
  }

 private:
  static constexpr int kShort = 64;

  bool fits(std::int64_t at, std::int64_t time) const {
    return end_[at] >= time && (eligible_ == nullptr || eligible_[at] != 0);
  }

  // The nearest eligible call above an eligible one.
  std::int64_t above(std::int64_t at) const {
    return parent_[at] < 0 ? -1 : nearest_[static_cast<std::size_t>(parent_[at])];
  }

  void prepare() {
    const auto size = static_cast<std::size_t>(count_);
    nearest_.assign(size, -1);
    jump_.assign(size, -1);
    std::vector<std::int64_t> depth(size, 0);
    const auto depth_of = [&](std::int64_t i) { return i < 0 ? -1 : depth[static_cast<std::size_t>(i)]; };
    const auto jump_of = [&](std::int64_t i) { return i < 0 ? -1 : jump_[static_cast<std::size_t>(i)]; };
    for (std::int64_t i = 0; i < count_; ++i) {  // parents come first
      const auto at = static_cast<std::size_t>(i);
      if (eligible_ != nullptr && eligible_[i] == 0) {
        nearest_[at] = above(i);
        continue;
      }
      nearest_[at] = i;
      const std::int64_t up = above(i);
      depth[at] = depth_of(up) + 1;
      const std::int64_t far = jump_of(up);
      const bool equal = depth_of(up) - depth_of(far) == depth_of(far) - depth_of(jump_of(far));
      jump_[at] = up >= 0 && equal ? jump_of(far) : up;
    }
  }

  std::int64_t count_;
  const std::int64_t* end_;
  const std::int64_t* parent_;
  const std::uint8_t* eligible_;
  std::vector<std::int64_t> nearest_;  // the row itself where it is eligible, else the nearest above that is
  std::vector<std::int64_t> jump_;
};

}  // namespace

void enclose(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
             const std::int64_t* end, const std::int64_t* parent, const std::uint8_t* eligible,
             std::int64_t queries, const std::int32_t* query_track, const std::int64_t* query_time,
             std::int64_t* found) {
  Chain chain(count, end, parent, eligible);
  std::int64_t hint = 0;
  for (std::int64_t q = 0; q < queries; ++q) {
    const std::int32_t t = query_track[q];
    const std::int64_t time = query_time[q];
    const auto not_after = [&](std::int64_t i) { return track[i] < t || (track[i] == t && start[i] <= time); };
    // Queries mostly come in order: the answer is near the last one.
    std::int64_t low = 0;
    std::int64_t high = count;
    if (hint < count && not_after(hint)) {
      low = hint;
      std::int64_t step = 1;
      while (low + step < count && not_after(low + step)) {
        low += step;
        step *= 2;
      }
      high = std::min(count, low + step);
    } else {
      high = hint;
    }
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (not_after(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::int64_t at = low - 1;
    hint = std::max<std::int64_t>(at, 0);
    if (at >= 0 && track[at] != t) at = -1;
    found[q] = chain.innermost(at, time);
  }
}

}  // namespace sonde::trace
