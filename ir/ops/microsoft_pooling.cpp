// com.microsoft: pooling of bytes that lie channels last.
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

/// The largest of each window of [N, spatial..., C].
void nhwc_max_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::i8, ElementType::u8});
  context.check(x.rank() >= 3, "the input must have at least 3 dimensions");
  const size_t last = x.dims().size() - 1;
  const Dims spatial = part(x.dims(), 1, last);
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()),
                                       context.integer("ceil_mode", 0) != 0);
  const Dims result = joined(joined({x.dims()[0]}, window.output), {x.dims()[last]});
  const int64_t lowest = x.type() == ElementType::i8 ? std::numeric_limits<int8_t>::min() : 0;
  b.output(b.reduce(Monoid::Kind::max, result, window.kernel, [&](const Indices& i, const Indices& k) {
    const Indices point = window.at(part(i, 1, last), k);
    return x.padded(joined(joined({i[0]}, point), {i[last]}), b.integer(lowest, x.type()));
  }));
}

}  // namespace

void microsoft_pooling_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "NhwcMaxPool", 1, nhwc_max_pool});
}

}  // namespace axrun::ir
