#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace axrun::onnx_import {

/// The name as it is when it is UTF-8 without control characters; otherwise every other byte as \xNN.
std::string printable(std::string_view name);
bool is_printable_ascii(std::string_view name);
/// For messages: 'name', printable, cut after 200 bytes.
std::string in_quotes(std::string_view name);

/// Hands out printable names that are unique among those it has handed out.
class UniqueNames {
 public:
  /// prefix + name itself, or with _2, _3, ... The bytes of `name` must outlive this: nearly all names stay
  /// where they are in the file, and are not copied.
  std::string take(std::string_view prefix, std::string_view name);
  std::string take(std::string name) { return take({}, keep(std::move(name))); }
  /// Never hands out this name.
  void exclude(std::string name) { taken_.insert(keep(std::move(name))); }
  /// Makes room for this many names.
  void reserve(size_t count) { taken_.reserve(count); }

 private:
  std::string_view keep(std::string name) { return made_.emplace_back(std::move(name)); }
  std::unordered_set<std::string_view> taken_;
  std::unordered_map<std::string_view, int64_t> next_;  ///< suffix to try next for a name met twice
  std::deque<std::string> made_;                        ///< names that no file holds
};

}  // namespace axrun::onnx_import
