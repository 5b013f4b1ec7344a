#include "ir/ops/elementwise_parts.h"

namespace axrun::ir {

void elementwise_operators(std::vector<OperatorEntry>& table) {
  unary_operators(table);
  activation_operators(table);
  binary_operators(table);
  variadic_operators(table);
  conversion_operators(table);
}

void map_elements(const OperatorContext& context, Builder& b,
                  const std::function<Scalar(const Scalar& x)>& rule) {
  const TensorRef x = operand(b, context, 0);
  b.output(b.map(x.dims(), [&](const Indices& i) { return rule(x(i)); }));
}

}  // namespace axrun::ir
