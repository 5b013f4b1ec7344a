// GridSample in two dimensions, float32: nearest and linear.
#include <cmath>
#include <limits>

#include "runtime/kernels/kernels.h"
#include "runtime/operators/resize_parts.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum class Outside : uint8_t { zeros, border, reflection };

/// One spatial dimension of the input, as ir/ops/grid_sample.cpp has it.
struct SampledAxis {
  int64_t size = 1;
  bool align_corners = false, nearest = false;
  Outside outside = Outside::zeros;

  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(size) - (align_corners ? 1.0 : 0.5); }

  double reflected(double position) const {
    const double range = high() - low();
    if (range == 0) return low();
    const double around = 2 * range;
    double phase = std::fmod(position - low(), around);
    if (phase < 0) phase += around;
    return low() + std::fmin(phase, around - phase);
  }

  /// The element position of a coordinate in -1..1, brought inside as asked. The nearest element is a
  /// decision: it is taken on values rounded as f32 arithmetic does.
  double position(float normalized) const {
    const auto step = [&](double x) { return nearest ? static_cast<double>(static_cast<float>(x)) : x; };
    const auto extent = static_cast<double>(size);
    const double shifted = step(static_cast<double>(normalized) + 1.0);
    double at = align_corners ? step(step(shifted * 0.5) * (extent - 1.0))
                              : step(step(step(shifted * extent) - 1.0) * 0.5);
    if (nearest) at = std::nearbyint(at);
    if (outside == Outside::zeros || (at >= low() && at <= high())) return at;
    if (outside == Outside::reflection) return reflected(at);
    return std::isnan(at) ? at : std::fmax(std::fmin(at, extent - 1.0), 0.0);
  }

  /// The element at a whole number; -1 where there is none. NaN is 0, as a cast makes it in the definition.
  int64_t element(double whole) const {
    if (std::isnan(whole)) whole = 0;
    const auto last = static_cast<double>(size - 1);
    if (outside == Outside::reflection) whole = reflected(whole);
    if (outside == Outside::border) whole = std::fmax(std::fmin(whole, last), 0.0);
    return whole >= 0 && whole <= last ? static_cast<int64_t>(whole) : -1;
  }
};

/// Where some points of a grid find their values, for all channels.
struct Taps {
  static constexpr int64_t block = 256;
  int count = 1;              ///< of a point
  int64_t element[4][block];  ///< of the plane; -1: zero
  float weight[4][block];
};

class GridSampleKernel final : public Kernel {
 public:
  GridSampleKernel(const ir::Shape& x, const ir::Shape& grid, const SampledAxis& axis)
      : batch_(x[0]), channels_(x[1]), points_(grid[1] * grid[2]), rows_(axis), columns_(axis) {
    rows_.size = x[2];
    columns_.size = x[3];
  }

  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    const auto* grid = static_cast<const float*>(call.inputs[1]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const int64_t plane = rows_.size * columns_.size;
    const int64_t blocks = (points_ + Taps::block - 1) / Taps::block;
    call.pool.parallel_for(batch_ * blocks, 1, [&](int64_t begin, int64_t end) {
      Taps taps;
      for (int64_t b = begin; b < end; ++b) {
        const int64_t n = b / blocks, first = b % blocks * Taps::block;
        const int64_t count = std::min(Taps::block, points_ - first);
        find(grid + 2 * (n * points_ + first), count, taps);
        for (int64_t c = n * channels_; c < (n + 1) * channels_; ++c) {
          sample(x + c * plane, taps, count, y + c * points_ + first);
        }
      }
    });
  }

  std::string describe() const override {
    return rows_.nearest ? "grid sample, nearest" : "grid sample, linear";
  }

 private:
  /// grid: pairs (column, row).
  void find(const float* grid, int64_t count, Taps& taps) const {
    taps.count = rows_.nearest ? 1 : 4;
    for (int64_t i = 0; i < count; ++i) {
      const double row = rows_.position(grid[2 * i + 1]), column = columns_.position(grid[2 * i]);
      if (rows_.nearest) {
        set(taps, 0, i, row, column, 1);
        continue;
      }
      const double row_floor = std::floor(row), column_floor = std::floor(column);
      for (int tap = 0; tap < 4; ++tap) {
        const double down = tap / 2, right = tap % 2;
        const double row_weight = 1 - std::fabs(row - row_floor - down);
        const double column_weight = 1 - std::fabs(column - column_floor - right);
        set(taps, tap, i, row_floor + down, column_floor + right,
            static_cast<float>(row_weight) * static_cast<float>(column_weight));
      }
    }
  }
  void set(Taps& taps, int tap, int64_t i, double row, double column, float weight) const {
    const int64_t r = rows_.element(row), c = columns_.element(column);
    taps.element[tap][i] = r < 0 || c < 0 ? -1 : r * columns_.size + c;
    taps.weight[tap][i] = weight;
  }

  static void sample(const float* plane, const Taps& taps, int64_t count, float* y) {
    for (int64_t i = 0; i < count; ++i) y[i] = 0;
    for (int tap = 0; tap < taps.count; ++tap) {
      const int64_t* element = taps.element[tap];
      const float* weight = taps.weight[tap];
      for (int64_t i = 0; i < count; ++i) {
        // An element outside counts as zero also where the weight is no number.
        y[i] += weight[i] * (element[i] < 0 ? 0.0F : plane[element[i]]);
      }
    }
  }

  int64_t batch_, channels_, points_;
  SampledAxis rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_grid_sample(const StepContext& context) {
  if (context.fused() || !context.has_output(0) || context.inputs[0].rank() != 4) return nullptr;
  for (size_t k = 0; k < 2; ++k) {
    if (!context.has_input(k) || context.inputs[k].type != ElementType::f32) return nullptr;
  }
  const ir::Shape& x = context.inputs[0].shape;
  if (context.outputs[0].count() == 0 || x[2] == 0 || x[3] == 0) return nullptr;
  SampledAxis axis;
  const std::string mode = context.string("mode", "bilinear"),
                    padding = context.string("padding_mode", "zeros");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear") return nullptr;
  axis.nearest = mode == "nearest";
  axis.align_corners = context.integer("align_corners", 0) != 0;
  if (padding == "border") axis.outside = Outside::border;
  if (padding == "reflection") axis.outside = Outside::reflection;
  return std::make_unique<GridSampleKernel>(x, context.inputs[1].shape, axis);
}

}  // namespace axrun::runtime
