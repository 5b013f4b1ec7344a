#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ir/tensor.h"

/// Elements of tensors in JSON: lists, flat or nested in row-major order.
namespace axrun::serve {

/// Fills the tensor. Throws Error(user), which calls it `of`, where the list has other elements than the
/// tensor takes.
void read_elements(const nlohmann::ordered_json& list, ir::Tensor& tensor, const std::string& of);

/// Appends a flat list. Floats are written in the fewest digits that read back as the same value; those that
/// JSON has no numbers for as NaN, Infinity and -Infinity, as Triton's server does, whose clients read them
/// (as Python's json module does).
void append_elements(std::string& json, const ir::Tensor& tensor);

}  // namespace axrun::serve
