#pragma once

#include <cstdint>
#include <span>
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
  friend class RegexSearch;
  std::vector<Step> steps_;
  int32_t start_ = 0;
};

/// Finds what matches inside of texts, in time linear in the text.
class RegexSearch {
 public:
  static constexpr size_t nowhere = static_cast<size_t>(-1);

  explicit RegexSearch(const Regex& regex);
  /// For each position of the text, its end included, where the longest match that begins there ends;
  /// `nowhere` where none does. Valid until the next call.
  const std::vector<size_t>& longest_ends(std::span<const uint32_t> text);

 private:
  struct Live {
    int32_t step;
    size_t end;  ///< of the longest match from here
  };
  void reach(const Live& last, std::span<const uint32_t> text, size_t at);

  const Regex& regex_;
  std::vector<std::vector<int32_t>>
      readers_;  ///< by step: the steps that go on there having read a character
  std::vector<std::vector<int32_t>> arrivals_;  ///< and those that go on there without
  std::vector<size_t> reached_;                 ///< by step: the last round in which it was
  size_t round_ = 0;
  std::vector<Live> live_, before_;  ///< in falling order of ends
  std::vector<int32_t> pending_;
  std::vector<size_t> ends_;
};

}  // namespace axrun::ir
