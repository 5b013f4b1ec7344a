// The inputs of a measurement: an ONNX `test_data_set_N` folder, or values made up from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "perf/host/tensor.h"

namespace axrun::perf {

/// Sizes given on the command line for dims that the model leaves open.
struct ShapeChoices {
  std::map<std::string, std::vector<std::int64_t>> shapes;  // by input name
  std::map<std::string, std::int64_t> dims;                 // by dim name
};

/// One tensor per declared input, in its order, read from `folder`. The name inside a file decides which
/// input it is; without one, input_K.pb is the K-th input. Throws HostError when a file is damaged or an
/// input has none.
std::vector<Tensor> read_inputs(const std::string& folder, const std::vector<InputDeclaration>& declared);

/// Values that every program which uses this function draws alike: floats are uniform in [0, 1), integers and
/// booleans are 0 or 1 (valid as an index of most tables), strings are "a". Open dims are 1 unless chosen.
/// Throws HostError when a choice names nothing or contradicts the declared shape.
std::vector<Tensor> make_up_inputs(const std::vector<InputDeclaration>& declared, const ShapeChoices& choices,
                                   std::uint64_t seed);

}  // namespace axrun::perf
