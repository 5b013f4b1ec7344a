#include "search/algebra/term_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace axrun::search::algebra {
namespace {

constexpr size_t most_rank = 8, most_parameters = 4;

}  // namespace

ir::Dims parse_dims(ir::text::Scanner& in) {
  ir::Dims dims;
  in.expect("[");
  while (!in.accept("]")) {
    if (!dims.empty()) in.expect(",");
    if (dims.size() >= most_rank) in.fail("too many dims");
    dims.push_back(in.dim(",]"));
  }
  return dims;
}

ir::ElementType parse_type(ir::text::Scanner& in) {
  const auto type = ir::parse_element_type(in.name().text);
  if (!type || *type == ir::ElementType::undefined || *type == ir::ElementType::string)
    in.fail("no element type");
  return *type;
}

std::string print_literal(const Term& term) {
  return fmt::format("={}:{}{}", *term.literal, ir::name_of(term.facts.type), ir::to_string(term.facts.dims));
}

TermId parse_literal(ir::text::Scanner& in, Terms& terms) {
  in.expect("=");
  const bool negative = in.accept("-");
  const std::string_view digits = in.number();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    in.fail("not a finite number");
  in.expect(":");
  const ir::ElementType type = parse_type(in);
  const ir::Dims dims = parse_dims(in);
  if (ir::product(dims) != ir::Dim(1)) in.fail("a number has one element");
  return terms.literal(type, negative ? -value : value, dims);
}

std::string print_operation(const Terms& terms, TermId id) {
  std::string text = terms.operation(terms[id].operation).key();
  for (const ir::Dims& list : terms[id].parameters) text += ir::to_string(list);
  return text;
}

ReadOperation parse_operation_with_parameters(ir::text::Scanner& in) {
  ReadOperation read{parse_operation(in), {}};
  while (in.peek() == '[') {
    if (read.parameters.size() >= most_parameters) in.fail("too many parameters");
    read.parameters.push_back(parse_dims(in));
  }
  return read;
}

std::string quoted(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, 200)) plain += c < 32 || c > 126 || c == '"' || c == '\\' ? ' ' : c;
  return "\"" + plain + "\"";
}

std::string hash_of(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

}  // namespace axrun::search::algebra
