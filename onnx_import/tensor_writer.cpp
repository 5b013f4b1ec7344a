#include "onnx_import/tensor_writer.h"

#include <fmt/format.h>

#include "ir/error.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/packed_bits.h"

namespace axrun::onnx_import {

WireWriter tensor_message(std::string_view name, const ir::Tensor& tensor) {
  if (!tensor.defined())
    throw Error(Fault::user, fmt::format("the tensor '{}' is empty and cannot be written", name));
  WireWriter message;
  for (const int64_t dim : tensor.shape()) message.integer(1, dim);
  message.integer(2, element_code_of(tensor.type()));
  if (tensor.type() == ir::ElementType::string) {
    for (int64_t k = 0; k < tensor.size(); ++k) message.bytes(6, tensor.strings()[k]);
  }
  if (!name.empty()) message.bytes(8, name);
  if (is_packed(tensor.type())) {
    message.bytes(9, packed(tensor));
  } else if (tensor.type() != ir::ElementType::string) {
    message.bytes(9, std::string_view(tensor.as<char>(), tensor.bytes()));
  }
  return message;
}

}  // namespace axrun::onnx_import
