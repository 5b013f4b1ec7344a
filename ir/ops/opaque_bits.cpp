#include <cstring>

#include "ir/ops/opaque_functions.h"

namespace axrun::ir {

Tensors bit_cast_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& to = payload_of<ElementType>(stage);
  Tensor result = Tensor::allocate_uninitialized(to, x.shape());
  AXRUN_ASSERT(result.bytes() == x.bytes());
  if (x.bytes() > 0) std::memcpy(result.data(), x.data(), x.bytes());
  return {result};
}

}  // namespace axrun::ir
