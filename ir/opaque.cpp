#include "ir/opaque.h"

#include <algorithm>

#include "ir/lasting.h"

namespace axrun::ir {

const std::vector<OpaqueEntry>& all_opaque() {
  static const auto& entries = lasting([] {
    std::vector<OpaqueEntry> table;
    opaque_functions(table);
    std::sort(table.begin(), table.end(),
              [](const OpaqueEntry& a, const OpaqueEntry& b) { return a.name < b.name; });
    return table;
  }());
  return entries;
}

const OpaqueEntry* find_opaque(std::string_view name) {
  const std::vector<OpaqueEntry>& entries = all_opaque();
  auto it = std::lower_bound(entries.begin(), entries.end(), name,
                             [](const OpaqueEntry& entry, std::string_view key) { return entry.name < key; });
  return it != entries.end() && it->name == name ? &*it : nullptr;
}

}  // namespace axrun::ir
