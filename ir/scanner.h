#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/dim.h"

namespace axrun::ir::text {

/// Reads the tokens of the text form of tensor expressions. White space and comments (# to the end of the
/// line) separate tokens. Every failure is an Error(user) with line and column.
class Scanner {
 public:
  /// Throws Error(user) for texts of absurd size.
  explicit Scanner(std::string_view source);

  [[noreturn]] void fail(const std::string& text) const { fail_at(position_, text); }
  [[noreturn]] void fail_at(size_t position, const std::string& text) const;
  /// Where the next token starts.
  size_t position();
  bool at_end() { return position() == source_.size(); }

  /// Punctuation, exactly these characters.
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  /// A whole plain word.
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);
  /// The next plain word without taking it; empty when there is none.
  std::string_view peek_word();
  /// The next character without taking it; 0 at the end.
  char peek();

  struct Name {
    std::string text;
    bool quoted = false;
  };
  Name name();
  uint64_t natural();  ///< decimal digits
  uint64_t hexadecimal();
  /// An unsigned number, as it is written: digits, fraction, exponent.
  std::string_view number();
  /// The text of a Dim up to one of the terminators outside of its brackets and quotes.
  Dim dim(std::string_view terminators);

 private:
  std::string_view source_;
  size_t position_ = 0;
};

}  // namespace axrun::ir::text
