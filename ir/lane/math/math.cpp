#include "ir/lane/math/math.h"

#include <algorithm>

#include "ir/lasting.h"

namespace axrun::ir::lane {

const std::vector<MathFunction>& math_functions() {
  static const auto& functions = lasting<std::vector<MathFunction>>({
      {"exp", "e^x", 1, exp_program},
      {"log", "natural logarithm; NaN below zero, -infinity at both zeros", 1, log_program},
      {"tanh", "hyperbolic tangent", 1.5, tanh_program},
      {"sigmoid", "1 / (1 + e^-x)", 2, sigmoid_program},
      {"erf", "error function", 2.5, erf_program},
      {"gelu", "x/2 * (1 + erf(x / sqrt(2))) as written: NaN at -infinity; cancels below zero", 2,
       gelu_program},
      {"rsqrt", "1 / sqrt(x); NaN below zero, an infinity of the same sign at zeros", 1.5, rsqrt_program},
  });
  return functions;
}

const MathFunction* find_math_function(std::string_view name) {
  const auto& all = math_functions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace axrun::ir::lane
