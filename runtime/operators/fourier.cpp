// DFT and STFT, float32, by fast transforms in double: as exact as the sums that define them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// The signals of a DFT along axis `at`.
template <typename Dims>
FourierSignals signals_of(const Dims& x, const Dims& y, size_t at, int64_t length) {
  FourierSignals s;
  for (size_t d = 0; d < at; ++d) s.outer *= x[d];
  for (size_t d = at + 1; d + 1 < x.size(); ++d) s.inner *= x[d];
  const int64_t components = x.back(), results = y.back();
  s.points = std::min(x[at], results == 1 ? length / 2 + 1 : length);
  s.frequencies = y[at];
  s.read = {x[at] * s.inner * components, components, s.inner * components};
  s.made = {s.frequencies * s.inner * results, results, s.inner * results};
  return s;
}

/// The frames of an STFT, `step` points apart.
template <typename Dims>
FourierSignals frames_of(const Dims& x, const Dims& y, int64_t step, int64_t length) {
  FourierSignals s;
  s.outer = x[0];
  s.inner = y[1];
  s.points = length;
  s.frequencies = y[2];
  const int64_t components = x.size() == 3 ? x[2] : 1, results = y.back();
  s.read = {x[1] * components, step * components, components};
  s.made = {s.inner * s.frequencies * results, s.frequencies * results, results};
  return s;
}

/// Which of the two a kernel computes, of what.
struct FourierNode {
  bool frames = false;        ///< STFT
  bool window = false;        ///< input 2 has a factor for each point
  size_t axis = 0;            ///< of a DFT
  int64_t step = 0;           ///< between frames
  bool length_given = false;  ///< or it is that of the axis

  template <typename Dims>
  int64_t components(const Dims& x) const {
    return frames && x.size() < 3 ? 1 : x.back();
  }
  template <typename Dims>
  FourierSignals signals(const Dims& x, const Dims& y, int64_t length) const {
    return frames ? frames_of(x, y, step, length) : signals_of(x, y, axis, length);
  }
};

class FourierKernel final : public Kernel {
 public:
  FourierKernel(const FourierNode& node, std::shared_ptr<const FourierTransform> transform,
                const FourierSignals& signals, int threads)
      : node_(node), transform_(std::move(transform)), signals_(signals), threads_(threads) {}

  void run(const KernelCall& call) const override {
    fourier(*transform_, signals_, static_cast<const float*>(call.inputs[0]),
            node_.window ? static_cast<const float*>(call.inputs[2]) : nullptr,
            static_cast<float*>(call.outputs[0]), call.scratch, call.pool);
  }
  std::string describe() const override {
    return fmt::format("{}fourier {}x {}->{} of {}", transform_->inverse() ? "inverse " : "",
                       signals_.outer * signals_.inner, signals_.points, signals_.frequencies,
                       transform_->length());
  }
  size_t scratch_bytes() const override { return fourier_scratch_bytes(*transform_, signals_, threads_); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), y = ports.output(0);
    if (!node_.length_given || x.count() == 0 || y.count() == 0) return nullptr;
    for (size_t k = 1; k < ports.inputs(); ++k)
      if (ports.is_told(k)) return nullptr;
    if (node_.components(x) != transform_->components() || y.back() != transform_->results()) return nullptr;
    if (node_.window && ports.input(2).count() != transform_->length()) return nullptr;
    return make_in_block<FourierKernel>(node_, transform_, node_.signals(x, y, transform_->length()),
                                        threads_);
  }

 private:
  FourierNode node_;
  std::shared_ptr<const FourierTransform> transform_;
  FourierSignals signals_;
  int threads_;
};

bool reads_f32(const StepContext& context) {
  return !context.fused() && context.has_input(0) && context.inputs[0].type == ir::ElementType::f32 &&
         context.inputs[0].count() > 0 && context.outputs[0].count() > 0;
}

/// The number that an input holds, where it is constant; `otherwise` where there is none.
std::optional<int64_t> number(const StepContext& context, size_t k, int64_t otherwise) {
  if (!context.has_input(k)) return otherwise;
  const StepPort& port = context.inputs[k];
  if (port.constant == nullptr || port.count() != 1) return std::nullopt;
  return port.constant->get_int(0);
}

std::unique_ptr<Kernel> make_of(const StepContext& context, const FourierNode& node, int64_t length,
                                bool inverse) {
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  auto transform = std::make_shared<const FourierTransform>(length, inverse, node.components(x), y.back());
  return std::make_unique<FourierKernel>(node, std::move(transform), node.signals(x, y, length),
                                         context.threads);
}

std::unique_ptr<Kernel> make_dft(const StepContext& context) {
  if (!reads_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  const bool axis_is_input = context.node.version >= 20;
  const auto axis = axis_is_input ? number(context, 2, -2) : context.integer("axis", 1);
  if (!axis) return nullptr;
  const auto at = static_cast<size_t>(*axis < 0 ? *axis + static_cast<int64_t>(x.size()) : *axis);
  const bool to_real = y.back() == 1;
  const auto length = number(context, 1, to_real ? 2 * (x[at] - 1) : x[at]);
  if (!length || *length < 1) return nullptr;
  FourierNode node;
  node.axis = at;
  node.length_given = context.has_input(1);
  return make_of(context, node, *length, context.integer("inverse", 0) != 0);
}

std::unique_ptr<Kernel> make_stft(const StepContext& context) {
  if (!reads_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const bool window = context.has_input(2);
  const auto step = number(context, 1, 1);
  const auto length = number(context, 3, window ? context.inputs[2].count() : x[1]);
  if (!step || !length || *length < 1) return nullptr;
  if (window && (context.inputs[2].type != ir::ElementType::f32 || context.inputs[2].count() != *length))
    return nullptr;
  FourierNode node;
  node.frames = true;
  node.window = window;
  node.step = *step;
  node.length_given = window || context.has_input(3);
  return make_of(context, node, *length, false);
}

}  // namespace

void fourier_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "DFT", make_dft});
  table.push_back({"", "STFT", make_stft});
}

}  // namespace axrun::runtime
