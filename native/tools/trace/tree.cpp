#include "trace/tree.h"

#include <unordered_map>

namespace sonde::trace {

void roll_up(std::int64_t count, const std::int64_t* parent, std::int64_t* values) {
  for (std::int64_t i = count - 1; i >= 0; --i) {
    if (parent[i] >= 0 && parent[i] < i) values[parent[i]] += values[i];
  }
}

void inherit(std::int64_t count, const std::int64_t* parent, std::int64_t* values) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (values[i] == -1 && parent[i] >= 0 && parent[i] < i) values[i] = values[parent[i]];
  }
}

std::int64_t chains(std::int64_t count, const std::int64_t* parent, const std::uint8_t* chosen,
                    const std::int32_t* label, std::int64_t* node, std::int64_t* node_parent,
                    std::int32_t* node_label) {
  std::unordered_map<std::uint64_t, std::int64_t> known;  // (parent node + 1) << 32 | label
  std::int64_t nodes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t above = parent[i] >= 0 && parent[i] < i ? node[parent[i]] : -1;
    if (chosen[i] == 0) {
      node[i] = above;
      continue;
    }
    const std::uint64_t key =
        static_cast<std::uint64_t>(above + 1) << 32 | static_cast<std::uint32_t>(label[i]);
    const auto [found, is_new] = known.try_emplace(key, nodes);
    if (is_new) {
      node_parent[nodes] = above;
      node_label[nodes] = label[i];
      ++nodes;
    }
    node[i] = found->second;
  }
  return nodes;
}

}  // namespace sonde::trace
