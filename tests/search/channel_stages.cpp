#include "tests/search/channel_stages.h"

#include <limits>

namespace axrun::tests {

using ir::Dim;
using ir::Dims;
using ir::Indices;
using ir::Monoid;
using ir::TensorRef;

int64_t WindowSteps::length(size_t d, int64_t extent) const {
  return (extent + 2 * pads[d] - (kernel[d] - 1) * dilations[d] - 1) / strides[d] + 1;
}

Dims ChannelStages::with(std::initializer_list<Dim> rest) const {
  Dims dims = batch_;
  dims.insert(dims.end(), rest);
  return dims;
}

TensorRef ChannelStages::product(const TensorRef& x, const TensorRef& weights,
                                 const std::string& name) const {
  const size_t channel = batch_.size();
  Dims dims(x.dims());
  dims[channel] = weights.dims()[0];
  return b_.reduce(
      Monoid::Kind::sum, dims, {weights.dims()[1]},
      [&](const Indices& i, const Indices& r) {
        Indices place(i.begin(), i.end());
        place[channel] = r[0];
        return x(place) * weights({i[channel], r[0]});
      },
      name);
}

TensorRef ChannelStages::windows(const TensorRef& x, const TensorRef& weights, const WindowSteps& steps,
                                 Monoid::Kind monoid) const {
  const size_t channel = batch_.size();
  Dims dims(x.dims());
  for (size_t d = 0; d < 2; ++d) dims[channel + 1 + d] = steps.length(d, dims[channel + 1 + d].value());
  const double outside = monoid == Monoid::Kind::sum ? 0 : -std::numeric_limits<double>::infinity();
  return b_.reduce(
      monoid, dims, {steps.kernel[0], steps.kernel[1]},
      [&](const Indices& i, const Indices& k) {
        Indices place(i.begin(), i.end());
        for (size_t d = 0; d < 2; ++d) {
          const size_t at = channel + 1 + d;
          place[at] = i[at] * steps.strides[d] + k[d] * steps.dilations[d] - steps.pads[d];
        }
        const ir::Scalar read = x.padded(place, outside);
        return weights.defined() ? read * weights({i[channel], k[0], k[1]}) : read;
      },
      "windows");
}

TensorRef ChannelStages::clamped(const TensorRef& x, const TensorRef& bias) const {
  if (!bias.defined()) return x;
  return b_.map(Dims(x.dims()),
                [&](const Indices& i) { return min(max(x(i) + bias({i[batch_.size()]}), 0.0), 6.0); });
}

}  // namespace axrun::tests
