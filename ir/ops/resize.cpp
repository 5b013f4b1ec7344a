// Resize and Upsample: what the attributes and inputs of a node ask for.
#include "ir/ops/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "ir/evaluate.h"
#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"
#include "ir/sizes_at_hand.h"

namespace axrun::ir {

bool Resizing::is_identity(const ResizeAxis& axis) const {
  if (crops()) return axis.input == Dim(1) && axis.output == Dim(1);
  return axis.factor == 1;
}

bool Resizing::repeats(const ResizeAxis& axis) const {
  if (interpolation != Interpolation::nearest || axis.factor < 2) return false;
  const bool rounds = nearest == NearestMode::round_prefer_floor || nearest == NearestMode::round_prefer_ceil;
  const bool rounds_down = nearest == NearestMode::floor || nearest == NearestMode::simple;
  // With x = factor * q + r the coordinate is q + (r + 0.5) / factor - 0.5 in the first case and
  // q + r / factor or q + (r + 0.5) / factor in the second.
  switch (coordinates) {
    case CoordinateMode::half_pixel:
    case CoordinateMode::half_pixel_symmetric:
    case CoordinateMode::pytorch_half_pixel:
      return rounds;
    case CoordinateMode::asymmetric:
    case CoordinateMode::tf_half_pixel_for_nn:
      return rounds_down;
    default:
      return false;
  }
}

bool Resizing::has_phases(const ResizeAxis& axis) const {
  if (interpolation != Interpolation::linear || antialias || crops()) return false;
  if (axis.input == Dim(1)) return true;
  if (axis.up == 0) return false;
  switch (coordinates) {
    case CoordinateMode::half_pixel:
    case CoordinateMode::half_pixel_symmetric:
    case CoordinateMode::asymmetric:
      return true;
    case CoordinateMode::pytorch_half_pixel:
      return axis.output != Dim(1);
    default:
      return false;
  }
}

std::optional<CoordinateRatio> Resizing::ratio(const ResizeAxis& axis) const {
  if (interpolation != Interpolation::linear || antialias || axis.scale) return std::nullopt;
  return exact_ratio(axis);
}

std::optional<CoordinateRatio> Resizing::linear_coordinates(const ResizeAxis& axis) const {
  if (!has_phases(axis)) return ratio(axis);
  if (axis.input == Dim(1)) return CoordinateRatio{};
  if (coordinates == CoordinateMode::asymmetric) return CoordinateRatio{axis.down, 0, axis.up};
  return CoordinateRatio{2 * axis.down, axis.down - axis.up, 2 * axis.up};
}

bool Resizing::has_linear_coordinates() const {
  return std::all_of(axes.begin(), axes.end(), [&](const ResizeAxis& axis) {
    return is_identity(axis) || has_phases(axis) || ratio(axis).has_value();
  });
}

std::optional<CoordinateRatio> Resizing::nearest_ratio(const ResizeAxis& axis) const {
  if (interpolation != Interpolation::nearest) return std::nullopt;
  std::optional<CoordinateRatio> found = exact_ratio(axis);
  if (!found) return std::nullopt;
  const CoordinateRatio at = *found;
  const bool rounds = nearest == NearestMode::round_prefer_floor || nearest == NearestMode::round_prefer_ceil;
  const bool rounds_up =
      nearest == NearestMode::ceil || (nearest == NearestMode::simple && axis.scale && *axis.scale < 1);
  // Half of the divisor is added, or just less; or just less than all of it.
  if (rounds) {
    const int64_t half = nearest == NearestMode::round_prefer_ceil ? at.divisor : at.divisor - 1;
    found = CoordinateRatio{2 * at.step, 2 * at.offset + half, 2 * at.divisor};
  } else if (rounds_up) {
    found->offset += at.divisor - 1;
  }
  const int64_t common = std::gcd(found->step, found->divisor);
  const auto quotient = [](int64_t a, int64_t b) { return floor_div(Dim(a), Dim(b)).value(); };
  found = CoordinateRatio{found->step / common, quotient(found->offset, common), found->divisor / common};

  Builder b("indices");
  const auto index = [&](const Indices& i) {
    return nearest_index(b, *this, axis, original_coordinate(b, *this, axis, {}, i[0]));
  };
  b.output(b.map({axis.output}, index));
  const Tensor indices = evaluate(b.finish(), {})[0];
  const int64_t last = axis.input.value() - 1;
  for (int64_t x = 0; x < indices.size(); ++x) {
    const int64_t here = quotient(found->step * x + found->offset, found->divisor);
    if (indices.get_int(x) != std::clamp<int64_t>(here, 0, last)) return std::nullopt;
  }
  return found;
}

std::optional<CoordinateRatio> Resizing::exact_ratio(const ResizeAxis& axis) const {
  const auto input = axis.input.constant(), output = axis.output.constant();
  constexpr int64_t largest = 1 << 22;  // of numerators and divisors
  if (!input || !output || *input < 1 || *output < 1 || *input * 2 > largest / *output) return std::nullopt;
  CoordinateRatio ratio;
  switch (coordinates) {
    case CoordinateMode::pytorch_half_pixel:
      if (*output == 1) return ratio;
      [[fallthrough]];
    case CoordinateMode::half_pixel:
    case CoordinateMode::half_pixel_symmetric:
      ratio = {2 * *input, *input - *output, 2 * *output};
      break;
    case CoordinateMode::asymmetric:
      ratio = {*input, 0, *output};
      break;
    case CoordinateMode::tf_half_pixel_for_nn:
      ratio = {2 * *input, *input, 2 * *output};
      break;
    case CoordinateMode::align_corners:
      if (*output == 1) return ratio;
      ratio = {*input - 1, 0, *output - 1};
      break;
    case CoordinateMode::tf_crop_and_resize:
      return std::nullopt;
  }
  const int64_t common = std::gcd(std::gcd(ratio.step, ratio.offset), ratio.divisor);
  return CoordinateRatio{ratio.step / common, ratio.offset / common, ratio.divisor / common};
}

Dims Resizing::result() const {
  Dims dims;
  for (const ResizeAxis& axis : axes) dims.push_back(axis.output);
  return dims;
}

namespace {

template <typename T, size_t n>
T choice(const OperatorContext& context, std::string_view name, std::string_view otherwise,
         const std::array<std::pair<std::string_view, T>, n>& options) {
  const std::string value = context.string(name, otherwise);
  for (const auto& [text, option] : options) {
    if (text == value) return option;
  }
  context.fail(fmt::format("attribute '{}' may not be '{}'", name, value));
}

Interpolation interpolation_of(const OperatorContext& context) {
  constexpr std::array<std::pair<std::string_view, Interpolation>, 4> modes = {
      {{"nearest", Interpolation::nearest},
       {"linear", Interpolation::linear},
       {"bilinear", Interpolation::linear},
       {"cubic", Interpolation::cubic}}};
  return choice(context, "mode", "nearest", modes);
}

/// floor(size * factor) in f32, as the specification's formula is evaluated everywhere; exact Dims for
/// symbolic sizes where f32 is exact as well.
Dim scaled_size(const OperatorContext& context, const Dim& size, double factor) {
  constexpr double limit = 1e12;
  if (size.is_constant()) {
    const float product = static_cast<float>(size.value()) * static_cast<float>(factor);
    context.check(product >= 0 && product < limit, fmt::format("a scale of {} is out of range", factor));
    return {static_cast<int64_t>(std::floor(product))};
  }
  constexpr int64_t largest = 1 << 16;
  for (int64_t divisor = 1; divisor <= largest; divisor *= 2) {
    const double numerator = factor * static_cast<double>(divisor);
    if (numerator > static_cast<double>(largest)) break;
    if (numerator == std::floor(numerator)) {
      return floor_div(size * Dim(static_cast<int64_t>(numerator)), Dim(divisor));
    }
  }
  throw NotYetKnown{fmt::format("{} times {}", size.to_string(), factor)};
}

/// Exporters write the ratio of two sizes as the nearest f32: between points, where nothing hangs on the last
/// bit, that is the ratio itself.
void recognise_ratio(const Resizing& resizing, ResizeAxis& axis) {
  const auto input = axis.input.constant(), output = axis.output.constant();
  if (!axis.scale || resizing.interpolation == Interpolation::nearest || resizing.crops()) return;
  if (!input || !output || *input < 1 || *output < 1) return;
  const double ratio = static_cast<double>(*output) / static_cast<double>(*input);
  if (*axis.scale == static_cast<double>(static_cast<float>(ratio))) axis.scale.reset();
}

void set_factor(ResizeAxis& axis) {
  const bool known = axis.input.is_constant() && axis.output.is_constant() && axis.input.value() > 0 &&
                     axis.output.value() > 0;
  if (axis.input == axis.output) axis.factor = 1;
  if (axis.scale && *axis.scale >= 1 && *axis.scale == std::floor(*axis.scale) && *axis.scale < 1e6) {
    axis.factor = static_cast<int64_t>(*axis.scale);
  } else if (axis.scale) {
    axis.factor = 0;
  } else if (known && axis.output.value() % axis.input.value() == 0) {
    axis.factor = axis.output.value() / axis.input.value();
  }
  constexpr int64_t most_phases = 8;
  if (axis.factor > 0) {
    if (axis.factor <= most_phases) axis.up = axis.factor;
  } else if (known) {
    const int64_t both = std::gcd(axis.input.value(), axis.output.value());
    const int64_t up = axis.output.value() / both, down = axis.input.value() / both;
    const bool exact = !axis.scale || *axis.scale * static_cast<double>(down) == static_cast<double>(up);
    if (exact && up <= most_phases) {
      axis.up = up;
      axis.down = down;
    }
  }
}

/// How often the input stands in the output along an axis of named sizes, for the sizes at hand and all that
/// keep to what is noted of them; 0 where nobody knows.
int64_t multiple_at_hand(const OperatorContext& context, const ResizeAxis& axis) {
  const Consulted* const consulted = context.consulted();
  if (consulted == nullptr || consulted->sizes == nullptr) return 0;
  const auto input = consulted->sizes->value(axis.input), output = consulted->sizes->value(axis.output);
  if (!input || !output || *input < 1 || *output < *input || *output % *input != 0) return 0;
  const int64_t factor = *output / *input;
  return context.equal(axis.output, Dim(factor) * axis.input) ? factor : 0;
}

/// Named sizes stay open where an axis is repeated or interpolated by the same phases at all of them.
/// Everything else is decided by numbers: those at hand, which the sizes have to have from then on.
void settle_named_sizes(const OperatorContext& context, const Resizing& resizing, ResizeAxis& axis) {
  const Consulted* const consulted = context.consulted();
  if (axis.input.is_constant() && axis.output.is_constant()) return;
  if (consulted == nullptr || consulted->sizes == nullptr) return;
  const bool is_plain = resizing.interpolation != Interpolation::cubic && !resizing.antialias &&
                        !resizing.crops() && axis.region < 0;
  // What has one element is a case of its own.
  const bool several = is_plain && !context.is_one(axis.input) && !context.is_one(axis.output);
  if (several && !axis.scale && axis.factor == 0) {
    axis.factor = multiple_at_hand(context, axis);
    set_factor(axis);
  }
  if (several && (resizing.is_identity(axis) || resizing.repeats(axis) || resizing.has_phases(axis))) return;
  axis.input = Dim(context.fixed(axis.input));
  axis.output = Dim(context.fixed(axis.output));
  axis.factor = axis.up = 0;
}

void check_axis(const OperatorContext& context, const ResizeAxis& axis) {
  const bool from_nothing = axis.input.is_constant() && axis.input.value() == 0 &&
                            axis.output.is_constant() && axis.output.value() > 0;
  context.check(!from_nothing, "an empty dimension cannot be resized");
  context.check(context.may_be_at_least(axis.output, 0), "an output size is negative");
}

std::vector<double> scales_of(const OperatorContext& context, int k, size_t count) {
  const Tensor& values = context.constant(k);
  context.check(is_float(values.type()), "scales must be floats");
  if (values.rank() != 1 || values.size() != static_cast<int64_t>(count)) {
    context.fail(fmt::format("scales has shape {}, not [{}]", to_string(values.shape()), count));
  }
  std::vector<double> scales;
  for (size_t d = 0; d < count; ++d) scales.push_back(values.get_real(static_cast<int64_t>(d)));
  return scales;
}

void check_scale(const OperatorContext& context, double scale) {
  context.check(std::isfinite(scale) && scale > 0, fmt::format("a scale may not be {}", scale));
}

/// Whether input k is there and not the empty tensor that stands for an absent one.
bool has_values(const OperatorContext& context, int k) {
  if (!context.has(k)) return false;
  const Dims& dims = context.dims(k);
  return dims.size() != 1 || !context.equal(dims[0], Dim(0));
}

/// Sizes as given, or shrunk or grown to keep the aspect ratio.
void set_sizes(const OperatorContext& context, Resizing& resizing, const std::vector<int>& axes) {
  const Dims sizes = context.elements(3);
  if (sizes.size() != axes.size()) {
    context.fail(fmt::format("sizes has {} entries, not {}", sizes.size(), axes.size()));
  }
  const std::string policy = context.string("keep_aspect_ratio_policy", "stretch");
  const auto at = [&](size_t k) -> ResizeAxis& { return resizing.axes[static_cast<size_t>(axes[k])]; };
  if (policy == "stretch") {
    for (size_t k = 0; k < axes.size(); ++k) at(k).output = sizes[k];
    return;
  }
  context.check(policy == "not_larger" || policy == "not_smaller",
                "attribute 'keep_aspect_ratio_policy' may not be '" + policy + "'");
  std::optional<double> scale;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t input = context.fixed(at(k).input);
    context.check(input > 0, "an empty dimension has no aspect ratio");
    const double ratio = static_cast<double>(context.fixed(sizes[k])) / static_cast<double>(input);
    scale = !scale ? ratio : policy == "not_larger" ? std::min(*scale, ratio) : std::max(*scale, ratio);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    const double exact = *scale * static_cast<double>(at(k).input.value());
    context.check(*scale > 0 && exact < 1e12, "an output size is out of range");
    at(k).scale = scale;
    at(k).output = Dim(static_cast<int64_t>(std::floor(exact + 0.5)));
  }
}

/// floor(size * scale), whatever the region of a crop is: shape inference of ONNX and runtimes agree on that,
/// although the text has the region's extent as a factor.
void set_scales(const OperatorContext& context, Resizing& resizing, const std::vector<int>& axes) {
  const std::vector<double> scales = scales_of(context, 2, axes.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    ResizeAxis& axis = resizing.axes[static_cast<size_t>(axes[k])];
    check_scale(context, scales[k]);
    axis.scale = scales[k];
    axis.output = scaled_size(context, axis.input, scales[k]);
  }
}

}  // namespace

Resizing resizing_of(const OperatorContext& context) {
  constexpr std::array<std::pair<std::string_view, CoordinateMode>, 7> coordinate_modes = {
      {{"half_pixel", CoordinateMode::half_pixel},
       {"half_pixel_symmetric", CoordinateMode::half_pixel_symmetric},
       {"pytorch_half_pixel", CoordinateMode::pytorch_half_pixel},
       {"align_corners", CoordinateMode::align_corners},
       {"asymmetric", CoordinateMode::asymmetric},
       {"tf_half_pixel_for_nn", CoordinateMode::tf_half_pixel_for_nn},
       {"tf_crop_and_resize", CoordinateMode::tf_crop_and_resize}}};
  constexpr std::array<std::pair<std::string_view, NearestMode>, 4> nearest_modes = {
      {{"round_prefer_floor", NearestMode::round_prefer_floor},
       {"round_prefer_ceil", NearestMode::round_prefer_ceil},
       {"floor", NearestMode::floor},
       {"ceil", NearestMode::ceil}}};
  Resizing resizing;
  resizing.interpolation = interpolation_of(context);
  resizing.coordinates = choice(context, "coordinate_transformation_mode", "half_pixel", coordinate_modes);
  resizing.nearest = choice(context, "nearest_mode", "round_prefer_floor", nearest_modes);
  resizing.cubic_coefficient = context.real("cubic_coeff_a", -0.75);
  resizing.exclude_outside = context.integer("exclude_outside", 0) != 0;
  resizing.extrapolation_value = context.real("extrapolation_value", 0);
  resizing.antialias = context.integer("antialias", 0) != 0;
  context.check(!resizing.antialias || resizing.interpolation != Interpolation::nearest,
                "antialias needs linear or cubic interpolation");

  const Dims& dims = context.dims(0);
  const int rank = static_cast<int>(dims.size());
  std::vector<int> axes;
  if (context.has_attribute("axes")) {
    axes = context.axes(context.integers("axes"), rank);
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (const Dim& dim : dims) resizing.axes.push_back({dim, dim, {}, -1, 0});
  if (resizing.crops()) {
    context.check(has_values(context, 1), "tf_crop_and_resize needs roi");
    resizing.regions = static_cast<int>(axes.size());
    if (context.rank(1) != 1 || !context.equal(context.dims(1)[0], Dim(2 * resizing.regions))) {
      context.fail(
          fmt::format("roi has shape {}, not [{}]", to_string(context.dims(1)), 2 * resizing.regions));
    }
    for (size_t k = 0; k < axes.size(); ++k) {
      ResizeAxis& axis = resizing.axes[static_cast<size_t>(axes[k])];
      axis.region = static_cast<int>(k);
    }
  }
  const bool scaled = has_values(context, 2);
  const bool sized = has_values(context, 3);
  context.check(scaled != sized, "exactly one of scales and sizes must be given");
  if (scaled) {
    set_scales(context, resizing, axes);
  } else {
    set_sizes(context, resizing, axes);
  }
  for (ResizeAxis& axis : resizing.axes) {
    check_axis(context, axis);
    set_factor(axis);
    settle_named_sizes(context, resizing, axis);
    recognise_ratio(resizing, axis);
    set_factor(axis);
  }
  return resizing;
}

Resizing simple_resizing_of(const OperatorContext& context) {
  Resizing resizing;
  resizing.interpolation = interpolation_of(context);
  context.check(resizing.interpolation != Interpolation::cubic, "attribute 'mode' may not be 'cubic'");
  resizing.coordinates = CoordinateMode::asymmetric;
  resizing.nearest = NearestMode::simple;
  const Dims& dims = context.dims(0);
  std::vector<double> scales;
  if (context.node().op == "Upsample" && context.version() < 7) {
    context.check(dims.size() == 4, "the input must have rank 4");
    scales = {1, 1, context.real("height_scale", 0), context.real("width_scale", 0)};
  } else if (context.node().op == "Upsample" && context.version() < 9) {
    scales = context.reals("scales");
    if (scales.size() != dims.size()) {
      context.fail(fmt::format("attribute 'scales' has {} entries for an input of rank {}", scales.size(),
                               dims.size()));
    }
  } else {
    scales = scales_of(context, 1, dims.size());
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    check_scale(context, scales[d]);
    resizing.axes.push_back({dims[d], scaled_size(context, dims[d], scales[d]), scales[d], -1, 0});
    ResizeAxis& axis = resizing.axes.back();
    check_axis(context, axis);
    set_factor(axis);
    settle_named_sizes(context, resizing, axis);
    recognise_ratio(resizing, axis);
    set_factor(axis);
  }
  return resizing;
}

namespace {

void define(const OperatorContext& context, Builder& b, const Resizing& resizing) {
  const TensorRef x = operand(b, context, 0);
  TensorRef roi;
  if (resizing.crops()) roi = real_operand(b, context, 1);
  if (resizing.interpolation == Interpolation::nearest) return define_resize_nearest(b, resizing, x, roi);
  require_type(context, 0, TypeClass::number);
  define_resize_filtered(context, b, resizing, x, roi);
}

void define_resize(const OperatorContext& context, Builder& b) { define(context, b, resizing_of(context)); }

void define_simple_resize(const OperatorContext& context, Builder& b) {
  define(context, b, simple_resizing_of(context));
}

}  // namespace

void resize_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "Upsample", 1, define_simple_resize},
                                {"", "Resize", 10, define_simple_resize},
                                {"", "Resize", 11, define_resize},
                            });
  grid_operators(table);
}

}  // namespace axrun::ir
