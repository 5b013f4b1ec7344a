#include "search/algebra/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "ir/error.h"
#include "ir/lasting.h"
#include "ir/operator.h"
#include "ir/scanner.h"

namespace axrun::search::algebra {
namespace {

using Kind = ir::Attribute::Kind;
constexpr size_t most_table_elements = 64;

/// Strings of attributes are modes and equations: of these characters, or the operator has no text.
bool is_plain(const std::string& text) {
  return text.size() <= 100 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c > 32 && c < 127 && c != '"' && c != '\\';
         });
}

std::string text_of(const ir::Attribute& attribute) {
  switch (attribute.kind) {
    case Kind::integer:
      return fmt::format("i{}", attribute.integer);
    case Kind::real:
      return fmt::format("r{}", attribute.real);
    case Kind::string:
      return fmt::format("s\"{}\"", attribute.string);
    case Kind::integers:
      return fmt::format("I[{}]", fmt::join(attribute.integers, ","));
    case Kind::reals:
      return fmt::format("R[{}]", fmt::join(attribute.reals, ","));
    default:
      throw Error(Fault::internal, "an attribute without text");
  }
}

int64_t signed_integer(ir::text::Scanner& in) {
  const bool negative = in.accept("-");
  const uint64_t magnitude = in.natural();
  if (magnitude > uint64_t{1} << 63 || (magnitude == uint64_t{1} << 63 && !negative))
    in.fail("a number is too large");
  if (magnitude == uint64_t{1} << 63) return std::numeric_limits<int64_t>::min();
  return negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
}

double signed_real(ir::text::Scanner& in) {
  const bool negative = in.accept("-");
  const std::string_view digits = in.number();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    in.fail("not a finite number");
  return negative ? -value : value;
}

template <class Read>
auto list_of(ir::text::Scanner& in, Read read) {
  std::vector<decltype(read(in))> list;
  in.expect("[");
  while (!in.accept("]")) {
    if (!list.empty()) in.expect(",");
    if (list.size() >= most_table_elements) in.fail("a list is too long");
    list.push_back(read(in));
  }
  return list;
}

/// The character after the kind's letter belongs to the value: words would swallow both.
ir::Attribute parse_attribute(ir::text::Scanner& in) {
  ir::Attribute attribute;
  if (in.accept("i")) {
    attribute.kind = Kind::integer;
    attribute.integer = signed_integer(in);
  } else if (in.accept("r")) {
    attribute.kind = Kind::real;
    attribute.real = signed_real(in);
  } else if (in.accept("I")) {
    attribute.kind = Kind::integers;
    attribute.integers = list_of(in, signed_integer);
  } else if (in.accept("R")) {
    attribute.kind = Kind::reals;
    attribute.reals = list_of(in, signed_real);
  } else if (in.accept("s")) {
    attribute.kind = Kind::string;
    const auto quoted = in.name();
    if (!quoted.quoted || !is_plain(quoted.text)) in.fail("not a plain string");
    attribute.string = quoted.text;
  } else {
    in.fail("no attribute");
  }
  return attribute;
}

}  // namespace

bool has_text(const ir::Node& node) {
  for (const auto& [name, attribute] : node.attributes) {
    if (!is_plain(name) || name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0)
      return false;
    switch (attribute.kind) {
      case Kind::integer:
        break;
      case Kind::real:
        if (!std::isfinite(attribute.real)) return false;
        break;
      case Kind::string:
        if (!is_plain(attribute.string)) return false;
        break;
      case Kind::integers:
        if (attribute.integers.size() > most_table_elements) return false;
        break;
      case Kind::reals:
        if (attribute.reals.size() > most_table_elements) return false;
        for (const double value : attribute.reals)
          if (!std::isfinite(value)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

std::string Operation::key() const {
  std::string text = domain.empty() ? name : domain + ":" + name;
  text += fmt::format("@{}", version);
  if (result != 0) text += fmt::format("^{}", result);
  if (!attributes.empty()) {
    std::vector<std::string> list;
    for (const auto& [key, value] : attributes) list.push_back(key + "=" + text_of(value));
    text += fmt::format("{{{}}}", fmt::join(list, ";"));
  }
  if (!slots.empty()) {
    text += '<';
    for (const Slot slot : slots) text += slot == Slot::child ? '_' : slot == Slot::parameter ? 'p' : 'n';
    text += '>';
  }
  return text;
}

Operation parse_operation(ir::text::Scanner& in) {
  Operation operation;
  operation.name = in.name().text;
  while (in.accept(".")) operation.name += "." + in.name().text;
  if (in.accept(":")) operation.domain = std::exchange(operation.name, in.name().text);
  in.expect("@");
  operation.version = static_cast<int>(std::min<uint64_t>(in.natural(), 10000));
  if (in.accept("^")) operation.result = static_cast<int>(std::min<uint64_t>(in.natural(), 64));
  if (in.accept("{")) {
    do {
      const std::string name = in.name().text;
      in.expect("=");
      if (!operation.attributes.emplace(name, parse_attribute(in)).second) in.fail("an attribute twice");
    } while (in.accept(";"));
    in.expect("}");
  }
  if (in.accept("<")) {
    while (!in.accept(">")) {
      if (operation.slots.size() >= most_table_elements) in.fail("too many inputs");
      if (in.accept("_")) {
        operation.slots.push_back(Slot::child);
      } else if (in.accept("p")) {
        operation.slots.push_back(Slot::parameter);
      } else {
        in.expect("n");
        operation.slots.push_back(Slot::absent);
      }
    }
  }
  if (ir::is_graph_operator(operation.domain, operation.name) ||
      ir::find_operator(operation.domain, operation.name, operation.version) == nullptr)
    in.fail("no such operator: " + operation.name);
  return operation;
}

int canonical_version(const std::string& domain, const std::string& op, int version) {
  // Their definitions ask for no version but that of legacy broadcasts, before 7.
  static const auto& steady = lasting<std::set<std::string>>(
      {"Abs",         "Add",       "Conv",    "Cos",     "Div",   "Erf", "Exp",        "Gather",
       "LeakyRelu",   "Log",       "MatMul",  "MaxPool", "Mul",   "Neg", "Reciprocal", "ReduceMax",
       "ReduceMean",  "Relu",      "Sigmoid", "Sin",     "Sqrt",  "Sub", "Tanh",       "GlobalAveragePool",
       "AveragePool", "Transpose", "Concat",  "Expand",  "Where", "Pow"});
  const ir::OperatorEntry* entry = ir::find_operator(domain, op, version);
  if (entry == nullptr || !domain.empty() || steady.count(op) == 0) return version;
  return std::max(entry->since, std::min(version, 7));
}

bool is_parameter(const std::string& op, int input) {
  struct Row {
    const char* op;
    int first, last;
  };
  static constexpr std::array<Row, 14> rows = {{{"Reshape", 1, 1},
                                                {"Slice", 1, 4},
                                                {"Expand", 1, 1},
                                                {"Unsqueeze", 1, 1},
                                                {"Squeeze", 1, 1},
                                                {"Pad", 1, 1},
                                                {"Split", 1, 1},
                                                {"Tile", 1, 1},
                                                {"ReduceSum", 1, 1},
                                                {"ReduceMean", 1, 1},
                                                {"ReduceMax", 1, 1},
                                                {"ReduceMin", 1, 1},
                                                {"ReduceL2", 1, 1},
                                                {"ReduceSumSquare", 1, 1}}};
  for (const Row& row : rows)
    if (op == row.op && input >= row.first && input <= row.last) return true;
  return false;
}

}  // namespace axrun::search::algebra
