// Slices that a trace gives as two events: B and E on one thread, b and e of one asynchronous id.
// Both ends are gathered while the file is read and paired afterwards by time, since files need not
// be in order. A begin that nothing ends keeps no length; every end or begin without a partner is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace sonde::trace {

class Pairs {
 public:
  // What belongs together: the calls of a thread, or the slices of one asynchronous id.
  struct Group {
    std::uint64_t kind;  // 0 for calls; for asynchronous slices document and category
    std::uint64_t id;    // track or asynchronous id
    auto operator<=>(const Group&) const = default;
  };
  static Group calls(std::int32_t track) { return {0, static_cast<std::uint64_t>(track)}; }
  static Group asynchronous(int document, std::int32_t category, std::int64_t id) {
    return {1ULL << 63 | static_cast<std::uint64_t>(document) << 32 | static_cast<std::uint32_t>(category),
            static_cast<std::uint64_t>(id)};
  }

  // The slice in the last row of a store begins.
  void begin(Group group, std::int64_t ns, Family family, std::size_t row, std::uint64_t position) {
    ends_.push_back({group, ns, static_cast<std::int64_t>(row), position, family});
  }
  void end(Group group, std::int64_t ns, std::uint64_t position) {
    ends_.push_back({group, ns, -1, position, kOthers});
  }
  // Pairs all ends and writes the lengths into the stores.
  void settle(Trace* trace);

 private:
  struct End {
    Group group;
    std::int64_t ns;
    std::int64_t row;  // -1 for the end of a slice
    std::uint64_t position;
    Family family;
  };

  std::vector<End> ends_;
};

}  // namespace sonde::trace
