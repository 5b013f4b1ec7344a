// The text form of Dim. parse_dim(dim.to_string()) == dim.
//
//   sum     := product (('+' | '-') product)*
//   product := factor (('*' | '/' | 'mod') factor)*          all of one strength, from left to right
//   factor  := '-' factor | '(' sum ')' | ('min' | 'max') '(' sum (',' sum)+ ')' | integer | name
//   name    := [A-Za-z_][A-Za-z0-9_.]*, or any bytes in double quotes, with \" \\ \xHH
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

constexpr size_t text_length_limit = 16384;
constexpr int text_depth_limit = 4 * dim_depth_limit;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

bool is_reserved(std::string_view word) { return word == "min" || word == "max" || word == "mod"; }

std::string name_text(const std::string& name) {
  bool plain = !name.empty() && starts_name(name.front()) && !is_reserved(name);
  for (const char c : name) plain = plain && continues_name(c);
  if (plain) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      constexpr std::string_view digits = "0123456789abcdef";
      text += {'\\', 'x', digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
    } else {
      text += c;
    }
  }
  return text + "\"";
}

bool is_quotient(const DimAtom& atom) {
  return atom.kind == DimAtom::Kind::floor_div || atom.kind == DimAtom::Kind::floor_mod;
}

/// The operand of a division: bare where the grammar reads it back as one operand.
std::string operand_text(const Dim& dim, bool is_dividend) {
  bool bare = dim.is_constant() && dim.value() >= 0;
  if (const DimNode* node = DimNode::of(dim); node != nullptr && node->terms.size() == 1) {
    const DimTerm& term = node->terms.front();
    bare = is_dividend || (term.coefficient == 1 && term.factors.size() == 1);
    for (const DimAtomPointer& atom : term.factors) bare = bare && !is_quotient(*atom);
  }
  return bare ? dim.to_string() : "(" + dim.to_string() + ")";
}

std::string atom_text(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return name_text(atom.name);
    case DimAtom::Kind::floor_div:
      return operand_text(atom.arguments[0], true) + " / " + operand_text(atom.arguments[1], false);
    case DimAtom::Kind::floor_mod:
      return operand_text(atom.arguments[0], true) + " mod " + operand_text(atom.arguments[1], false);
    default:
      break;
  }
  std::string text = atom.kind == DimAtom::Kind::min ? "min(" : "max(";
  for (size_t i = 0; i < atom.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + atom.arguments[i].to_string();
  return text + ")";
}

/// The term without its sign, or with it where its magnitude is not an int64.
std::string term_text(const DimTerm& term, bool after_minus) {
  const int64_t magnitude =
      term.coefficient < 0 && term.coefficient != INT64_MIN ? -term.coefficient : term.coefficient;
  if (term.factors.empty()) return std::to_string(magnitude);
  std::string text;
  if (magnitude != 1) text = std::to_string(magnitude) + "*";
  const bool alone = magnitude == 1 && term.factors.size() == 1 && !after_minus;
  for (size_t i = 0; i < term.factors.size(); ++i) {
    const DimAtom& atom = *term.factors[i];
    if (i != 0) text += "*";
    text += is_quotient(atom) && !alone ? "(" + atom_text(atom) + ")" : atom_text(atom);
  }
  return text;
}

class DimParser {
 public:
  explicit DimParser(const std::string& text) : text_(text) {}

  Dim parse() {
    if (text_.size() > text_length_limit) {
      throw Error(Fault::user, "a size expression of " + std::to_string(text_.size()) + " bytes is too long");
    }
    Dim result;
    try {
      result = sum();
    } catch (const Error& error) {
      if (error.fault() == Fault::user) throw;
      fail(position_, error.what());  // the arithmetic refuses expressions that grow without bound
    }
    if (position_ != text_.size()) fail(position_, "an operator or the end is expected");
    return result;
  }

 private:
  [[noreturn]] void fail(size_t position, const std::string& reason) const {
    constexpr size_t shown = 80;
    const std::string quoted = text_.size() <= shown ? text_ : text_.substr(0, shown) + "...";
    throw Error(Fault::user,
                "size expression \"" + quoted + "\", position " + std::to_string(position) + ": " + reason);
  }

  /// Tokens are separated by spaces and tabs; position_ rests on the next token.
  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++position_;
    skip_spaces();
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(position_, std::string("'") + c + "' is expected");
  }

  std::string_view word_here() const {
    size_t end = position_;
    if (end < text_.size() && starts_name(text_[end])) {
      while (end < text_.size() && continues_name(text_[end])) ++end;
    }
    return std::string_view(text_).substr(position_, end - position_);
  }

  Dim sum() {
    skip_spaces();
    Dim result = product();
    while (true) {
      if (take('+')) {
        result = result + product();
      } else if (take('-')) {
        result = result - product();
      } else {
        return result;
      }
    }
  }

  Dim product() {
    Dim result = factor();
    while (true) {
      const size_t start = position_;
      if (take('*')) {
        result = result * factor();
      } else if (take('/')) {
        result = floor_div(result, nonzero_factor(start));
      } else if (word_here() == "mod") {
        position_ += 3;
        skip_spaces();
        result = floor_mod(result, nonzero_factor(start));
      } else {
        return result;
      }
    }
  }

  Dim nonzero_factor(size_t operator_position) {
    Dim divisor = factor();
    if (divisor == Dim(0)) fail(operator_position, "division by 0");
    return divisor;
  }

  Dim factor() {
    if (++depth_ > text_depth_limit) fail(position_, "nested too deeply");
    Dim result = factor_inside();
    --depth_;
    return result;
  }

  Dim factor_inside() {
    if (position_ == text_.size()) fail(position_, "the expression ends too early");
    const char c = text_[position_];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return integer();
    if (c == '-') {
      if (position_ + 1 < text_.size() &&
          std::isdigit(static_cast<unsigned char>(text_[position_ + 1])) != 0) {
        return integer();
      }
      take('-');
      return 0 - factor();
    }
    if (take('(')) {
      Dim result = sum();
      expect(')');
      return result;
    }
    if (c == '"') return Dim::symbol(quoted_name());
    const std::string_view word = word_here();
    if (word.empty()) fail(position_, "a number, a name or '(' is expected");
    if (word == "mod") fail(position_, "\"mod\" needs a left operand");
    if (word == "min" || word == "max") return extremum(word == "min");
    Dim result = Dim::symbol(std::string(word));
    position_ += word.size();
    skip_spaces();
    return result;
  }

  Dim extremum(bool is_min) {
    position_ += 3;
    skip_spaces();
    expect('(');
    Dim result = sum();
    if (!at(',')) expect(',');
    while (take(',')) {
      const Dim other = sum();
      result = is_min ? min(result, other) : max(result, other);
    }
    expect(')');
    return result;
  }

  /// With its sign, so that INT64_MIN can be read.
  Dim integer() {
    int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(position_, "the number does not fit in 64 bits");
    const size_t start = position_;
    position_ += static_cast<size_t>(end - begin);
    if (position_ < text_.size() && continues_name(text_[position_]))
      fail(start, "a name cannot start with a digit");
    skip_spaces();
    return value;
  }

  std::string quoted_name() {
    const size_t start = position_++;
    std::string name;
    while (!at('"')) {
      if (position_ == text_.size()) fail(start, "the quoted name does not end");
      char c = text_[position_++];
      if (c == '\\') c = escaped_character();
      name += c;
    }
    take('"');
    return name;
  }

  char escaped_character() {
    const size_t start = position_ - 1;
    if (at('"') || at('\\')) return text_[position_++];
    unsigned value = 0;
    const char* digits = text_.data() + position_ + 1;
    if (!at('x') || text_.size() - position_ < 3 ||
        std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      fail(start, "\\\", \\\\ or \\xHH is expected");
    }
    position_ += 3;
    return static_cast<char>(value);
  }

  const std::string& text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Dim::to_string() const {
  if (is_constant()) return std::to_string(value_);
  std::string text;
  for (const DimTerm& term : node_->terms) {
    const bool minus = term.coefficient < 0 && term.coefficient != INT64_MIN;
    const bool first = text.empty();
    if (!first) text += minus ? " - " : " + ";
    if (first && minus) text += "-";
    text += term_text(term, first && minus);
  }
  return text;
}

Dim parse_dim(const std::string& text) { return DimParser(text).parse(); }

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims) text += (text.size() == 1 ? "" : ", ") + dim.to_string();
  return text + "]";
}

std::string to_string(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

}  // namespace axrun::ir
