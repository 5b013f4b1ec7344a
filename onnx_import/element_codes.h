#pragma once

#include <cstdint>
#include <string_view>

#include "ir/types.h"

namespace axrun::onnx_import {

/// One element type of TensorProto.DataType. `type` is undefined for those that axrun does not have.
struct ElementCode {
  int32_t code;
  ir::ElementType type;
  std::string_view name;  ///< as in ONNX's type notation: tensor(name)
};

/// nullptr for a number that ONNX does not define.
const ElementCode* find_element_code(int64_t code);
const ElementCode* find_element_code(std::string_view name);
/// The type must not be undefined.
int32_t element_code_of(ir::ElementType type);

}  // namespace axrun::onnx_import
