// Recursive descent over RE2's syntax (https://github.com/google/re2/wiki/Syntax).
#include "ir/ops/regex_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/ops/regex_classes.h"

namespace axrun::ir {
namespace {

using NodePtr = std::unique_ptr<RegexNode>;
constexpr int deepest_nesting = 200;
constexpr int32_t most_repeats = 1000;  // as RE2

class Parser {
 public:
  explicit Parser(const std::string& pattern) : text_(code_points(pattern)), pattern_(pattern) {}

  NodePtr parse() {
    NodePtr node = choice(0);
    if (at_ != text_.size()) fail("a ) without its (");
    return node;
  }

 private:
  struct Flags {
    bool ignore_case = false;
    bool many_lines = false;
    bool dot_is_all = false;
  };

  [[noreturn]] void fail(const std::string& text) const {
    throw Error(Fault::model, fmt::format("pattern '{}', character {}: {}", pattern_, at_, text));
  }
  bool more() const { return at_ < text_.size(); }
  uint32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  bool take(char c) {
    if (!more() || peek() != static_cast<uint32_t>(c)) return false;
    ++at_;
    return true;
  }
  uint32_t next(const char* wanted) {
    if (!more()) fail(fmt::format("{} is missing", wanted));
    return text_[at_++];
  }

  static NodePtr make(RegexNode::Kind kind) {
    auto node = std::make_unique<RegexNode>();
    node->kind = kind;
    return node;
  }
  NodePtr consume(const Ranges& ranges) const {
    NodePtr node = make(RegexNode::Kind::consume);
    node->ranges = normalized(flags_.ignore_case ? without_case(ranges) : ranges);
    return node;
  }
  static NodePtr assertion(Regex::Step::Kind kind) {
    NodePtr node = make(RegexNode::Kind::assertion);
    node->assertion = kind;
    return node;
  }

  NodePtr choice(int depth) {
    if (depth > deepest_nesting) fail("groups are nested too deeply");
    NodePtr node = make(RegexNode::Kind::choice);
    do node->children.push_back(sequence(depth));
    while (take('|'));
    return node;
  }

  NodePtr sequence(int depth) {
    NodePtr node = make(RegexNode::Kind::sequence);
    while (more() && peek() != '|' && peek() != ')') {
      NodePtr piece = atom(depth);
      if (piece != nullptr) node->children.push_back(repeated(std::move(piece)));
    }
    return node;
  }

  /// nullptr for what matches nothing by itself: a change of flags.
  NodePtr atom(int depth) {
    using Kind = Regex::Step::Kind;
    if (quoting_) return quoted();
    if (take('(')) return group(depth);
    if (take('[')) return consume(bracket());
    if (take('.')) return consume(flags_.dot_is_all ? complement({}) : complement({{'\n', '\n'}}));
    if (take('^')) return assertion(flags_.many_lines ? Kind::line_begin : Kind::text_begin);
    if (take('$')) return assertion(flags_.many_lines ? Kind::line_end : Kind::text_end);
    if (take('\\')) {
      if (take('A')) return assertion(Kind::text_begin);
      if (take('z')) return assertion(Kind::text_end);
      if (take('b')) return assertion(Kind::boundary);
      if (take('B')) return assertion(Kind::no_boundary);
      if (take('Q')) {
        quoting_ = true;
        return nullptr;
      }
      return consume(escape());
    }
    if (peek() == '*' || peek() == '+' || peek() == '?') fail("nothing to repeat");
    const uint32_t c = next("a character");
    return consume({{c, c}});
  }

  NodePtr quoted() {
    if (peek() == '\\' && peek(1) == 'E') {
      at_ += 2;
      quoting_ = false;
      return nullptr;
    }
    const uint32_t c = next("a character");
    return consume({{c, c}});
  }

  NodePtr group(int depth) {
    const Flags outer = flags_;
    if (take('?')) {
      if (take('P')) {
        if (!take('<')) fail("a named group begins with (?P<");
        skip_name();
      } else if (take('<')) {
        skip_name();
      } else if (!flags()) {
        return nullptr;  // (?i): holds to the end of the enclosing group
      }
    }
    NodePtr node = choice(depth + 1);
    if (!take(')')) fail("a ) is missing");
    flags_ = outer;
    return node;
  }

  void skip_name() {
    while (next("> after a group's name") != '>') {
    }
  }

  /// After "(?": answers whether a group follows.
  bool flags() {
    bool value = true;
    for (;;) {
      const uint32_t c = next("a ) after flags");
      if (c == ':') return true;
      if (c == ')') return false;
      if (c == '-') {
        value = false;
      } else if (c == 'i') {
        flags_.ignore_case = value;
      } else if (c == 'm') {
        flags_.many_lines = value;
      } else if (c == 's') {
        flags_.dot_is_all = value;
      } else if (c != 'U') {  // greed does not matter to a full match
        fail("an unknown flag");
      }
    }
  }

  NodePtr repeated(NodePtr node) {
    int32_t least = 0;
    int32_t most = -1;
    if (quoting_ || !repetition(least, most)) return node;
    take('?');
    int32_t unused = 0;
    if (repetition(unused, unused)) fail("a repetition is repeated");
    NodePtr outer = make(RegexNode::Kind::repeat);
    outer->least = least;
    outer->most = most;
    outer->children.push_back(std::move(node));
    return outer;
  }

  bool repetition(int32_t& least, int32_t& most) {
    if (take('*')) return true;
    if (take('+')) {
      least = 1;
      return true;
    }
    if (take('?')) {
      most = 1;
      return true;
    }
    return counts(least, most);
  }

  /// {n}, {n,} or {n,m}; anything else is literal text, as in RE2.
  bool counts(int32_t& least, int32_t& most) {
    const size_t begin = at_;
    if (take('{') && number(least)) {
      most = least;
      if (take(',') && !number(most)) most = -1;
      if (take('}')) {
        if (least > most_repeats || most > most_repeats || (most >= 0 && most < least)) fail("bad counts");
        return true;
      }
    }
    at_ = begin;
    return false;
  }

  bool number(int32_t& value) {
    const size_t begin = at_;
    value = 0;
    while (more() && peek() >= '0' && peek() <= '9') {
      value = std::min(value * 10 + static_cast<int32_t>(peek() - '0'), most_repeats + 1);
      ++at_;
    }
    return at_ > begin;
  }

  /// After a backslash, outside and inside brackets.
  Ranges escape() {
    const uint32_t c = next("a character after \\");
    switch (c) {
      case 'd':
        return digit_class();
      case 'D':
        return complement(digit_class());
      case 's':
        return space_class();
      case 'S':
        return complement(space_class());
      case 'w':
        return word_class();
      case 'W':
        return complement(word_class());
      case 'p':
      case 'P':
        throw Error(Fault::unsupported, fmt::format("pattern '{}': Unicode classes", pattern_));
      default:
        break;
    }
    --at_;
    const uint32_t literal = escaped_character();
    return {{literal, literal}};
  }

  uint32_t escaped_character() {
    const uint32_t c = next("a character after \\");
    switch (c) {
      case 'a':
        return 7;
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'v':
        return '\v';
      case 'x':
        return hexadecimal();
      default:
        break;
    }
    if (c >= '0' && c <= '7') return octal(c - '0');
    const bool letter_or_digit =
        c < 0x80 && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
    if (letter_or_digit) fail("an unknown escape");
    return c;
  }

  uint32_t octal(uint32_t value) {
    if (value != 0 && !(peek() >= '0' && peek() <= '7')) fail("a back-reference");
    for (int k = 0; k < 2 && peek() >= '0' && peek() <= '7'; ++k) value = value * 8 + (text_[at_++] - '0');
    return value;
  }

  uint32_t hexadecimal() {
    const bool braced = take('{');
    uint32_t value = 0;
    for (int k = 0; braced ? !take('}') : k < 2; ++k) {
      const uint32_t c = next("a hexadecimal digit");
      const uint32_t lower = c | 0x20U;
      if (c >= '0' && c <= '9') {
        value = value * 16 + (c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + (lower - 'a' + 10);
      } else {
        fail("a hexadecimal digit is missing");
      }
      if (value > highest_code_point) fail("a code point is too large");
    }
    return value;
  }

  /// After [.
  Ranges bracket() {
    const bool negated = take('^');
    Ranges ranges;
    for (bool first = true; first || peek() != ']' || !more(); first = false) {
      if (!more()) fail("a ] is missing");
      if (peek() == '[' && peek(1) == ':') {
        append(ranges, posix_class());
        continue;
      }
      Ranges piece;
      if (take('\\')) {
        piece = escape();
      } else {
        const uint32_t c = next("a character");
        piece = {{c, c}};
      }
      const bool single = piece.size() == 1 && piece[0].first == piece[0].last;
      if (single && peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        const uint32_t last = take('\\') ? escaped_character() : next("a character");
        if (last < piece[0].first) fail("a range runs backwards");
        piece[0].last = last;
      }
      append(ranges, piece);
    }
    ++at_;
    if (flags_.ignore_case) ranges = without_case(ranges);
    return negated ? complement(ranges) : ranges;
  }

  Ranges posix_class() {
    at_ += 2;
    const bool negated = take('^');
    std::string name;
    while (more() && peek() != ':') name.push_back(static_cast<char>(next("a letter")));
    if (!take(':') || !take(']')) fail("a :] is missing");
    if (const Ranges* ranges = posix_class_named(name)) return negated ? complement(*ranges) : *ranges;
    fail(fmt::format("class '{}' is unknown", name));
  }

  std::vector<uint32_t> text_;
  std::string pattern_;
  size_t at_ = 0;
  Flags flags_;
  bool quoting_ = false;  ///< between \Q and \E
};

}  // namespace

NodePtr parse_regex(const std::string& pattern) { return Parser(pattern).parse(); }

std::vector<uint32_t> code_points(const std::string& text) {
  std::vector<uint32_t> points;
  for (size_t k = 0; k < text.size();) {
    const auto byte = static_cast<uint8_t>(text[k]);
    const size_t length = byte < 0x80   ? 1
                          : byte < 0xC2 ? 0
                          : byte < 0xE0 ? 2
                          : byte < 0xF0 ? 3
                          : byte < 0xF5 ? 4
                                        : 0;
    uint32_t point = length == 2   ? byte & 0x1FU
                     : length == 3 ? byte & 0x0FU
                     : length == 4 ? byte & 0x07U
                                   : byte;
    bool whole = length > 0 && k + length <= text.size();
    for (size_t j = 1; whole && j < length; ++j) {
      const auto more = static_cast<uint8_t>(text[k + j]);
      whole = (more & 0xC0) == 0x80;
      point = point << 6 | (more & 0x3FU);
    }
    whole = whole && point <= highest_code_point && !(length == 3 && point < 0x800) &&
            !(length == 4 && point < 0x10000);
    points.push_back(whole ? point : byte);
    k += whole ? length : 1;
  }
  return points;
}

}  // namespace axrun::ir
