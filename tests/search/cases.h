#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "jit/target.h"
#include "search/lower_scheduled.h"
#include "search/lowering.h"

namespace axrun::tests {

using SizeValues = std::map<std::string, int64_t>;

inline ir::Dim sym(const char* name) { return ir::Dim::symbol(name); }
inline ir::Attribute integer(int64_t value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integer;
  attribute.integer = value;
  return attribute;
}
inline ir::Attribute text(const std::string& value) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::string;
  attribute.string = value;
  return attribute;
}

/// What a list says of dimension d; lists may be shorter than there are dimensions.
inline int64_t entry(const std::vector<int64_t>& list, size_t d, int64_t otherwise) {
  return d < list.size() ? list[d] : otherwise;
}

/// An expression to lower and the sizes at which the result is tried.
struct Case {
  std::string name;
  std::string kind;  ///< that it is lowered to
  std::function<ir::Program()> make;
  search::Sizes sizes;
  std::vector<bool> constant;  ///< per operand
  std::vector<SizeValues> values = {{}};
  std::optional<search::GivenSchedule> schedule = {};  ///< of its product, instead of the default one
  size_t rank = 0;                                     ///< of the schedule that is looked for
  std::vector<jit::CacheLevel> caches = {};  ///< instead of the target's, where schedules depend on them
};
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

search::Lowered lowered_case(const Case& c, const jit::Target& target);

/// ONNX's operators, alone and in chains.
std::vector<Case> operator_cases();
/// These, and the cases of every kind.
std::vector<Case> all_cases();

/// relu(a[m, 768] b[768, 3072] + bias).
ir::Program any_rows_product();

jit::Target avx512_like();
jit::Target avx2_like();
/// The first one with instructions for products of bytes.
jit::Target with_byte_products();

/// Runs both interpreters on seeded data; what is wrong, or nothing.
std::string difference(const ir::Program& expression, const search::Lowered& lowered, const SizeValues& sizes,
                       unsigned seed);

}  // namespace axrun::tests
