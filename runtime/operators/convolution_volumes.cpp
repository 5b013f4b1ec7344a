// Conv over three spatial dims, float32, with what follows it: for every depth of the result a convolution
// over planes, whose channels are the planes that the taps along the depth read.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"

namespace axrun::runtime {
namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

class VolumeConvKernel final : public Kernel {
 public:
  VolumeConvKernel(const StepContext& context, const SlidingWindow& window, EpiloguePlan plan)
      : window_(window), plan_(std::move(plan)), batch_(context.inputs[0].shape[0]) {
    channels_ = context.inputs[0].shape[1];
    planes_.groups = context.integer("group", 1);
    planes_.in_channels = channels_ * window.kernel[0];
    planes_.out_channels = plan_.shape[1];
    planes_.in_height = window.in[1];
    planes_.in_width = window.in[2];
    planes_.out_height = window.out[1];
    planes_.out_width = window.out[2];
    planes_.kernel_height = window.kernel[1];
    planes_.kernel_width = window.kernel[2];
    planes_.stride_height = window.strides[1];
    planes_.stride_width = window.strides[2];
    planes_.dilation_height = window.dilations[1];
    planes_.dilation_width = window.dilations[2];
    planes_.pad_top = window.pads_begin[1];
    planes_.pad_left = window.pads_begin[2];
    method_ = choose_conv_method(planes_);
    threads_ = context.threads;
    bias_is_computed_ = is_computed(context, 2);
    if (const ir::Tensor* weights = context.inputs[1].constant) {
      const jit::PreparedKey key{
          fmt::format("conv{} {} {} {} {}x{}", static_cast<int>(method_), planes_.groups, planes_.in_channels,
                      planes_.out_channels, planes_.kernel_height, planes_.kernel_width),
          {{weights->data(), weights->bytes()}}};
      weights_ = context.packs.get(key, conv_packed_bytes(method_, planes_), [&](void* to) {
        conv_pack(method_, planes_, weights->as<float>(), static_cast<float*>(to));
      });
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
    const auto* packed = static_cast<const float*>(weights_.get());
    if (packed == nullptr) {  // weights that are computed: packed on every run
      auto* const here = reinterpret_cast<float*>(take(conv_packed_bytes(method_, planes_)));
      conv_pack(method_, planes_, static_cast<const float*>(call.inputs[1]), here);
      packed = here;
    }
    const Epilogue epilogue =
        epilogue_of(plan_, bias_is_computed_ ? static_cast<const float*>(call.inputs[2]) : nullptr);

    const int64_t depths = window_.out[0], plane = planes_.out_height * planes_.out_width;
    for (int64_t image = 0; image < batch_; ++image) {
      const auto* const x =
          static_cast<const float*>(call.inputs[0]) + image * channels_ * window_.in[0] * in_plane();
      auto* const y = static_cast<float*>(call.outputs[0]) + image * planes_.out_channels * depths * plane;
      for (int64_t depth = 0; depth < depths; ++depth) {
        gather(x, depth, read, call.pool);
        float* const result = depths == 1 ? y : written;
        conv2d(method_, planes_, packed, read, result, epilogue, scratch, call.pool);
        if (depths == 1) continue;
        call.pool.parallel_for(planes_.out_channels, 8, [&](int64_t begin, int64_t end) {
          for (int64_t channel = begin; channel < end; ++channel)
            std::copy_n(result + channel * plane, plane, y + (channel * depths + depth) * plane);
        });
      }
    }
  }

  std::string describe() const override {
    return fmt::format("conv of volumes {}x {}->{} {}x{}x{} k{}x{}x{}", batch_, channels_,
                       planes_.out_channels, window_.out[0], window_.out[1], window_.out[2],
                       window_.kernel[0], window_.kernel[1], window_.kernel[2]);
  }
  size_t scratch_bytes() const override {
    return rounded(read_bytes()) + rounded(written_bytes()) +
           (weights_ ? 0 : rounded(conv_packed_bytes(method_, planes_))) +
           conv_scratch_bytes(method_, planes_, threads_);
  }
  bool ignores_input(int k) const override { return k == 1 && weights_ != nullptr; }
  double flops() const override {
    return 2.0 * static_cast<double>(batch_ * planes_.out_channels * ir::element_count(window_.out)) *
           static_cast<double>(channels_ / planes_.groups * window_.taps());
  }

 private:
  int64_t in_plane() const { return planes_.in_height * planes_.in_width; }
  size_t read_bytes() const { return static_cast<size_t>(planes_.in_channels * in_plane()) * sizeof(float); }
  size_t written_bytes() const {
    if (window_.out[0] == 1) return 0;
    return static_cast<size_t>(planes_.out_channels * planes_.out_height * planes_.out_width) * sizeof(float);
  }

  /// The planes that a depth of the result reads: of every channel one for each tap, zeros beyond the ends.
  void gather(const float* x, int64_t depth, float* to, ThreadPool& pool) const {
    const int64_t taps = window_.kernel[0], plane = in_plane();
    pool.parallel_for(planes_.in_channels, 8, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t from =
            depth * window_.strides[0] + k % taps * window_.dilations[0] - window_.pads_begin[0];
        if (from < 0 || from >= window_.in[0])
          std::fill_n(to + k * plane, plane, 0.0f);
        else
          std::copy_n(x + (k / taps * window_.in[0] + from) * plane, plane, to + k * plane);
      }
    });
  }

  SlidingWindow window_;
  EpiloguePlan plan_;
  int64_t batch_, channels_ = 0;
  ConvShape planes_;
  ConvMethod method_ = ConvMethod::implicit_gemm;
  int threads_ = 1;
  bool bias_is_computed_ = false;
  PackedWeights weights_;
};

std::unique_ptr<Kernel> make(const StepContext& context) {
  if (!reads_and_writes_f32(context)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& w = context.inputs[1].shape;
  EpiloguePlan plan;
  plan.shape = own_result_shape(context);
  plan.channel_axis = 1;
  if (x.size() != 5 || w.size() != 5 || ir::element_count(x) == 0 || ir::element_count(plan.shape) == 0)
    return nullptr;
  const SlidingWindow window =
      convolution_window(context, x, plan.shape, std::vector<int64_t>(w.begin() + 2, w.end()), false);
  if (!read_bias(context, plan) || !read_epilogue(plan, context) || plan.residual != ir::absent)
    return nullptr;
  return std::make_unique<VolumeConvKernel>(context, window, std::move(plan));
}

}  // namespace

void convolution_volume_factories(std::vector<FactoryEntry>& table) { table.push_back({"", "Conv", make}); }

}  // namespace axrun::runtime
