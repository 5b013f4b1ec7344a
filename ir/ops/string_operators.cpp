#include "ir/ops/string_operators.h"

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

std::shared_ptr<const StringTable> string_table(const std::vector<std::string>& strings,
                                                const std::string& otherwise) {
  auto table = std::make_shared<StringTable>();
  table->strings = strings;
  table->otherwise = otherwise;
  for (size_t k = 0; k < strings.size(); ++k) table->position_of[strings[k]] = static_cast<int64_t>(k);
  return table;
}

}  // namespace

TensorRef cast_strings(Builder& b, const TensorRef& x, ElementType to) {
  AXRUN_ASSERT((x.type() == ElementType::string) != (to == ElementType::string));
  return b.opaque("cast_string", {x}, {{to, x.dims()}},
                  std::make_shared<const TextConversion>(TextConversion{x.type(), to}))[0];
}

TensorRef strings_equal(Builder& b, const TensorRef& x, const TensorRef& y) {
  return b.opaque("equal_strings", {x, y}, {{ElementType::boolean, x.dims()}})[0];
}

TensorRef find_strings(Builder& b, const TensorRef& x, const std::vector<std::string>& keys) {
  return b.opaque("find_strings", {x}, {{ElementType::i64, x.dims()}}, string_table(keys, ""))[0];
}

TensorRef choose_strings(Builder& b, const TensorRef& positions, const std::vector<std::string>& values,
                         const std::string& otherwise) {
  return b.opaque("choose_strings", {positions}, {{ElementType::string, positions.dims()}},
                  string_table(values, otherwise))[0];
}

std::function<Scalar()> nothing_of(Builder& b, ElementType type) {
  if (type != ElementType::string) return [&b, type] { return b.literal(type, 0); };
  const TensorRef nowhere = b.map({}, [&](const Indices&) { return b.integer(-1); });
  return [text = choose_strings(b, nowhere, {}, "")] { return text({}); };
}

}  // namespace axrun::ir
