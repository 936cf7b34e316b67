// Sweeps over a forest whose rows are ordered so that every parent stands before its children.
#pragma once

#include <cstdint>

namespace sonde::trace {

// Adds each row's value to its parent's, from the leaves up: own sums become sums with children.
void roll_up(std::int64_t count, const std::int64_t* parent, std::int64_t* values);

// Rows that hold -1 take the value of their nearest ancestor that holds another.
void inherit(std::int64_t count, const std::int64_t* parent, std::int64_t* values);

// Interns the chain of chosen rows above each row (itself included) as a node of a prefix tree over
// `label`: equal chains of labels are one node. `node` gets each row's node, -1 for an empty chain;
// node_parent and node_label (both of size count at most) describe the nodes. Returns their number.
std::int64_t chains(std::int64_t count, const std::int64_t* parent, const std::uint8_t* chosen,
                    const std::int32_t* label, std::int64_t* node, std::int64_t* node_parent,
                    std::int32_t* node_label);

}  // namespace sonde::trace
