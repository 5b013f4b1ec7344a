// Operators of one input without parameters that matter.

#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

template <TypeClass accepted, ScalarOp op>
void define_unary(const OperatorContext& context, Builder& b) {
  require_type(context, 0, accepted);
  map_elements(context, b, [](const Scalar& x) { return unary(op, x); });
}

template <ScalarOp op>
constexpr Definition define_float = define_unary<TypeClass::floating, op>;
template <ScalarOp op>
constexpr Definition define_number = define_unary<TypeClass::number, op>;

void define_identity(const OperatorContext& context, Builder& b) {
  map_elements(context, b, [](const Scalar& x) { return x; });
}

/// Rounding leaves integers as they are.
template <ScalarOp op>
void define_rounding(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  map_elements(context, b, [](const Scalar& x) { return is_float(x.type()) ? unary(op, x) : x; });
}

void define_reciprocal(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::floating);
  map_elements(context, b, [](const Scalar& x) { return 1.0 / x; });
}

void define_is_inf(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::floating);
  const bool negative = flag(context, "detect_negative", true);
  const bool positive = flag(context, "detect_positive", true);
  map_elements(context, b, [&](const Scalar& x) {
    const Scalar infinite = unary(ScalarOp::is_inf, x);
    if (negative && positive) return infinite;
    if (!negative && !positive) return b.boolean(false);
    return logical_and(infinite, positive ? x > 0 : x < 0);
  });
}

}  // namespace

void unary_operators(std::vector<OperatorEntry>& table) {
  using enum ScalarOp;
  table.insert(table.end(), {{"", "Abs", 1, define_number<abs>},
                             {"", "Acos", 7, define_float<acos>},
                             {"", "Acosh", 9, define_float<acosh>},
                             {"", "Asin", 7, define_float<asin>},
                             {"", "Asinh", 9, define_float<asinh>},
                             {"", "Atan", 7, define_float<atan>},
                             {"", "Atanh", 9, define_float<atanh>},
                             {"", "BitwiseNot", 18, define_unary<TypeClass::integer, bit_not>},
                             {"", "Ceil", 1, define_rounding<ceil>},
                             {"", "Cos", 7, define_float<cos>},
                             {"", "Cosh", 9, define_float<cosh>},
                             {"", "Erf", 9, define_float<erf>},
                             {"", "Exp", 1, define_float<exp>},
                             {"", "Floor", 1, define_rounding<floor>},
                             {"", "Identity", 1, define_identity},
                             {"", "IsInf", 10, define_is_inf},
                             {"", "IsNaN", 9, define_float<is_nan>},
                             {"", "Log", 1, define_float<log>},
                             {"", "Neg", 1, define_number<neg>},
                             {"", "Not", 1, define_unary<TypeClass::boolean, logical_not>},
                             {"", "Reciprocal", 1, define_reciprocal},
                             {"", "Round", 11, define_rounding<round_even>},
                             {"", "Sign", 9, define_number<sign>},
                             {"", "Sin", 7, define_float<sin>},
                             {"", "Sinh", 9, define_float<sinh>},
                             {"", "Sqrt", 1, define_float<sqrt>},
                             {"", "Tan", 7, define_float<tan>},
                             {"", "Tanh", 1, define_float<tanh>}});
}

}  // namespace axrun::ir
