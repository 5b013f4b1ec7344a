#include "runtime/onnxruntime_ep/partition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace axrun::ort {

std::vector<std::vector<std::size_t>> convex_groups(const std::vector<PartitionNode>& nodes) {
  std::unordered_map<int, std::size_t> producers;
  std::vector<int> levels(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const int value : nodes[n].reads) {
      const auto found = producers.find(value);
      if (found == producers.end()) continue;
      const std::size_t from = found->second;
      readers[from].push_back(n);
      levels[n] = std::max(levels[n], levels[from] + (nodes[n].supported && !nodes[from].supported ? 1 : 0));
    }
    for (const int value : nodes[n].writes) producers[value] = n;
  }
  for (std::size_t n = nodes.size(); n-- > 0;) {
    if (!nodes[n].supported || readers[n].empty()) continue;
    int first = std::numeric_limits<int>::max();
    for (const std::size_t reader : readers[n]) {
      first = std::min(first, nodes[reader].supported ? levels[reader] : levels[n]);
    }
    levels[n] = std::max(levels[n], first);
  }
  std::map<int, std::vector<std::size_t>> groups;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].supported) groups[levels[n]].push_back(n);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [level, members] : groups) all.push_back(std::move(members));
  return all;
}

}  // namespace axrun::ort
