// Conv and ConvTranspose over three spatial dims, float32, with what follows them: for every depth of the
// result a convolution over planes, whose channels are the planes that the taps along the depth read.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

class VolumeConvKernel final : public Kernel {
 public:
  VolumeConvKernel(const StepContext& context, PlainConvolution found, bool transposed)
      : form_(std::make_shared<const Form>(Form{found.form, std::move(found.plan)})),
        window_(found.window),
        transposed_(transposed),
        batch_(context.inputs[0].shape[0]),
        channels_(context.inputs[0].shape[1]),
        threads_(context.threads),
        bias_is_computed_(is_computed(context, 2)) {
    planes_.groups = context.integer("group", 1);
    planes_.out_channels = found.channels;
    set_height(planes_, window_, 1);
    set_width(planes_, window_, 2);
    find_phases();
    if (const ir::Tensor* weights = context.inputs[1].constant) {
      const jit::PreparedKey key{form(), {{weights->data(), weights->bytes()}}};
      weights_ = context.packs.get(key, packed_bytes_,
                                   [&](void* to) { pack(weights->as<float>(), static_cast<char*>(to)); });
    }
  }

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    const auto take = [&](size_t bytes) {
      char* const taken = scratch;
      scratch += rounded(bytes);
      return taken;
    };
    auto* const read = reinterpret_cast<float*>(take(read_bytes()));
    auto* const written = reinterpret_cast<float*>(take(written_bytes()));
    const char* packed = static_cast<const char*>(weights_.get());
    if (packed == nullptr) {  // weights that are computed: packed on every run
      char* const here = take(packed_bytes_);
      pack(static_cast<const float*>(call.inputs[1]), here);
      packed = here;
    }
    const Epilogue epilogue =
        epilogue_of(form_->plan, bias_is_computed_ ? static_cast<const float*>(call.inputs[2]) : nullptr);

    const int64_t depths = window_.out[0], plane = planes_.out_height * planes_.out_width;
    for (int64_t image = 0; image < batch_; ++image) {
      const auto* const x =
          static_cast<const float*>(call.inputs[0]) + image * channels_ * window_.in[0] * in_plane();
      auto* const y = static_cast<float*>(call.outputs[0]) + image * planes_.out_channels * depths * plane;
      for (int64_t depth = 0; depth < depths; ++depth) {
        const Phase& phase = phase_of(depth);
        gather(phase, x, depth, read, call.pool);
        float* const result = depths == 1 ? y : written;
        const auto* const weights = reinterpret_cast<const float*>(packed + phase.packed);
        if (transposed_)
          conv_transpose2d(phase.planes, weights, read, result, epilogue, scratch, call.pool);
        else
          conv2d(phase.method, phase.planes, weights, read, result, epilogue, scratch, call.pool);
        if (depths == 1) continue;
        call.pool.parallel_for(planes_.out_channels, 8, [&](int64_t begin, int64_t end) {
          for (int64_t channel = begin; channel < end; ++channel)
            std::copy_n(result + channel * plane, plane, y + (channel * depths + depth) * plane);
        });
      }
    }
  }

  std::string describe() const override {
    return fmt::format("conv {}of volumes {}x {}->{} {}x{}x{} k{}x{}x{}", transposed_ ? "transposed " : "",
                       batch_, channels_, planes_.out_channels, window_.out[0], window_.out[1],
                       window_.out[2], window_.kernel[0], window_.kernel[1], window_.kernel[2]);
  }
  size_t scratch_bytes() const override {
    size_t most = 0;
    for (const Phase& phase : phases_) {
      most = std::max(most, transposed_ ? conv_transpose_scratch_bytes(phase.planes, threads_)
                                        : conv_scratch_bytes(phase.method, phase.planes, threads_));
    }
    return rounded(read_bytes()) + rounded(written_bytes()) + (weights_ ? 0 : rounded(packed_bytes_)) + most;
  }
  bool ignores_input(int k) const override { return k == 1 && weights_ != nullptr; }
  double flops() const override {
    const double places = static_cast<double>((transposed_ ? window_.in : window_.out).count());
    return 2.0 * static_cast<double>(batch_ * planes_.out_channels) * places *
           static_cast<double>(channels_ / planes_.groups * window_.taps());
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto found = resized_convolution(ports, form_->window, form_->plan, channels_);
    if (!found) return nullptr;
    auto other = make_in_block<VolumeConvKernel>(*this);
    other->window_ = found->window;
    other->batch_ = found->x[0];
    for (Phase& phase : other->phases_) {
      set_height(phase.planes, found->window, 1);
      set_width(phase.planes, found->window, 2);
      // Weights are packed for a method.
      if (!transposed_ && choose_conv_method(phase.planes) != phase.method) return nullptr;
    }
    set_height(other->planes_, found->window, 1);
    set_width(other->planes_, found->window, 2);
    return other;
  }

 private:
  /// Depths of the result that the same taps reach: all of them, or, transposed, every so many.
  struct Phase {
    std::vector<int64_t> taps;
    ConvShape planes;
    ConvMethod method = ConvMethod::implicit_gemm;
    size_t packed = 0;  ///< bytes before its weights
  };

  void find_phases() {
    const int64_t stride = transposed_ ? window_.strides[0] : 1;
    for (int64_t rest = 0; rest < stride; ++rest) {
      Phase phase;
      for (int64_t tap = 0; tap < window_.kernel[0]; ++tap)
        if (floor_mod(rest - tap * window_.dilations[0], stride) == 0) phase.taps.push_back(tap);
      // Depths that no tap reaches: one whose planes are zeros.
      if (phase.taps.empty()) phase.taps.push_back(none);
      phase.planes = planes_;
      phase.planes.in_channels = channels_ * static_cast<int64_t>(phase.taps.size());
      if (!transposed_) phase.method = choose_conv_method(phase.planes);
      phase.packed = packed_bytes_;
      packed_bytes_ += rounded(transposed_ ? conv_transpose_packed_bytes(phase.planes)
                                           : conv_packed_bytes(phase.method, phase.planes));
      phases_.push_back(std::move(phase));
    }
  }
  const Phase& phase_of(int64_t depth) const {
    return phases_[static_cast<size_t>(
        transposed_ ? floor_mod(depth + window_.pads_begin[0], window_.strides[0]) : 0)];
  }
  /// The depth of the input that a tap reads for one of the result.
  int64_t source(int64_t depth, int64_t tap) const {
    if (tap == none) return none;
    if (!transposed_) return depth * window_.strides[0] + tap * window_.dilations[0] - window_.pads_begin[0];
    const int64_t from = depth + window_.pads_begin[0] - tap * window_.dilations[0];
    return from < 0 ? none : from / window_.strides[0];
  }

  /// What packed weights depend on, besides the weights.
  std::string form() const {
    return fmt::format("volumes {} {} {}->{} {}x{}x{} s{}x{}x{} d{}x{}x{}", transposed_,
                       static_cast<int>(phases_[0].method), planes_.groups * channels_, planes_.out_channels,
                       window_.kernel[0], window_.kernel[1], window_.kernel[2], window_.strides[0],
                       window_.strides[1], window_.strides[2], window_.dilations[0], window_.dilations[1],
                       window_.dilations[2]);
  }
  void pack(const float* weights, char* to) const {
    if (!transposed_)
      return conv_pack(phases_[0].method, phases_[0].planes, weights, reinterpret_cast<float*>(to));
    // Of [channels, channels of the result, depth, height, width]: for each phase its taps as channels.
    const int64_t results = planes_.out_channels / planes_.groups;
    const int64_t plane = window_.kernel[1] * window_.kernel[2];
    std::vector<float> part;
    for (const Phase& phase : phases_) {
      part.clear();
      for (int64_t channel = 0; channel < channels_; ++channel) {
        for (const int64_t tap : phase.taps) {
          for (int64_t result = 0; result < results; ++result) {
            const int64_t at = ((channel * results + result) * window_.kernel[0] + tap) * plane;
            if (tap == none)
              part.insert(part.end(), static_cast<size_t>(plane), 0.0f);
            else
              part.insert(part.end(), weights + at, weights + at + plane);
          }
        }
      }
      conv_transpose_pack(phase.planes, part.data(), reinterpret_cast<float*>(to + phase.packed));
    }
  }

  int64_t in_plane() const { return planes_.in_height * planes_.in_width; }
  size_t read_bytes() const {
    int64_t most = 0;
    for (const Phase& phase : phases_) most = std::max(most, phase.planes.in_channels);
    return static_cast<size_t>(most * in_plane()) * sizeof(float);
  }
  size_t written_bytes() const {
    if (window_.out[0] == 1) return 0;
    return static_cast<size_t>(planes_.out_channels * planes_.out_height * planes_.out_width) * sizeof(float);
  }

  /// The planes that a depth of the result reads: of every channel one for each tap, zeros beyond the ends.
  void gather(const Phase& phase, const float* x, int64_t depth, float* to, ThreadPool& pool) const {
    const auto taps = static_cast<int64_t>(phase.taps.size());
    const int64_t plane = in_plane();
    pool.parallel_for(phase.planes.in_channels, 8, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t from = source(depth, phase.taps[static_cast<size_t>(k % taps)]);
        if (from < 0 || from >= window_.in[0])
          std::fill_n(to + k * plane, plane, 0.0f);
        else
          std::copy_n(x + (k / taps * window_.in[0] + from) * plane, plane, to + k * plane);
      }
    });
  }

  static constexpr int64_t none = -1;
  /// What stays the same at other sizes.
  struct Form {
    WindowForm window;
    EpiloguePlan plan;
  };
  std::shared_ptr<const Form> form_;
  SlidingWindow window_;
  bool transposed_;
  int64_t batch_, channels_;
  int threads_;
  bool bias_is_computed_;
  ConvShape planes_;  ///< but for its channels that are read
  std::vector<Phase> phases_;
  size_t packed_bytes_ = 0;
  PackedWeights weights_;
};

std::unique_ptr<Kernel> make(const StepContext& context, bool transposed) {
  std::optional<PlainConvolution> found = plain_convolution(context, transposed, 3, 3);
  if (!found || context.inputs[0].count() == 0 || context.inputs[1].count() == 0 ||
      context.outputs[0].count() == 0)
    return nullptr;
  const SlidingWindow& window = found->window;
  for (size_t d = 1; d < window.rank(); ++d)
    if (transposed && window.strides[d] > 1 && window.dilations[d] > 1) return nullptr;
  return std::make_unique<VolumeConvKernel>(context, std::move(*found), transposed);
}

std::unique_ptr<Kernel> make_conv(const StepContext& context) { return make(context, false); }
std::unique_ptr<Kernel> make_conv_transpose(const StepContext& context) { return make(context, true); }

}  // namespace

void convolution_volume_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Conv", make_conv});
  table.push_back({"", "ConvTranspose", make_conv_transpose});
}

}  // namespace axrun::runtime
