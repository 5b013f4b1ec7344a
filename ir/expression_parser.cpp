#include "ir/expression_parser.h"

#include <bit>
#include <charconv>
#include <limits>

#include "ir/text_names.h"

namespace axrun::ir::text {
namespace {

const Infix* accept_infix(Scanner& scanner, int weakest) {
  const Infix* best = nullptr;
  Scanner after = scanner;
  for (const Infix& infix : infixes) {
    Scanner attempt = scanner;
    const bool is_word = starts_word(infix.symbol[0]);
    if (is_word ? !attempt.accept_word(infix.symbol) : !attempt.accept(infix.symbol)) continue;
    if (best && best->symbol.size() >= infix.symbol.size()) continue;  // <= rather than <
    best = &infix;
    after = attempt;
  }
  if (!best || best->strength < weakest) return nullptr;
  scanner = after;
  return best;
}

}  // namespace

ElementType parse_type(Scanner& scanner) {
  const size_t at = scanner.position();
  auto parsed = parse_element_type(scanner.name().text);
  if (!parsed || *parsed == ElementType::undefined) scanner.fail_at(at, "a type is expected");
  return *parsed;
}

/// Guards the stack against brackets in brackets.
class ExpressionParser::Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : nesting_(parser.nesting_) {
    if (++nesting_ > deepest_nesting) parser.s_.fail("the expression is nested too deeply");
  }
  ~Nesting() { --nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& nesting_;
};

bool ExpressionParser::declare_axis(const std::string& name) {
  return axes_.emplace(name, static_cast<int64_t>(axes_.size())).second;
}

void ExpressionParser::start_stage() {
  axes_.clear();
  bindings_.clear();
}

TensorId ExpressionParser::tensor_named(const std::string& name, size_t at) const {
  auto it = tensors_.find(name);
  if (it == tensors_.end()) s_.fail_at(at, "there is no tensor '" + name + "'");
  return it->second;
}

void ExpressionParser::bindings() {
  while (next_is_binding()) {
    s_.expect("$");
    const size_t at = s_.position();
    const uint64_t number = s_.natural();
    s_.expect("=");
    const ExprId value = expression();
    s_.expect(";");
    if (!bindings_.emplace(number, value).second)
      s_.fail_at(at, "$" + std::to_string(number) + " is defined twice");
  }
}

/// Whether `$n =` follows, not an expression that starts with `$n`.
bool ExpressionParser::next_is_binding() {
  if (s_.peek() != '$') return false;
  Scanner ahead = s_;
  ahead.accept("$");
  ahead.natural();
  return ahead.peek() == '=' && !ahead.accept("==");
}

std::vector<ExprId> ExpressionParser::expressions() {
  std::vector<ExprId> made;
  do made.push_back(expression());
  while (s_.accept(","));
  return made;
}

/// Operations at least as strong as `weakest`. A chain of one strength is a loop: only brackets nest.
ExprId ExpressionParser::infix_chain(int weakest) {
  ExprId left = operand();
  while (true) {
    const size_t at = s_.position();
    const Infix* infix = accept_infix(s_, weakest);
    if (!infix) return left;
    left = operation(infix->op, {left, infix_chain(infix->strength + 1)}, at);
  }
}

ExprId ExpressionParser::operation(ScalarOp op, const std::vector<ExprId>& arguments, size_t at) {
  if (static_cast<int>(arguments.size()) != argument_count(op)) {
    s_.fail_at(at, std::string(name_of(op)) + " has " + std::to_string(argument_count(op)) + " arguments");
  }
  Expr made;
  made.op = op;
  for (size_t k = 0; k < arguments.size(); ++k) made.args[k] = arguments[k];
  const ElementType first = type_of(arguments[0]);
  made.type =
      gives_boolean(op) ? ElementType::boolean : (op == ScalarOp::select ? type_of(arguments[1]) : first);
  if (arguments.size() == 2 && type_of(arguments[1]) != first) {
    s_.fail_at(at, std::string(name_of(op)) + " of " + std::string(name_of(first)) + " and " +
                       std::string(name_of(type_of(arguments[1]))));
  }
  return add(std::move(made));
}

ExprId ExpressionParser::operand() {
  Nesting nesting(*this);
  const size_t at = s_.position();
  if (s_.accept("(")) {
    const ExprId inner = expression();
    s_.expect(")");
    return inner;
  }
  if (s_.accept("$")) {
    const uint64_t number = s_.natural();
    auto it = bindings_.find(number);
    if (it == bindings_.end()) s_.fail_at(at, "$" + std::to_string(number) + " is not defined");
    return it->second;
  }
  if (s_.accept("@")) return parameter();
  const char next = s_.peek();
  if (next == '-' || (next >= '0' && next <= '9')) return number();
  if (next != '"' && s_.peek_word().empty()) s_.fail("an expression is expected");
  return named_operand(at);
}

ExprId ExpressionParser::parameter() {
  Expr made;
  made.op = ScalarOp::parameter;
  const size_t at = s_.position();
  const uint64_t number = s_.natural();
  if (number > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    s_.fail_at(at, "there is no such parameter");
  made.integer = static_cast<int64_t>(number);
  s_.expect(":");
  made.type = parse_type(s_);
  return add(std::move(made));
}

ExprId ExpressionParser::number() {
  const size_t at = s_.position();
  const bool negative = s_.accept("-");
  if (s_.accept_word("inf")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return typed_real(negative ? -infinity : infinity, at);
  }
  const std::string_view digits = s_.number();
  const ElementType literal_type = s_.accept(":") ? parse_type(s_) : ElementType::i64;
  if (is_float(literal_type)) {
    double value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      s_.fail_at(at, "the number is not a double");
    return real_literal(literal_type, negative ? -value : value);
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  const auto value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  bool right = error == std::errc() && end == digits.data() + digits.size() && is_integer(literal_type);
  if (literal_type == ElementType::u64) {
    right = right && (!negative || magnitude == 0);
  } else {
    right = right && magnitude <= (uint64_t{1} << 63) && (value < 0) == (negative && magnitude != 0) &&
            wrap_to(literal_type, value) == value;
  }
  if (!right) s_.fail_at(at, "this is no number of type " + std::string(name_of(literal_type)));
  return integer_literal(literal_type, value);
}

/// ':' and the type follow.
ExprId ExpressionParser::typed_real(double value, size_t at) {
  s_.expect(":");
  const ElementType literal_type = parse_type(s_);
  if (!is_float(literal_type)) s_.fail_at(at, "only floats have this value");
  return real_literal(literal_type, value);
}

ExprId ExpressionParser::real_literal(ElementType literal_type, double value) {
  Expr made;
  made.op = ScalarOp::real;
  made.type = literal_type;
  made.real = value;
  return add(std::move(made));
}

ExprId ExpressionParser::integer_literal(ElementType literal_type, int64_t value) {
  Expr made;
  made.op = ScalarOp::integer;
  made.type = literal_type;
  made.integer = value;
  return add(std::move(made));
}

ExprId ExpressionParser::named_operand(size_t at) {
  const Scanner::Name name = s_.name();
  if (s_.accept("[")) return load(tensor_named(name.text, at));
  if (!name.quoted) {
    if (name.text == "true" || name.text == "false")
      return integer_literal(ElementType::boolean, name.text == "true" ? 1 : 0);
    if (name.text == "inf") return typed_real(std::numeric_limits<double>::infinity(), at);
    if (name.text == "nan") return not_a_number(at);
    if (name.text == "time") {
      Expr made;
      made.op = ScalarOp::time;
      return add(std::move(made));
    }
    if (s_.accept("(")) return call(name.text, at);
  }
  auto it = axes_.find(name.text);
  if (it == axes_.end()) s_.fail_at(at, "there is no axis '" + name.text + "'");
  Expr made;
  made.op = ScalarOp::axis;
  made.integer = it->second;
  return add(std::move(made));
}

ExprId ExpressionParser::not_a_number(size_t at) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (s_.accept("(")) {
    value = std::bit_cast<double>(s_.hexadecimal());
    s_.expect(")");
    if (value == value) s_.fail_at(at, "these are not the bits of a NaN");
  }
  return typed_real(value, at);
}

ExprId ExpressionParser::load(TensorId id) {
  Expr made;
  made.op = ScalarOp::load;
  made.integer = id;
  made.type = program_.tensors[static_cast<size_t>(id)].type;
  if (s_.peek() != ']' && s_.peek() != ';') made.indices = expressions();
  if (s_.accept(";")) {
    made.args[0] = expression();
    s_.expect(";");
    made.args[1] = expression();
  }
  s_.expect("]");
  return add(std::move(made));
}

ExprId ExpressionParser::call(const std::string& word, size_t at) {
  if (word == "dim") {
    Expr made;
    made.op = ScalarOp::extent;
    made.dim = s_.dim(")");
    s_.expect(")");
    return add(std::move(made));
  }
  auto op = parse_scalar_op(word);
  if (!op || argument_count(*op) == 0 || *op == ScalarOp::load)
    s_.fail_at(at, "there is no operation '" + word + "'");
  if (*op == ScalarOp::cast || *op == ScalarOp::cast_saturate) {
    Expr made;
    made.op = *op;
    made.type = parse_type(s_);
    s_.expect(",");
    made.args[0] = expression();
    s_.expect(")");
    return add(std::move(made));
  }
  std::vector<ExprId> arguments;
  if (s_.peek() != ')') arguments = expressions();
  s_.expect(")");
  return operation(*op, arguments, at);
}

}  // namespace axrun::ir::text
