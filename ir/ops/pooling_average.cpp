// AveragePool, LpPool and their global forms.
#include <cmath>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/pooling.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

/// How many points k of the window at output index o satisfy low <= o * stride + k * dilation - pad < high in
/// dimension d.
Scalar points_between(const Window& window, size_t d, const Scalar& o, const Dim& low, const Dim& high) {
  Builder& b = o.builder();
  const Scalar start = o * window.strides[d] - window.pads_begin[d];
  const int64_t dilation = window.dilations[d];
  const auto steps_to = [&](const Dim& bound) {
    return floor_div(b.extent(bound + (dilation - 1)) - start, dilation);
  };
  const Scalar first = max(steps_to(low), 0);
  const Scalar last = min(steps_to(high), window.kernel[d]);
  return max(last - first, 0);
}

/// The sum of each window divided by the number of its points: those in the input, or with
/// count_include_pad those in the padded input. A window that ceil_mode lets reach further counts no more.
void define_average_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const bool ceil_mode = context.integer("ceil_mode", 0) != 0;
  const bool include_pad = context.integer("count_include_pad", 0) != 0;
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()), ceil_mode);
  const Dims result = joined(part(x.dims(), 0, 2), window.output);
  const TensorRef sum = b.sum(result, window.kernel, [&](const Indices& i, const Indices& k) {
    return widen(x.padded(joined(part(i, 0, 2), window.at(part(i, 2, i.size()), k)), 0.0));
  });
  b.output(b.map(result, [&](const Indices& i) {
    Scalar points = b.integer(1);
    for (size_t d = 0; d < spatial.size(); ++d) {
      const bool unpadded = window.pads_begin[d] == Dim(0) && window.pads_end[d] == Dim(0);
      if (!ceil_mode && (include_pad || unpadded)) {
        points = points * window.kernel[d];
      } else {
        const Dim low = include_pad ? Dim(0) - window.pads_begin[d] : Dim(0);
        const Dim high = include_pad ? spatial[d] + window.pads_end[d] : spatial[d];
        points = points * points_between(window, d, i[2 + d], low, high);
      }
    }
    return cast(x.type(), sum(i) / cast(sum.type(), points));
  }));
}

void define_global_average_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const Dims result = joined(part(x.dims(), 0, 2), Dims(spatial.size(), Dim(1)));
  const TensorRef sum = b.sum(result, spatial, [&](const Indices& i, const Indices& r) {
    return widen(x(joined(part(i, 0, 2), r)));
  });
  b.output(b.map(
      result, [&](const Indices& i) { return cast(x.type(), sum(i) / count_of(b, sum.type(), spatial)); }));
}

/// The attribute p, a float in version 1 and an integer since.
double norm_order(const OperatorContext& context) {
  const double p =
      context.version() == 1 ? context.real("p", 2) : static_cast<double>(context.integer("p", 2));
  context.check(std::isfinite(p) && p > 0, "attribute 'p' must be positive");
  return p;
}

Scalar powered(const Scalar& x, double p) {
  if (p == 1) return abs(x);
  if (p == 2) return x * x;
  return pow(abs(x), p);
}

Scalar root(const Scalar& x, double p) {
  if (p == 1) return x;
  if (p == 2) return sqrt(x);
  return pow(x, 1 / p);
}

/// (sum |x|^p)^(1/p) over each window; padding adds nothing.
void define_lp_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const double p = norm_order(context);
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()),
                                       context.integer("ceil_mode", 0) != 0);
  const Dims result = joined(part(x.dims(), 0, 2), window.output);
  const TensorRef sum = b.sum(result, window.kernel, [&](const Indices& i, const Indices& k) {
    return powered(widen(x.padded(joined(part(i, 0, 2), window.at(part(i, 2, i.size()), k)), 0.0)), p);
  });
  b.output(b.map(result, [&](const Indices& i) { return cast(x.type(), root(sum(i), p)); }));
}

void define_global_lp_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const double p = norm_order(context);
  const Dims result = joined(part(x.dims(), 0, 2), Dims(spatial.size(), Dim(1)));
  const TensorRef sum = b.sum(result, spatial, [&](const Indices& i, const Indices& r) {
    return powered(widen(x(joined(part(i, 0, 2), r))), p);
  });
  b.output(b.map(result, [&](const Indices& i) { return cast(x.type(), root(sum(i), p)); }));
}

}  // namespace

void average_pooling_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "AveragePool", 1, define_average_pool},
                                {"", "GlobalAveragePool", 1, define_global_average_pool},
                                {"", "LpPool", 1, define_lp_pool},
                                {"", "GlobalLpPool", 1, define_global_lp_pool},
                            });
}

}  // namespace axrun::ir
