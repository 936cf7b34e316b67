// Which call encloses which: calls of a thread nest, so one sweep with a stack finds the parents.
#pragma once

#include <cstdint>

namespace sonde::trace {

// Orders `count` calls by (track, start, longest first, as given) into `order` and writes for each,
// in that order, the nearest call before it that holds it wholly, as an index into the order; -1 at
// the top. Returns how many overlap their predecessor without nesting.
std::int64_t nest(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
                  const std::int64_t* duration, std::int64_t* order, std::int64_t* parent);

// For each of `queries` moments the innermost call that holds it and is `eligible` (null: all are);
// -1 when none. Calls are given in the order that nest() made.
void enclose(std::int64_t count, const std::int32_t* track, const std::int64_t* start,
             const std::int64_t* end, const std::int64_t* parent, const std::uint8_t* eligible,
             std::int64_t queries, const std::int32_t* query_track, const std::int64_t* query_time,
             std::int64_t* found);

}  // namespace sonde::trace
