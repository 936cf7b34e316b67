// What the profiler's words mean: categories of every Kineto generation, and arguments not kept.
#pragma once

#include <string_view>

#include "trace/columns.h"

namespace sonde::trace {

// Family of a complete ("X") event by its category; kOthers when the category is not known.
Family family_of(std::string_view category);

// Arguments that repeat what a column says or that nothing can use (indices of the writer).
bool is_ignored_argument(std::string_view key);

}  // namespace sonde::trace
