#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axrun::ir {

/// A regular expression in RE2's syntax, matched in time linear in the text (all alternatives advance
/// together, one code point at a time, as in Thompson's construction). Text that is not UTF-8 is read as
/// Latin-1 where it is not.
///
/// Supported: literals and escapes (\n \t \x41 \x{1F600} \Q...\E ...), . [...] [^...] \d \D \s \S \w \W and
/// POSIX classes (ASCII, as in RE2), groups (capturing, named, (?:...)), flags i m s U, alternation, * + ?
/// {n} {n,} {n,m} and their lazy forms, ^ $ \A \z \b \B. Unicode classes (\pL) are not.
class Regex {
 public:
  /// Throws Error(model) for a malformed pattern and Error(unsupported) for one that needs what is left out.
  explicit Regex(const std::string& pattern);
  /// Whether the whole text matches.
  bool matches(const std::string& text) const;

  struct Range {
    uint32_t first;
    uint32_t last;
  };
  struct Step {
    enum class Kind : uint8_t {
      consume,
      split,
      text_begin,
      text_end,
      line_begin,
      line_end,
      boundary,
      no_boundary,
      match
    };
    Kind kind = Kind::match;
    int32_t next = 0;
    int32_t other = 0;          ///< split: the second way
    std::vector<Range> ranges;  ///< consume: sorted, code points it accepts
  };

 private:
  std::vector<Step> steps_;
  int32_t start_ = 0;
};

}  // namespace axrun::ir
