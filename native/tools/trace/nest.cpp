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
      std::size_t level = stack.size();
      while (level > 0 && end_of(stack[level - 1]) < ends) --level;
      if (level != stack.size()) ++overlaps;
      parent[at] = level == 0 ? -1 : stack[level - 1];
      stack.push_back(at);
    }
  }
  return overlaps;
}

void enclose(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
             const std::int64_t* end, const std::int64_t* parent, const std::uint8_t* eligible,
             std::int64_t queries, const std::int32_t* query_track, const std::int64_t* query_time,
             std::int64_t* found) {
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
    while (at >= 0 && (end[at] < time || (eligible != nullptr && eligible[at] == 0))) at = parent[at];
    found[q] = at;
  }
}

}  // namespace sonde::trace
