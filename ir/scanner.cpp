#include "ir/scanner.h"

#include <algorithm>
#include <charconv>

#include "ir/error.h"
#include "ir/text_names.h"

namespace axrun::ir::text {
namespace {

constexpr size_t longest_text = size_t{64} << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hexadecimal_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Scanner::Scanner(std::string_view source) : source_(source) {
  if (source.size() > longest_text) throw Error(Fault::user, "the text of a program is larger than 64 MiB");
}

void Scanner::fail_at(size_t position, const std::string& text) const {
  const std::string_view before = source_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t last = before.rfind('\n');
  const size_t column = position - (last == std::string_view::npos ? 0 : last + 1) + 1;
  throw Error(Fault::user,
              "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + text);
}

size_t Scanner::position() {
  while (position_ < source_.size()) {
    const char c = source_[position_];
    if (c == '#') {
      position_ = std::min(source_.find('\n', position_), source_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      break;
    }
  }
  return position_;
}

char Scanner::peek() { return at_end() ? '\0' : source_[position_]; }

bool Scanner::accept(std::string_view symbol) {
  if (source_.substr(position(), symbol.size()) != symbol) return false;
  position_ += symbol.size();
  return true;
}

void Scanner::expect(std::string_view symbol) {
  if (!accept(symbol)) fail("'" + std::string(symbol) + "' is expected");
}

std::string_view Scanner::peek_word() {
  const size_t start = position();
  if (start == source_.size() || !starts_word(source_[start])) return {};
  size_t end = start + 1;
  while (end < source_.size() && continues_word(source_[end])) ++end;
  return source_.substr(start, end - start);
}

bool Scanner::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  position_ += word.size();
  return true;
}

void Scanner::expect_word(std::string_view word) {
  if (!accept_word(word)) fail("'" + std::string(word) + "' is expected");
}

Scanner::Name Scanner::name() {
  const std::string_view word = peek_word();
  if (!word.empty()) {
    position_ += word.size();
    return {std::string(word), false};
  }
  const size_t start = position();
  if (!accept("\"")) fail("a name is expected");
  std::string text;
  while (true) {
    if (position_ >= source_.size() || source_[position_] == '\n')
      fail_at(start, "the name has no closing quote");
    const char c = source_[position_++];
    if (c == '"') return {std::move(text), true};
    if (c != '\\') {
      text += c;
      continue;
    }
    const std::string_view rest = source_.substr(position_);
    if (!rest.empty() && (rest[0] == '"' || rest[0] == '\\')) {
      text += rest[0];
      ++position_;
    } else if (rest.size() >= 3 && rest[0] == 'x' && hexadecimal_digit(rest[1]) >= 0 &&
               hexadecimal_digit(rest[2]) >= 0) {
      text += static_cast<char>(hexadecimal_digit(rest[1]) * 16 + hexadecimal_digit(rest[2]));
      position_ += 3;
    } else {
      fail("an escape is \\\", \\\\ or \\x and two digits of 0-9a-f");
    }
  }
}

uint64_t Scanner::natural() {
  const size_t start = position();
  uint64_t value = 0;
  auto [end, error] = std::from_chars(source_.data() + start, source_.data() + source_.size(), value);
  if (error == std::errc::result_out_of_range) fail("the number is too large");
  if (error != std::errc()) fail("a number is expected");
  position_ = static_cast<size_t>(end - source_.data());
  return value;
}

uint64_t Scanner::hexadecimal() {
  const size_t start = position();
  uint64_t value = 0;
  auto [end, error] = std::from_chars(source_.data() + start, source_.data() + source_.size(), value, 16);
  if (error != std::errc()) fail("hexadecimal digits of 64 bits are expected");
  position_ = static_cast<size_t>(end - source_.data());
  return value;
}

std::string_view Scanner::number() {
  const size_t start = position();
  auto digits = [this] {
    const size_t first = position_;
    while (position_ < source_.size() && is_digit(source_[position_])) ++position_;
    return position_ > first;
  };
  if (!digits()) fail("a number is expected");
  if (position_ < source_.size() && source_[position_] == '.') {
    ++position_;
    digits();
  }
  if (position_ < source_.size() && (source_[position_] == 'e' || source_[position_] == 'E')) {
    ++position_;
    if (position_ < source_.size() && (source_[position_] == '-' || source_[position_] == '+')) ++position_;
    if (!digits()) fail("an exponent is expected");
  }
  return source_.substr(start, position_ - start);
}

Dim Scanner::dim(std::string_view terminators) {
  const size_t start = position();
  int depth = 0;
  bool quoted = false;
  size_t end = start;
  for (; end < source_.size(); ++end) {
    const char c = source_[end];
    if (quoted) {
      if (c == '\\') ++end;
      if (c == '"') quoted = false;
      continue;
    }
    if (depth == 0 && terminators.find(c) != std::string_view::npos) break;
    if (c == '"') quoted = true;
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  if (end >= source_.size()) fail("the size does not end");
  position_ = end;
  try {
    return parse_dim(std::string(source_.substr(start, end - start)));
  } catch (const Error& error) {
    fail_at(start, error.what());
  }
}

}  // namespace axrun::ir::text
