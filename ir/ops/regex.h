#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace axrun::ir {

class OperatorContext;

/// A regular expression of RE2, which ONNX's specification names (github.com/google/re2/wiki/Syntax). Its
/// memory is bounded, and each search takes time linear in the text behind where it begins. Texts are UTF-8;
/// bytes that are not match nothing. Copies share the expression; any thread may search.
class Regex {
 public:
  /// Throws Error(model) for a malformed pattern and Error(unsupported) for one that takes too much memory.
  explicit Regex(const std::string& pattern);
  /// Whether the whole text matches.
  bool matches(std::string_view text) const;

  struct Match {
    size_t begin;
    size_t end;
  };
  /// The first match that begins at `from` or behind it, and of those there the longest. What comes before
  /// `from` counts for ^ and \b.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

/// The pattern of a node's attribute; what is wrong with it is an error that names both.
Regex regex_of(const OperatorContext& context, const std::string& attribute, const std::string& pattern);

}  // namespace axrun::ir
