#include "jit/function_instructions.h"

#include <string_view>

#include "ir/lane/math/math.h"

namespace axrun::jit {
namespace {

using ir::ScalarOp;

constexpr double instructions_of_division = 8, instructions_of_other_functions = 24;

double instructions_of(std::string_view function) {
  const ir::lane::MathFunction* const found = ir::lane::find_math_function(function);
  return found == nullptr ? instructions_of_other_functions
                          : static_cast<double>(found->make().instructions.size());
}

}  // namespace

double function_instructions(ScalarOp op) {
  static const double exp = instructions_of("exp"), log = instructions_of("log"),
                      tanh = instructions_of("tanh"), erf = instructions_of("erf");
  switch (op) {
    case ScalarOp::exp:
      return exp;
    case ScalarOp::log:
      return log;
    case ScalarOp::tanh:
      return tanh;
    case ScalarOp::erf:
      return erf;
    case ScalarOp::div:
    case ScalarOp::sqrt:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
      return instructions_of_division;
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::acos:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::cosh:
    case ScalarOp::asinh:
    case ScalarOp::acosh:
    case ScalarOp::atanh:
    case ScalarOp::atan2:
    case ScalarOp::pow:
      return instructions_of_other_functions;
    default:
      return 0;
  }
}

}  // namespace axrun::jit
