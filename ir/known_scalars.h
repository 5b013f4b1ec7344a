#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// The program with operands of one element as literals, where their values are known: values[k] is that of
/// operand k, or null. So are vectors of integers that are all the same, such as the zero points of channels.
/// Operands that are replaced become none. Strings and operands of stages other than maps and reductions are
/// left alone.
Program with_known_scalars(const Program& program, const std::vector<const Tensor*>& values);

/// The program where sizes are known: names that are absent stay symbolic.
Program with_known_sizes(const Program& program, const std::map<std::string, Dim>& sizes);

}  // namespace axrun::ir
