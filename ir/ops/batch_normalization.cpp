// BatchNormalization, InstanceNormalization and GroupNormalization: (x - mean) / sqrt(variance + epsilon) *
// scale + bias with statistics that are given or taken over the batch, the instance or a group of channels.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/normalization.h"

namespace axrun::ir {
namespace {

Scalar standardized(const Scalar& x, const Scalar& mean, const Scalar& variance, double epsilon) {
  return (widen(x) - mean) / sqrt(variance + epsilon);
}

/// f64 if any of the values is, else f32: the type in which operands of several float types meet.
ElementType meeting_type(std::initializer_list<ElementType> types) {
  for (ElementType type : types) {
    if (type == ElementType::f64) return ElementType::f64;
  }
  return ElementType::f32;
}

/// Whether statistics are computed from the batch. Opset 1 and 6 have is_test, 7 and 9 only the number of
/// outputs, 14 and later training_mode. A node with Y alone cannot train before 14: the mode is a matter of
/// the outputs there ("Output case #1, #2").
bool is_training(const OperatorContext& context) {
  if (context.version() >= 14) return context.integer("training_mode", 0) != 0;
  return wanted_outputs(context) > 1 && (context.version() >= 7 || context.integer("is_test", 0) == 0);
}

void define_batch_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double epsilon = context.real("epsilon", 1e-5F);
  const double momentum = context.real("momentum", 0.9F);
  const Dims& dims = x.dims();
  context.check(!dims.empty(), "the input is a scalar");
  // A one-dimensional input is a batch of one channel.
  const bool has_channels = dims.size() > 1;
  const bool per_element = context.version() < 9 && context.integer("spatial", 1) == 0;
  const Dims channel_dims = has_channels ? Dims{dims[1]} : Dims{Dim(1)};
  const Dims feature_dims = part(dims, 1, dims.size());

  TensorRef parameters[4];  // scale, bias, mean, variance
  bool per_feature = false;
  for (int k = 0; k < 4; ++k) {
    parameters[k] = real_operand(b, context, k + 1);
    if (k == 0) per_feature = per_element && has_channels && parameters[k].rank() == x.rank() - 1;
    check_dims(context, parameters[k], per_feature ? feature_dims : channel_dims,
               fmt::format("input {}", k + 1));
  }
  const Dims statistics_dims = per_feature ? feature_dims : channel_dims;
  const auto statistics_index = [&](const Indices& i) {
    if (per_feature) return part(i, 1, i.size());
    return Indices{has_channels ? i[1] : b.integer(0)};
  };
  const ElementType type = meeting_type({x.type(), parameters[0].type(), parameters[2].type()});
  const auto at = [&](int k, const Indices& i) { return cast(type, parameters[k](i)); };

  if (!is_training(context)) {
    context.check(!context.wants(1), "only Y is produced outside training");
    b.output(b.map(dims, [&](const Indices& i) {
      const Indices c = statistics_index(i);
      const Scalar normal = (cast(type, x(i)) - at(2, c)) / sqrt(at(3, c) + epsilon);
      return cast(x.type(), normal * at(0, c) + at(1, c));
    }));
    return;
  }

  std::vector<int> reduced = {0};
  if (!per_feature) {
    for (int axis = 2; axis < x.rank(); ++axis) reduced.push_back(axis);
  }
  const Moments moments = moments_of(b, x, reduced);
  // The moments lie over the kept axes: none for a one-dimensional input, else as the statistics do.
  const auto kept = [&](const Indices& c) { return has_channels ? c : Indices(); };
  b.output(b.map(dims, [&](const Indices& i) {
    const Indices c = statistics_index(i);
    const Scalar normal = standardized(x(i), moments.mean(kept(c)), moments.variance(kept(c)), epsilon);
    return cast(x.type(), cast(type, normal) * at(0, c) + at(1, c));
  }));
  const auto running = [&](int k, const auto& current) {
    b.output(b.map(statistics_dims, [&](const Indices& c) {
      const Scalar mixed = at(k, c) * momentum + cast(type, current(kept(c))) * (1 - momentum);
      return cast(parameters[k].type(), mixed);
    }));
  };
  const auto mean = [&](const Indices& c) { return moments.mean(c); };
  const auto variance = [&](const Indices& c) { return moments.variance(c); };
  const auto saved = [&](const auto& current) {
    b.output(b.map(statistics_dims, [&](const Indices& c) { return cast(x.type(), current(kept(c))); }));
  };
  const int outputs = wanted_outputs(context);
  context.check(outputs <= (context.version() >= 14 ? 3 : 5), "too many outputs");
  if (outputs > 1) running(2, mean);
  if (outputs > 2) running(3, variance);
  if (outputs > 3) saved(mean);
  if (outputs > 4) saved(variance);
}

void define_instance_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() >= 2, "the input has no channels");
  const Dims channels = {x.dims()[1]};
  context.check(context.type(1) == x.type() && context.type(2) == x.type(), "the inputs must have one type");
  const TensorRef scale = shaped_operand(b, context, 1, channels, "scale");
  const TensorRef bias = shaped_operand(b, context, 2, channels, "B");
  const double epsilon = context.real("epsilon", 1e-5F);
  std::vector<int> reduced;
  for (int axis = 2; axis < x.rank(); ++axis) reduced.push_back(axis);
  const Moments moments = moments_of(b, x, reduced);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Indices instance = {i[0], i[1]};
    const Scalar normal = standardized(x(i), moments.mean(instance), moments.variance(instance), epsilon);
    return cast(x.type(), normal * widen(scale({i[1]})) + widen(bias({i[1]})));
  }));
}

/// Scale and bias are per group in version 18, per channel since 21.
void define_group_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() >= 2, "the input has no channels");
  context.check(context.has_attribute("num_groups"), "attribute 'num_groups' is missing");
  const int64_t groups = bounded_integer(context, "num_groups", 0, 1, std::numeric_limits<int32_t>::max());
  const Dims& dims = x.dims();
  if (!context.equal(floor_mod(dims[1], Dim(groups)), Dim(0))) {
    context.fail(fmt::format("{} channels do not split into {} groups", dims[1].to_string(), groups));
  }
  const Dim group_channels = floor_div(dims[1], Dim(groups));
  const bool per_group = context.version() < 21;
  const Dims parameter_dims = {per_group ? Dim(groups) : dims[1]};
  context.check(context.type(1) == x.type() && context.type(2) == x.type(), "the inputs must have one type");
  const TensorRef scale = shaped_operand(b, context, 1, parameter_dims, "scale");
  const TensorRef bias = shaped_operand(b, context, 2, parameter_dims, "bias");
  const double epsilon = context.real("epsilon", 1e-5F);

  const Dims spatial = part(dims, 2, dims.size());
  const Dims reduced = joined({group_channels}, spatial);
  const auto load = [&](const Indices& group, const Indices& r) {
    return widen(x(joined({group[0], group[1] * group_channels + r[0]}, part(r, 1, r.size()))));
  };
  const TensorRef total = b.sum({dims[0], Dim(groups)}, reduced, load);
  const auto mean = [&](const Indices& group) { return total(group) / count_of(b, total.type(), reduced); };
  const TensorRef squares =
      b.sum({dims[0], Dim(groups)}, reduced, [&](const Indices& group, const Indices& r) {
        const Scalar deviation = load(group, r) - mean(group);
        return deviation * deviation;
      });
  // Written over (n, group, channel in group, spatial...).
  std::vector<std::vector<int>> merge = {{0}, {1, 2}};
  for (size_t d = 0; d < spatial.size(); ++d) merge.push_back({static_cast<int>(d) + 3});
  const Dims axes = joined({dims[0], Dim(groups), group_channels}, spatial);
  b.output(b.map_grouped(axes, merge, [&](const Indices& i) {
    const Indices group = {i[0], i[1]};
    const Scalar channel = i[1] * group_channels + i[2];
    const Scalar value = x(joined({i[0], channel}, part(i, 3, i.size())));
    const Scalar variance = squares(group) / count_of(b, squares.type(), reduced);
    const Indices parameter = {per_group ? i[1] : channel};
    return cast(x.type(), standardized(value, mean(group), variance, epsilon) * widen(scale(parameter)) +
                              widen(bias(parameter)));
  }));
}

}  // namespace

void batch_normalization_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "BatchNormalization", 1, define_batch_normalization},
                                {"", "InstanceNormalization", 1, define_instance_normalization},
                                {"", "GroupNormalization", 18, define_group_normalization},
                            });
}

}  // namespace axrun::ir
