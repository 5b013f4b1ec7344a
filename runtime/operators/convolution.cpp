// Conv and ConvTranspose with their epilogues, float32, one or two spatial dims.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"

namespace axrun::runtime {
namespace {

/// Everything a convolution kernel needs to know.
struct ConvSetup {
  ConvShape shape;
  EpiloguePlan plan;
  std::string what;
};

bool read_setup(const StepContext& context, bool transposed, ConvSetup& setup) {
  if (!reads_and_writes_f32(context)) return false;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& w = context.inputs[1].shape;
  const ir::Shape y = own_result_shape(context);
  if (x.size() != w.size() || (x.size() != 3 && x.size() != 4)) return false;
  const SlidingWindow window =
      convolution_window(context, x, y, std::vector<int64_t>(w.begin() + 2, w.end()), transposed);
  const ConvShape& shape = setup.shape = conv_shape(x, y, context.integer("group", 1), window);
  const bool both = (shape.stride_height > 1 && shape.dilation_height > 1) ||
                    (shape.stride_width > 1 && shape.dilation_width > 1);
  if (transposed && both) return false;
  setup.plan.shape = y;
  setup.plan.channel_axis = 1;
  if (!read_bias(context, setup.plan) || !read_epilogue(setup.plan, context)) return false;
  setup.what = fmt::format("{}x{} {}->{} {}x{} k{}x{} s{}{}{}", transposed ? "transposed " : "", shape.batch,
                           shape.in_channels, shape.out_channels, shape.out_height, shape.out_width,
                           shape.kernel_height, shape.kernel_width, shape.stride_width,
                           shape.groups > 1 ? fmt::format(" g{}", shape.groups) : "",
                           context.fused() ? " +epilogue" : "");
  return true;
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(ConvSetup setup, bool transposed, const StepContext& context)
      : shape_(setup.shape),
        plan_(std::move(setup.plan)),
        what_(std::move(setup.what)),
        transposed_(transposed) {
    threads_ = context.threads;
    if (!transposed_) method_ = choose_conv_method(shape_);
    if (plan_.residual != ir::absent) residual_ = port_of(context, plan_.residual);
    if (context.inputs[1].constant != nullptr) weights_ = pack_constant(context);
    bias_is_computed_ = is_computed(context, 2);
    const double taps = static_cast<double>(shape_.in_channels / shape_.groups) *
                        static_cast<double>(shape_.kernel_height * shape_.kernel_width);
    const double pixels = static_cast<double>(transposed_ ? shape_.in_height * shape_.in_width
                                                          : shape_.out_height * shape_.out_width);
    flops_ = 2.0 * static_cast<double>(shape_.batch * shape_.out_channels) * pixels * taps;
  }

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    const float* packed = static_cast<const float*>(weights_.get());
    if (packed == nullptr) {  // weights that are computed: packed on every run
      float* here = reinterpret_cast<float*>(scratch);
      pack(static_cast<const float*>(call.inputs[1]), here);
      packed = here;
      scratch += rounded(packed_bytes());
    }
    Epilogue epilogue =
        epilogue_of(plan_, bias_is_computed_ ? static_cast<const float*>(call.inputs[2]) : nullptr);
    if (residual_ >= 0) epilogue.residual = static_cast<const float*>(call.inputs[residual_]);
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    if (transposed_) {
      conv_transpose2d(shape_, packed, x, y, epilogue, scratch, call.pool);
    } else {
      conv2d(method_, shape_, packed, x, y, epilogue, scratch, call.pool);
    }
  }

  std::string describe() const override {
    static constexpr const char* names[] = {"pointwise", "implicit gemm", "depthwise", "few pixels"};
    return fmt::format("conv {} {}", transposed_ ? "" : names[static_cast<int>(method_)], what_);
  }
  size_t scratch_bytes() const override {
    const size_t own = transposed_ ? conv_transpose_scratch_bytes(shape_, threads_)
                                   : conv_scratch_bytes(method_, shape_, threads_);
    return own + (weights_ ? 0 : rounded(packed_bytes()));
  }
  // The residual is read element by element where it is added, unless the product reads it too.
  std::vector<int> in_place() const override {
    return residual_ >= 2 ? std::vector<int>{residual_} : std::vector<int>{};
  }
  bool ignores_input(int k) const override { return k == 1 && weights_ != nullptr; }
  double flops() const override { return flops_; }

 private:
  static int port_of(const StepContext& context, ir::ValueId id) {
    const auto found = std::find(context.input_ids.begin(), context.input_ids.end(), id);
    return static_cast<int>(found - context.input_ids.begin());
  }
  static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

  size_t packed_bytes() const {
    return transposed_ ? conv_transpose_packed_bytes(shape_) : conv_packed_bytes(method_, shape_);
  }
  void pack(const float* weights, float* packed) const {
    if (transposed_) {
      conv_transpose_pack(shape_, weights, packed);
    } else {
      conv_pack(method_, shape_, weights, packed);
    }
  }

  PackedWeights pack_constant(const StepContext& context) {
    const ir::Tensor& weights = *context.inputs[1].constant;
    std::string form = fmt::format(
        "conv{} {} {} {} {}x{}", transposed_ ? "t" : std::to_string(static_cast<int>(method_)), shape_.groups,
        shape_.in_channels, shape_.out_channels, shape_.kernel_height, shape_.kernel_width);
    // Weights of a phase are those of every so many taps.
    if (transposed_) form += fmt::format(" s{}x{}", shape_.stride_height, shape_.stride_width);
    const jit::PreparedKey key{std::move(form), {{weights.data(), weights.bytes()}}};
    return context.packs.get(key, packed_bytes(),
                             [&](void* to) { pack(weights.as<float>(), static_cast<float*>(to)); });
  }

  ConvShape shape_;
  EpiloguePlan plan_;
  std::string what_;
  bool transposed_;
  ConvMethod method_ = ConvMethod::implicit_gemm;
  int threads_ = 1;
  int residual_ = -1;
  bool bias_is_computed_ = false;
  PackedWeights weights_;
  double flops_ = 0;
};

std::unique_ptr<Kernel> make(const StepContext& context, bool transposed) {
  ConvSetup setup;
  if (!read_setup(context, transposed, setup)) return nullptr;
  return std::make_unique<ConvKernel>(std::move(setup), transposed, context);
}

std::unique_ptr<Kernel> make_conv(const StepContext& context) { return make(context, false); }
std::unique_ptr<Kernel> make_conv_transpose(const StepContext& context) { return make(context, true); }

/// com.microsoft FusedConv: Conv, plus Z, then an activation.
std::unique_ptr<Kernel> make_fused_conv(const StepContext& context) {
  ConvSetup setup;
  if (context.fused() || !read_setup(context, false, setup)) return nullptr;
  if (context.has_input(3)) {
    const StepPort& added = context.inputs[3];
    if (added.type != ir::ElementType::f32 || added.shape != setup.plan.shape) return nullptr;
    setup.plan.residual = context.input_ids[3];
  }
  const auto parameters = context.node.attributes.find("activation_params");
  const std::vector<double> given =
      parameters == context.node.attributes.end() ? std::vector<double>() : parameters->second.reals;
  if (!name_activation(setup.plan, context.string("activation", ""), given)) return nullptr;
  return std::make_unique<ConvKernel>(std::move(setup), false, context);
}

}  // namespace

void convolution_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Conv", make_conv});
  table.push_back({"", "ConvTranspose", make_conv_transpose});
  table.push_back({"com.microsoft", "FusedConv", make_fused_conv});
  convolution_volume_factories(table);
  convolution_general_factories(table);
}

}  // namespace axrun::runtime
