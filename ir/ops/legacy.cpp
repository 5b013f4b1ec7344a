// Experimental operators of ai.onnx that were removed before opset 10 and are still met in old models. Their
// schemas: onnx/defs/experiments/defs.cc of ONNX 1.3. (The activations among them are with the other
// activations.)
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"

namespace axrun::ir {
namespace {

/// alpha * x + beta.
void affine(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double alpha = context.real("alpha", 1);
  const double beta = context.real("beta", 0);
  b.output(b.map(x.dims(), [&](const Indices& i) { return cast(x.type(), widen(x(i)) * alpha + beta); }));
}

void scale(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double factor = context.real("scale", 1);
  b.output(b.map(x.dims(), [&](const Indices& i) { return cast(x.type(), widen(x(i)) * factor); }));
}

TensorRef image(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 4, fmt::format("an input of shape {} is not [N, C, H, W]", to_string(x.dims())));
  return x;
}

/// x * scale + bias[channel].
void image_scaler(const OperatorContext& context, Builder& b) {
  const TensorRef x = image(context, b);
  const double factor = context.real("scale", 1);
  auto bias = context.reals("bias");
  if (bias.empty()) {
    bias = {0};
  } else {
    context.check(context.equal(x.dims()[1], Dim(static_cast<int64_t>(bias.size()))),
                  fmt::format("{} values of bias for {} channels", bias.size(), x.dims()[1].to_string()));
  }
  const ConstantTable added(b, compute_type(x.type()), bias);
  b.output(b.map(x.dims(),
                 [&](const Indices& i) { return cast(x.type(), widen(x(i)) * factor + added.at(i[1])); }));
}

/// Drops borders (left, top, right, bottom); with `scale` (height, width) the size is given instead of the
/// last two.
void crop(const OperatorContext& context, Builder& b) {
  const TensorRef x = image(context, b);
  auto border = context.integers("border", {0, 0, 0, 0});
  context.check(border.size() == 4, "attribute 'border' must have 4 values");
  for (int64_t width : border)
    context.check(width >= 0 && width < int64_t{1} << 40, "a border is out of range");
  const Dim left(border[0]);
  const Dim top(border[1]);
  Dims dims = x.dims();
  if (context.has_attribute("scale")) {
    const auto size = context.integers("scale");
    context.check(size.size() == 2 && size[0] >= 0 && size[1] >= 0,
                  "attribute 'scale' must be height and width");
    dims[2] = Dim(size[0]);
    dims[3] = Dim(size[1]);
    context.check(!context.less(x.dims()[2], top + dims[2]) && !context.less(x.dims()[3], left + dims[3]),
                  fmt::format("an input of shape {} is too small", to_string(x.dims())));
  } else {
    dims[2] = x.dims()[2] - top - Dim(border[3]);
    dims[3] = x.dims()[3] - left - Dim(border[2]);
    context.check(
        !context.less(x.dims()[2], top + Dim(border[3])) && !context.less(x.dims()[3], left + Dim(border[2])),
        fmt::format("an input of shape {} is too small", to_string(x.dims())));
  }
  b.output(b.map(dims, [&](const Indices& i) { return x({i[0], i[1], i[2] + top, i[3] + left}); }));
}

/// The numbers of attribute `values`, in the shape of attribute `shape`, or of the input with `extra_shape`
/// appended, or of the shape that the input holds.
void given_tensor_fill(const OperatorContext& context, Builder& b) {
  Dims dims;
  if (context.has_attribute("shape")) {
    dims = to_dims(context.integers("shape"));
  } else if (context.integer("input_as_shape", 0) != 0) {
    const Tensor& shape = context.constant(0);
    for (int64_t k = 0; k < shape.size(); ++k) dims.push_back(Dim(shape.get_int(k)));
  } else {
    dims = context.dims(0);
  }
  if (!context.has_attribute("shape")) {
    for (int64_t extra : context.integers("extra_shape")) dims.push_back(Dim(extra));
  }
  const ElementType type = context.has(0) ? context.type(0) : ElementType::f32;
  context.check(is_real_type(type), fmt::format("type {} is not a float type", name_of(type)));
  for (const Dim& dim : dims) context.check(context.may_be_at_least(dim, 0), "a size is negative");
  const auto values = context.reals("values");
  context.check(context.equal(product(dims), Dim(static_cast<int64_t>(values.size()))),
                fmt::format("{} values for shape {}", values.size(), to_string(dims)));
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  b.output(b.reshape(constant_tensor(b, tensor), dims));
}

/// What Slice became in opset 10, without steps.
void dynamic_slice(const OperatorContext& context, Builder& b) {
  context.check(context.inputs() <= 4, "at most 4 inputs are taken");
  find_operator("", "Slice", 10)->define(context, b);
}

}  // namespace

void legacy_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Affine", 1, affine},
                             {"", "Crop", 1, crop},
                             {"", "DynamicSlice", 1, dynamic_slice},
                             {"", "GivenTensorFill", 1, given_tensor_fill},
                             {"", "ImageScaler", 1, image_scaler},
                             {"", "Scale", 1, scale}});
}

}  // namespace axrun::ir
