#include "trace/pairs.h"

#include <algorithm>
#include <tuple>

namespace sonde::trace {

void Pairs::settle(Trace* trace) {
  // Stable: of ends at the same moment the order of the file decides.
  std::stable_sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return std::tie(a.group, a.ns) < std::tie(b.group, b.ns);
  });
  std::vector<const End*> open;
  const auto abandon = [&] {
    for (const End* begin : open) trace->losses.add(Loss::kUnpaired, begin->position);
    open.clear();
  };
  for (const End& end : ends_) {
    if (!open.empty() && open.back()->group != end.group) abandon();
    if (end.row >= 0) {
      open.push_back(&end);
    } else if (open.empty()) {
      trace->losses.add(Loss::kUnpaired, end.position);
    } else {
      const End& begin = *open.back();
      trace->stores[begin.family].duration_ns[static_cast<std::size_t>(begin.row)] = end.ns - begin.ns;
      open.pop_back();
    }
  }
  abandon();
  ends_.clear();
}

}  // namespace sonde::trace
