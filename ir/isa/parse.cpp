#include <algorithm>
#include <initializer_list>

#include "ir/error.h"
#include "ir/isa/names.h"
#include "ir/scanner.h"

namespace axrun::ir::isa {
namespace {

class RowParser {
 public:
  RowParser(std::string_view text, Encoding encoding) : scanner_(text) { row_.encoding = encoding; }

  Row row() {
    row_.name = plain_word("the instruction's name");
    while (scanner_.peek() != '(') form();
    operands();
    flags();
    body();
    if (!scanner_.at_end()) scanner_.fail("the row ends here");
    return std::move(row_);
  }

 private:
  [[noreturn]] void fail(const std::string& text) { scanner_.fail(text); }

  std::string plain_word(const std::string& what) {
    const std::string word(scanner_.peek_word());
    if (word.empty()) fail(what + " is expected");
    scanner_.expect_word(word);
    return word;
  }

  void form() {
    Form form;
    form.widths = plain_word("a width");
    if (form.widths.find_first_not_of("xyz") != std::string::npos) fail("widths are x, y and z");
    scanner_.expect(":");
    do form.features.push_back(plain_word("a CPU feature"));
    while (scanner_.accept("+"));
    row_.forms.push_back(std::move(form));
  }

  void operands() {
    scanner_.expect("(");
    do row_.operands.push_back(operand());
    while (scanner_.accept(","));
    scanner_.expect(")");
    const auto written = std::find_if(row_.operands.begin(), row_.operands.end(),
                                      [](const Operand& operand) { return operand.written; });
    if (written == row_.operands.end()) fail("no operand is written");
    row_.destination = static_cast<size_t>(written - row_.operands.begin());
  }

  Operand operand() {
    Operand operand;
    operand.name = plain_word("an operand's name");
    if (operand.name == "imm") return immediate(std::move(operand));
    if (index_of(operand.name) || operand.name == "i" || operand.name == "n" || operand.name == row_.variable)
      fail("the name is taken");
    scanner_.expect(":");
    const auto lane = parse_lane(plain_word("a lane type"));
    if (!lane) fail("a lane type is expected before this");
    operand.lane = *lane;
    place(operand);
    if (scanner_.accept("|")) {
      scanner_.expect_word("m");
      operand.may_be_memory = true;
    }
    const std::string access = plain_word("r, w or rw");
    operand.read = access == "r" || access == "rw";
    operand.written = access == "w" || access == "rw";
    if (!operand.read && !operand.written) fail("r, w or rw is expected");
    return operand;
  }

  Operand immediate(Operand operand) {
    scanner_.expect(":");
    operand.place = Place::immediate;
    operand.lane = Lane::u8;
    operand.read = true;
    operand.lowest = scanner_.natural();
    scanner_.expect("..");
    operand.highest = scanner_.natural();
    if (operand.highest > 255 || operand.lowest > operand.highest)
      fail("an immediate is a range within 0..255");
    return operand;
  }

  /// v, v/2, low32, r64, k, {k}, {z}; "m" alone and "m/2" and "m32" are memory without a register form.
  void place(Operand& operand) {
    if (scanner_.accept("{")) {
      operand.place = Place::write_mask;
      operand.zeroing = scanner_.accept_word("z");
      if (!operand.zeroing) scanner_.expect_word("k");
      scanner_.expect("}");
      return;
    }
    const std::string word = plain_word("a place");
    auto number_after = [&](std::string_view prefix) -> int {
      if (word.size() <= prefix.size() || !word.starts_with(prefix)) return 0;
      int number = 0;
      for (char c : word.substr(prefix.size()))
        number = c >= '0' && c <= '9' ? number * 10 + (c - '0') : -100000;
      return std::max(number, 0);
    };
    if (word == "v" || word == "m") {
      operand.place = Place::vector;
      if (scanner_.accept("/")) operand.divisor = static_cast<int>(scanner_.natural());
      if (operand.divisor < 1 || operand.divisor > 8) fail("a vector is divided by 1 to 8");
    } else if (word == "k") {
      operand.place = Place::mask;
    } else if (int low = std::max(number_after("low"), number_after("m"))) {
      operand.place = Place::low;
      operand.bits = low;
      operand.repeated = word[0] == 'm' && scanner_.accept("*");
    } else if (int general = number_after("r")) {
      operand.place = Place::general;
      operand.bits = general;
    } else {
      fail("v, v/N, lowN, m, m/N, mN, mN*, rN, k, {k} or {z} is expected");
    }
    if (word[0] == 'm') {
      operand.may_be_register = false;
      operand.may_be_memory = true;
    }
  }

  void flags() {
    while (scanner_.peek() != '{') {
      const std::string flag = plain_word("a flag or {");
      bool& value = flag == "maskable"        ? row_.maskable
                    : flag == "broadcastable" ? row_.broadcastable
                    : flag == "guarded"       ? row_.guarded
                    : flag == "aligned"       ? row_.aligned
                    : flag == "any_nan"       ? row_.any_nan
                                              : unknown_flag();
      value = true;
    }
  }

  bool& unknown_flag() { fail("the flags are maskable, broadcastable, guarded, aligned and any_nan"); }

  void body() {
    scanner_.expect("{");
    scanner_.expect_word(row_.operands[row_.destination].name);
    scanner_.expect("[");
    scanner_.expect_word("i");
    scanner_.expect("]");
    scanner_.expect("=");
    const int root = conditional();
    scanner_.expect("}");
    const Operand& destination = row_.operands[row_.destination];
    if (row_.result[root].type != type_of(destination.lane))
      fail("the result has not the destination's type");
  }

  int conditional() {
    if (++depth_ > 100) fail("the expression is too deep");
    int left = infix(1);
    if (scanner_.accept("?")) {
      require(left, Type::boolean);
      const int yes = conditional();
      scanner_.expect(":");
      const int no = conditional();
      require(no, type(yes));
      left = add({.op = Op::select, .type = type(yes), .arguments = {left, yes, no}});
    }
    --depth_;
    return left;
  }

  int infix(int binding) {
    if (binding == tightest) return unary();
    int left = infix(binding + 1);
    while (true) {
      const Infix* found = nullptr;
      // At this level only: tighter ones were taken by the call above, and "<" must not eat half of "<<".
      for (const Infix& candidate : infixes)
        if (candidate.binding == binding && !found && accept(candidate)) found = &candidate;
      if (!found) return left;
      left = apply(found->op, left, infix(binding + 1));
    }
  }

  bool accept(const Infix& candidate) {
    if (candidate.binding <= 2) return scanner_.accept_word(candidate.symbol);
    return scanner_.accept(candidate.symbol);
  }

  int apply(Op op, int left, int right) {
    const Type operands = type(left);
    require(right, operands);
    const bool is_float = operands != Type::integer && operands != Type::boolean;
    switch (op) {
      case Op::logical_and:
      case Op::logical_or:
        require(left, Type::boolean);
        return add({.op = op, .type = Type::boolean, .arguments = {left, right, -1}});
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::not_equal:
        if (operands == Type::boolean) fail("truth values are combined by and, or, not");
        return add({.op = op, .type = Type::boolean, .arguments = {left, right, -1}});
      case Op::divide:
        if (is_float) return add({.op = Op::divide_float, .type = operands, .arguments = {left, right, -1}});
        break;
      case Op::add:
      case Op::subtract:
      case Op::multiply:
        if (is_float) return add({.op = op, .type = operands, .arguments = {left, right, -1}});
        break;
      default:
        break;
    }
    require(left, Type::integer);
    return add({.op = op, .type = Type::integer, .arguments = {left, right, -1}});
  }

  int unary() {
    if (scanner_.accept("~")) {
      const int argument = unary();
      require(argument, Type::integer);
      return add({.op = Op::complement, .type = Type::integer, .arguments = {argument, -1, -1}});
    }
    if (scanner_.accept("(")) {
      const int inside = conditional();
      scanner_.expect(")");
      return inside;
    }
    if (scanner_.accept("0x"))
      return add(
          {.op = Op::constant, .type = Type::integer, .hexadecimal = true, .value = scanner_.hexadecimal()});
    if (const std::string_view word = scanner_.peek_word(); word.empty())
      return add({.op = Op::constant, .type = Type::integer, .value = scanner_.natural()});
    return word();
  }

  int word() {
    const std::string word = plain_word("an expression");
    if (word == "i") return add({.op = Op::lane, .type = Type::integer});
    if (word == "n") return add({.op = Op::lanes, .type = Type::integer});
    if (word == "true" || word == "false")
      return add({.op = Op::constant, .type = Type::boolean, .value = word == "true"});
    if (word == "sum") return sum();
    if (word == row_.variable && sums_ > 0) return add({.op = Op::variable, .type = Type::integer});
    if (const auto operand = index_of(word)) {
      if (row_.operands[*operand].place == Place::immediate)
        return add({.op = Op::immediate, .type = Type::integer});
      if (!row_.operands[*operand].read) fail("operand " + word + " is not read");
      scanner_.expect("[");
      const int index = conditional();
      require(index, Type::integer);
      scanner_.expect("]");
      return add({.op = Op::read,
                  .type = type_of(row_.operands[*operand].lane),
                  .value = *operand,
                  .arguments = {index, -1, -1}});
    }
    return call(word);
  }

  int sum() {
    if (sums_ > 0) fail("sums are not nested");
    scanner_.expect("(");
    scanner_.expect_word(row_.variable);
    scanner_.expect(",");
    const uint64_t count = scanner_.natural();
    if (count < 1 || count > 64) fail("a sum has 1 to 64 terms");
    scanner_.expect(",");
    ++sums_;
    const int term = conditional();
    --sums_;
    require(term, Type::integer);
    scanner_.expect(")");
    return add({.op = Op::sum, .type = Type::integer, .value = count, .arguments = {term, -1, -1}});
  }

  int call(const std::string& word) {
    for (const Function& function : functions) {
      const bool typed = function.name.back() == '_';
      if (typed ? !word.starts_with(function.name) : word != function.name) continue;
      Node node{.op = function.op, .type = Type::integer};
      if (typed) {
        const auto to = parse_lane(word.substr(function.name.size()));
        if (!to || *to == Lane::bit) fail("no such lane type: " + word);
        node.to = *to;
      }
      scanner_.expect("(");
      for (int k = 0; k < function.arguments; ++k) {
        if (k > 0) scanner_.expect(",");
        node.arguments[k] = conditional();
      }
      scanner_.expect(")");
      set_type(node);
      return add(node);
    }
    fail("no such operand or function: " + word);
  }

  void set_type(Node& node) {
    const Type first = type(node.arguments[0]);
    const auto require_float = [&](int argument) {
      require(argument, first);
      if (first == Type::integer || first == Type::boolean) fail("a float is expected");
    };
    const auto require_integers = [&] {
      for (int argument : node.arguments)
        if (argument >= 0) require(argument, Type::integer);
    };
    const auto to_float = [&] {
      if (!is_float(node.to)) fail("a float type is expected");
      node.type = type_of(node.to);
    };
    switch (node.op) {
      case Op::wrap:
      case Op::saturate:
        if (is_float(node.to)) fail("an integer type is expected");
        return require_integers();
      case Op::minimum:
      case Op::maximum:
      case Op::absolute:
        return require_integers();
      case Op::near:
      case Op::truncate:
        if (is_float(node.to)) fail("an integer type is expected");
        return require_float(node.arguments[0]);
      case Op::bits:
        return require_float(node.arguments[0]);
      case Op::convert:
        if (first == Type::boolean) fail("a number is expected");
        return to_float();
      case Op::from_bits:
        require_integers();
        return to_float();
      case Op::narrow:
        require(node.arguments[0], Type::f32);
        require(node.arguments[1], Type::integer);
        if (node.to != Lane::f16) fail("only f16 is narrowed with a mode");
        return to_float();
      case Op::round:
        require_float(node.arguments[0]);
        require(node.arguments[1], Type::integer);
        node.type = first;
        return;
      case Op::within:
        require(node.arguments[0], Type::f64);
        require(node.arguments[1], Type::integer);
        require(node.arguments[2], Type::integer);
        node.type = Type::f32;
        return;
      case Op::unordered:
        for (int k = 0; k < 2; ++k) require_float(node.arguments[k]);
        node.type = Type::boolean;
        return;
      case Op::logical_not:
        require(node.arguments[0], Type::boolean);
        node.type = Type::boolean;
        return;
      default:
        for (int argument : node.arguments)
          if (argument >= 0) require_float(argument);
        node.type = first;
    }
  }

  std::optional<size_t> index_of(std::string_view name) const {
    for (size_t k = 0; k < row_.operands.size(); ++k)
      if (row_.operands[k].name == name) return k;
    return std::nullopt;
  }

  Type type(int node) const { return row_.result[node].type; }

  void require(int node, Type wanted) {
    if (type(node) != wanted) fail("the expression before this has the wrong type");
  }

  int add(const Node& node) {
    row_.result.push_back(node);
    return static_cast<int>(row_.result.size()) - 1;
  }

  text::Scanner scanner_;
  Row row_;
  int sums_ = 0;
  int depth_ = 0;
};

}  // namespace

Row parse_row(std::string_view text, Encoding encoding) { return RowParser(text, encoding).row(); }

}  // namespace axrun::ir::isa
