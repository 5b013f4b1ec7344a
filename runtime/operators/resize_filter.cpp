// Interpolation along one dimension after the other, plane by plane: every point of a dimension is a weighted
// sum of a few points of the original one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/ops/resize.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/operators/resize_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Taps of every point of one dimension.
struct TapTable {
  std::vector<int64_t> indices;  ///< [out][taps], inside the original dimension
  std::vector<float> weights;    ///< [out][taps]
  std::vector<uint8_t> outside;  ///< [out]: gets the extrapolation value; empty: none does
};

/// One resized dimension, and where it stands: [outer][in][inner] becomes [outer][out][inner].
struct FilteredAxis {
  int64_t in = 0, out = 0, taps = 2;
  int64_t outer = 1, inner = 1;  ///< within a plane, when this axis' turn comes
  int64_t finished_inner = 1;    ///< when all have had theirs
  int region = -1;               ///< entry of roi that holds the start, where only the run knows it
  int regions = 0;
  size_t dimension = 0;  ///< of the input
  std::optional<ir::CoordinateRatio>
      phases;  ///< exact coordinates, at all sizes of which output / input = up / down
  int64_t up = 0, down = 1;
  TapTable table;
};

ir::OperatorContext operator_context(const StepContext& context) {
  std::vector<ir::OperandInfo> operands;
  for (const StepPort& port : context.inputs) {
    ir::OperandInfo info;
    info.present = port.present;
    info.type = port.type;
    if (port.present) info.dims = ir::to_dims(port.shape);
    info.constant = port.constant;
    operands.push_back(info);
  }
  return {context.node, std::move(operands)};
}

/// Original coordinates of an axis, and the filter's weights [out][taps], by the definition's own formulas.
std::vector<ir::Tensor> evaluate_axis(const ir::Resizing& resizing, const ir::ResizeAxis& axis,
                                      const ir::Filter& filter, const ir::Tensor* roi) {
  ir::Builder b("axis");
  ir::TensorRef regions;
  if (roi != nullptr) regions = b.operand(0, roi->type(), ir::to_dims(roi->shape()));
  b.output(b.map({axis.output}, [&](const ir::Indices& i) {
    return ir::original_coordinate(b, resizing, axis, regions, i[0]);
  }));
  b.output(b.map({axis.output, ir::Dim(filter.count)}, [&](const ir::Indices& i) {
    const ir::Scalar coordinate = ir::original_coordinate(b, resizing, axis, regions, i[0]);
    return ir::filter_weight(b, resizing, filter, coordinate, i[1]);
  }));
  std::vector<ir::Tensor> operands;
  if (roi != nullptr) operands.push_back(*roi);
  return ir::evaluate(b.finish(), operands);
}

/// Indices and weights from coordinates and raw weights.
void fill_table(const ir::Resizing& resizing, const ir::Filter& filter, const ir::Tensor& coordinates,
                const ir::Tensor& weights, FilteredAxis& axis) {
  TapTable& table = axis.table;
  table.indices.clear();
  table.weights.clear();
  table.outside.clear();
  for (int64_t j = 0; j < axis.out; ++j) {
    const double coordinate = coordinates.get_real(j);
    const auto floor = static_cast<int64_t>(std::floor(std::clamp(coordinate, -1e15, 1e15)));
    double total = 0;
    std::vector<double> row;
    for (int64_t t = 0; t < axis.taps; ++t) {
      const int64_t index = floor + filter.first + t;
      const bool inside = index >= 0 && index < axis.in;
      row.push_back(resizing.exclude_outside && !inside ? 0 : weights.get_real(j * axis.taps + t));
      total += row.back();
      table.indices.push_back(std::clamp<int64_t>(index, 0, axis.in - 1));
    }
    const double divisor = resizing.exclude_outside || resizing.antialias ? total : 1;
    for (double weight : row) table.weights.push_back(static_cast<float>(weight / divisor));
    if (resizing.crops()) {
      table.outside.push_back(coordinate < 0 || coordinate > static_cast<double>(axis.in - 1));
    }
  }
}

/// Linear interpolation at exact coordinates: of an axis with whole ones each point is an element.
void fill_exact(const ir::CoordinateRatio& at, FilteredAxis& axis) {
  TapTable& table = axis.table;
  table = {};
  const bool whole = at.step % at.divisor == 0 && at.offset % at.divisor == 0;
  axis.taps = whole ? 1 : 2;
  for (int64_t j = 0; j < axis.out; ++j) {
    const int64_t numerator = at.step * j + at.offset;
    const int64_t rest = (numerator % at.divisor + at.divisor) % at.divisor;
    const int64_t below = (numerator - rest) / at.divisor;
    const float fraction = static_cast<float>(rest) / static_cast<float>(at.divisor);
    for (int64_t t = 0; t < axis.taps; ++t) {
      table.indices.push_back(std::clamp<int64_t>(below + t, 0, axis.in - 1));
      table.weights.push_back(t == 0 ? 1.0f - fraction : fraction);
    }
  }
}

/// tf_crop_and_resize with a region that only the run knows: linear interpolation, every step of the
/// coordinate rounded to float32 as in the definition.
void fill_cropped(float start, float end, const FilteredAxis& axis, int64_t* indices, float* weights,
                  uint8_t* outside) {
  const auto last = static_cast<float>(axis.in - 1);
  for (int64_t j = 0; j < axis.out; ++j) {
    float coordinate = 0.5f * (start + end) * last;
    if (axis.out > 1) {
      const float spread = static_cast<float>(j) * (end - start) * last / static_cast<float>(axis.out - 1);
      coordinate = start * last + spread;
    }
    outside[j] = !(coordinate >= 0 && coordinate <= last);
    const float at = outside[j] != 0 ? 0.0f : coordinate;
    const float below = std::floor(at);
    indices[2 * j] = static_cast<int64_t>(below);
    indices[2 * j + 1] = std::min<int64_t>(indices[2 * j] + 1, axis.in - 1);
    weights[2 * j + 1] = at - below;
    weights[2 * j] = 1.0f - weights[2 * j + 1];
  }
}

/// Taps as a run uses them.
struct TapView {
  const int64_t* indices;
  const float* weights;
  const uint8_t* outside;
  bool identity;  ///< every point is its own tap
};

/// Whether a cropped region turned out to be the whole axis, point for point.
bool is_identity(const FilteredAxis& axis, const int64_t* indices, const float* weights) {
  if (axis.in != axis.out) return false;
  for (int64_t j = 0; j < axis.out; ++j) {
    if (indices[2 * j] != j || weights[2 * j] != 1.0f) return false;
  }
  return true;
}

/// y[outer][out][inner] from x[outer][in][inner].
void apply(const FilteredAxis& axis, const TapView& view, const float* x, float* y) {
  const int64_t taps = axis.taps;
  for (int64_t o = 0; o < axis.outer; ++o) {
    const float* from = x + o * axis.in * axis.inner;
    float* to = y + o * axis.out * axis.inner;
    if (axis.inner == 1) {
      for (int64_t j = 0; j < axis.out; ++j) {
        const int64_t* index = view.indices + j * taps;
        const float* weight = view.weights + j * taps;
        float sum = weight[0] * from[index[0]];
        for (int64_t t = 1; t < taps; ++t) sum += weight[t] * from[index[t]];
        to[j] = sum;
      }
      continue;
    }
    for (int64_t j = 0; j < axis.out; ++j) {
      float* row = to + j * axis.inner;
      const float* first = from + view.indices[j * taps] * axis.inner;
      const float first_weight = view.weights[j * taps];
      if (taps == 2) {
        const float* second = from + view.indices[2 * j + 1] * axis.inner;
        const float second_weight = view.weights[2 * j + 1];
        for (int64_t i = 0; i < axis.inner; ++i) row[i] = first_weight * first[i] + second_weight * second[i];
        continue;
      }
      for (int64_t i = 0; i < axis.inner; ++i) row[i] = first_weight * first[i];
      for (int64_t t = 1; t < taps; ++t) {
        const float* next = from + view.indices[j * taps + t] * axis.inner;
        const float weight = view.weights[j * taps + t];
        for (int64_t i = 0; i < axis.inner; ++i) row[i] += weight * next[i];
      }
    }
  }
}

/// The axes in the order in which they are applied (those that shrink first), with their places in a plane,
/// which begins at dimension `first` of the input.
template <typename Dims>
void order_axes(std::vector<FilteredAxis>& axes, const Dims& x, size_t first) {
  // Later dimensions first where the growth is the same: rows are then whole when they are blended.
  std::sort(axes.begin(), axes.end(), [](const FilteredAxis& a, const FilteredAxis& b) {
    const double growth_a = static_cast<double>(a.out) / static_cast<double>(a.in);
    const double growth_b = static_cast<double>(b.out) / static_cast<double>(b.in);
    return growth_a != growth_b ? growth_a < growth_b : a.dimension > b.dimension;
  });
  ir::Shape plane(x.begin() + static_cast<std::ptrdiff_t>(first), x.end());
  for (FilteredAxis& axis : axes) {
    const size_t at = axis.dimension - first;
    axis.outer = axis.inner = axis.finished_inner = 1;
    for (size_t d = 0; d < plane.size(); ++d) {
      if (d < at) axis.outer *= plane[d];
      if (d > at) axis.inner *= plane[d];
    }
    plane[at] = axis.out;
  }
  for (FilteredAxis& axis : axes) {
    for (size_t d = axis.dimension - first + 1; d < plane.size(); ++d) axis.finished_inner *= plane[d];
  }
}

class FilteredResizeKernel final : public Kernel {
 public:
  FilteredResizeKernel(const StepContext& context, std::vector<FilteredAxis> axes, float value)
      : axes_(std::move(axes)), value_(value), threads_(context.threads) {
    size(extents_of(context.inputs[0].shape), extents_of(context.outputs[0].shape));
    roi_is_double_ = context.has_input(1) && context.inputs[1].type == ElementType::f64;
  }

  void size(const Extents& x, const Extents& y) {
    size_t first = x.size();
    for (const FilteredAxis& axis : axes_) first = std::min(first, axis.dimension);
    order_axes(axes_, x, first);
    planes_ = x.count(0, first);
    in_plane_ = x.count(first, x.size());
    out_plane_ = y.count(first, y.size());
    widest_ = 0;
    table_bytes_ = 0;
    int64_t size = in_plane_;
    for (FilteredAxis& axis : axes_) {
      size = size / axis.in * axis.out;
      widest_ = std::max(widest_, size);
      if (axis.region >= 0) table_bytes_ += table_bytes(axis);
      any_outside_ = any_outside_ || axis.region >= 0 || !axis.table.outside.empty();
    }
    widest_ = (widest_ + 15) / 16 * 16;
  }

  void run(const KernelCall& call) const override {
    TapView views[most_axes];
    char* next = static_cast<char*>(call.scratch);
    for (size_t k = 0; k < axes_.size(); ++k) {
      const FilteredAxis& axis = axes_[k];
      views[k] = {axis.table.indices.data(), axis.table.weights.data(),
                  axis.table.outside.empty() ? nullptr : axis.table.outside.data(), false};
      if (axis.region < 0) continue;
      auto* indices = reinterpret_cast<int64_t*>(next);
      auto* weights = reinterpret_cast<float*>(indices + 2 * axis.out);
      auto* outside = reinterpret_cast<uint8_t*>(weights + 2 * axis.out);
      fill_cropped(roi(call, axis.region), roi(call, axis.region + axis.regions), axis, indices, weights,
                   outside);
      views[k] = {indices, weights, outside, is_identity(axis, indices, weights)};
      next += table_bytes(axis);
    }
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(out_plane_, 1));
    call.pool.parallel_for_workers(planes_, grain, [&](int64_t worker, int64_t begin, int64_t end) {
      float* scratch = nullptr;
      if (axes_.size() > 1) {
        scratch =
            reinterpret_cast<float*>(static_cast<char*>(call.scratch) + table_bytes_) + worker * 2 * widest_;
      }
      for (int64_t p = begin; p < end; ++p) run_plane(views, x + p * in_plane_, y + p * out_plane_, scratch);
    });
  }
  std::string describe() const override {
    return fmt::format("interpolate {} planes of {} to {}", planes_, in_plane_, out_plane_);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    for (size_t k = 1; k < ports.inputs(); ++k)
      if (ports.is_told(k)) return nullptr;
    const Extents x = ports.input(0), y = ports.output(0);
    if (y.count() == 0) return nullptr;
    auto other = make_in_block<FilteredResizeKernel>(*this);
    size_t kept = 0;
    for (size_t d = 0; d < x.size(); ++d) kept += x[d] == y[d] ? 1 : 0;
    if (kept + axes_.size() != x.size()) return nullptr;
    for (FilteredAxis& axis : other->axes_) {
      const int64_t in = x[axis.dimension], out = y[axis.dimension];
      if (in == axis.in && out == axis.out) continue;
      // A single element, or point, has coordinates of its own.
      if (!axis.phases || in == out || in == 1 || out == 1 || in * axis.up != out * axis.down) return nullptr;
      axis.in = in;
      axis.out = out;
      fill_exact(*axis.phases, axis);
    }
    other->size(x, y);
    return other;
  }
  size_t scratch_bytes() const override {
    const int64_t floats = axes_.size() > 1 ? 2 * widest_ * threads_ : 0;
    return table_bytes_ + static_cast<size_t>(floats) * sizeof(float);
  }

  static constexpr size_t most_axes = 8;

 private:
  static size_t table_bytes(const FilteredAxis& axis) {
    return static_cast<size_t>((axis.out * (2 * 8 + 2 * 4 + 1) + 63) / 64 * 64);
  }
  float roi(const KernelCall& call, int at) const {
    if (roi_is_double_) return static_cast<float>(static_cast<const double*>(call.inputs[1])[at]);
    return static_cast<const float*>(call.inputs[1])[at];
  }

  void run_plane(const TapView* views, const float* x, float* y, float* scratch) const {
    size_t last = axes_.size();
    while (last > 0 && views[last - 1].identity) --last;
    if (last == 0) std::copy_n(x, out_plane_, y);
    const float* from = x;
    int64_t half = 0;
    for (size_t k = 0; k < last; ++k) {
      if (views[k].identity) continue;
      float* to = k + 1 == last ? y : scratch + half * widest_;
      apply(axes_[k], views[k], from, to);
      from = to;
      half = 1 - half;
    }
    if (!any_outside_) return;
    for (size_t k = 0; k < axes_.size(); ++k) {
      const FilteredAxis& axis = axes_[k];
      if (views[k].outside == nullptr) continue;
      const int64_t block = axis.finished_inner;
      for (int64_t o = 0; o < out_plane_ / (axis.out * block); ++o) {
        for (int64_t j = 0; j < axis.out; ++j) {
          if (views[k].outside[j] != 0) std::fill_n(y + (o * axis.out + j) * block, block, value_);
        }
      }
    }
  }

  std::vector<FilteredAxis> axes_;
  int64_t planes_ = 0;
  float value_;
  int threads_;
  int64_t in_plane_ = 0, out_plane_ = 0, widest_ = 0;
  size_t table_bytes_ = 0;
  bool any_outside_ = false, roi_is_double_ = false;
};

std::unique_ptr<Kernel> make_checked(const StepContext& context) {
  const ir::OperatorContext definition = operator_context(context);
  const bool simple = context.node.op == "Upsample" || context.node.version < 11;
  const ir::Resizing resizing = simple ? ir::simple_resizing_of(definition) : ir::resizing_of(definition);
  if (resizing.interpolation == ir::Interpolation::nearest) return nullptr;
  const ir::Tensor* roi = resizing.crops() ? context.inputs[1].constant : nullptr;
  const bool late = resizing.crops() && roi == nullptr;
  const bool plain =
      resizing.interpolation == ir::Interpolation::linear && !resizing.antialias && !resizing.exclude_outside;
  if (late &&
      (!plain || (context.inputs[1].type != ElementType::f32 && context.inputs[1].type != ElementType::f64)))
    return nullptr;
  const bool exact = resizing.has_linear_coordinates();
  std::vector<FilteredAxis> axes;
  for (size_t d = 0; d < resizing.axes.size(); ++d) {
    const ir::ResizeAxis& given = resizing.axes[d];
    if (resizing.is_identity(given)) continue;
    FilteredAxis axis;
    axis.dimension = d;
    axis.in = given.input.value();
    axis.out = given.output.value();
    if (late && given.region >= 0) {
      axis.region = given.region;
      axis.regions = resizing.regions;
    } else if (exact) {
      const ir::CoordinateRatio at = *resizing.linear_coordinates(given);
      if (resizing.has_phases(given) && axis.in > 1 && axis.out > 1) {
        axis.phases = at;
        axis.up = given.up;
        axis.down = given.down;
      }
      fill_exact(at, axis);
    } else {
      const ir::Filter filter = ir::filter_of(definition, resizing, given);
      if (filter.count > 4096) return nullptr;
      axis.taps = filter.count;
      const auto values = evaluate_axis(resizing, given, filter, roi);
      fill_table(resizing, filter, values[0], values[1], axis);
    }
    axes.push_back(std::move(axis));
  }
  if (axes.empty() || axes.size() > FilteredResizeKernel::most_axes) return nullptr;
  return std::make_unique<FilteredResizeKernel>(context, std::move(axes),
                                                static_cast<float>(resizing.extrapolation_value));
}

}  // namespace

std::unique_ptr<Kernel> make_filtered_resize(const StepContext& context) {
  if (context.inputs[0].type != ElementType::f32 || context.inputs[0].shape.size() > Extents::most)
    return nullptr;
  try {
    return make_checked(context);
  } catch (const ir::NotYetKnown&) {
    return nullptr;
  }
}

}  // namespace axrun::runtime
