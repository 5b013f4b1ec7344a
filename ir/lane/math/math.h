#pragma once

#include <string_view>
#include <vector>

#include "ir/lane/program.h"

namespace axrun::ir::lane {

/// A function of one f32 as a lane program, with the accuracy it claims.
struct MathFunction {
  std::string_view name;
  std::string_view meaning;  ///< at infinities, zeros and NaN too, the result is what this says
  /// Units in the last place of the exact result (of f32, denormal ones included) by which any result over
  /// all finite inputs may be off. verify/ulp_bounds measures it.
  double most_ulp;
  Program (*make)();
};

const std::vector<MathFunction>& math_functions();
/// Null for an unknown name.
const MathFunction* find_math_function(std::string_view name);

/// ir/lane/math/*.cpp, one each.
Program exp_program();
Program log_program();
Program tanh_program();
Program sigmoid_program();
Program erf_program();
Program gelu_program();
Program rsqrt_program();

}  // namespace axrun::ir::lane
