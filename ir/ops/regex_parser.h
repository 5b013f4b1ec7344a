#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ops/regex.h"

namespace axrun::ir {

/// The syntax tree of a pattern.
struct RegexNode {
  enum class Kind : uint8_t { empty, consume, sequence, choice, repeat, assertion };
  Kind kind = Kind::empty;
  std::vector<std::unique_ptr<RegexNode>> children;
  std::vector<Regex::Range> ranges;                             ///< consume
  Regex::Step::Kind assertion = Regex::Step::Kind::text_begin;  ///< assertion
  int32_t least = 0;                                            ///< repeat
  int32_t most = -1;                                            ///< repeat; -1: any number
};

std::unique_ptr<RegexNode> parse_regex(const std::string& pattern);
/// Code points of UTF-8; bytes that are not UTF-8 stand for themselves.
std::vector<uint32_t> code_points(const std::string& text);

}  // namespace axrun::ir
