#pragma once

#include <string>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {

inline NodeUnderTest microsoft(const std::string& op, int outputs = 1) {
  return NodeUnderTest(op, 1, outputs).in_domain("com.microsoft");
}

/// Small quarters that repeat after 11: element k is (7 k mod 11 - 5) / 4, times `factor`.
inline Tensor quarters(const Shape& shape, double factor = 1) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) {
    tensor.set_real(k, (static_cast<double>(7 * k % 11) - 5) / 4 * factor);
  }
  return tensor;
}

/// Element k is the byte (k step + first) mod 256, wrapped to the type.
inline Tensor bytes(const Shape& shape, ElementType type = ElementType::u8, int64_t step = 37,
                    int64_t first = 11) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_int(k, (step * k + first) % 256);
  return tensor;
}

inline Tensor number(double value) { return reals({}, {value}); }

}  // namespace axrun::ir::test
