// Conv and ConvTranspose with their epilogues, float32, one or two spatial dims.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/operators/convolution_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// What a convolution kernel knows whatever its sizes are.
struct ConvForm {
  explicit ConvForm(const WindowForm& of) : window(of) {}

  WindowForm window;
  EpiloguePlan plan;
  int64_t groups = 1;
  bool transposed = false, is_fused = false, bias_is_computed = false;
  int residual = -1;  ///< its port
  int threads = 1;
  PackedWeights weights;  ///< null where they are computed
};

struct ConvSetup {
  ConvShape shape;
  ConvForm form;
};

std::optional<ConvSetup> read_setup(const StepContext& context, bool transposed) {
  if (!reads_and_writes_f32(context)) return std::nullopt;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& w = context.inputs[1].shape;
  const ir::Shape y = own_result_shape(context);
  if (x.size() != w.size() || (x.size() != 3 && x.size() != 4)) return std::nullopt;
  ConvSetup setup{{}, ConvForm(convolution_form(context, w, transposed))};
  ConvForm& form = setup.form;
  form.groups = context.integer("group", 1);
  form.transposed = transposed;
  form.is_fused = context.fused();
  form.bias_is_computed = is_computed(context, 2);
  form.threads = context.threads;
  const ConvShape& shape = setup.shape = conv_shape(x, y, form.groups, form.window.at(x, y));
  const bool both = (shape.stride_height > 1 && shape.dilation_height > 1) ||
                    (shape.stride_width > 1 && shape.dilation_width > 1);
  if (transposed && both) return std::nullopt;
  form.plan.shape = y;
  form.plan.channel_axis = 1;
  if (!read_bias(context, form.plan) || !read_epilogue(form.plan, context)) return std::nullopt;
  return setup;
}

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Weights of a shape in the form that its method reads.
class ConvPacking {
 public:
  ConvPacking(const ConvShape& shape, bool transposed, ConvMethod method)
      : shape_(shape), transposed_(transposed), method_(method) {}

  size_t bytes() const {
    return transposed_ ? conv_transpose_packed_bytes(shape_) : conv_packed_bytes(method_, shape_);
  }
  void pack(const float* weights, float* packed) const {
    if (transposed_) {
      conv_transpose_pack(shape_, weights, packed);
    } else {
      conv_pack(method_, shape_, weights, packed);
    }
  }
  PackedWeights pack(PackCache& packs, const ir::Tensor& weights) const {
    std::string form = fmt::format(
        "conv{} {} {} {} {}x{}", transposed_ ? "t" : std::to_string(static_cast<int>(method_)), shape_.groups,
        shape_.in_channels, shape_.out_channels, shape_.kernel_height, shape_.kernel_width);
    // Weights of a phase are those of every so many taps.
    if (transposed_) form += fmt::format(" s{}x{}", shape_.stride_height, shape_.stride_width);
    const jit::PreparedKey key{std::move(form), {{weights.data(), weights.bytes()}}};
    return packs.get(key, bytes(), [&](void* to) { pack(weights.as<float>(), static_cast<float*>(to)); });
  }

 private:
  const ConvShape& shape_;
  bool transposed_;
  ConvMethod method_;
};

class ConvKernel final : public Kernel {
 public:
  ConvKernel(std::shared_ptr<const ConvForm> form, const ConvShape& shape, ConvMethod method)
      : form_(std::move(form)), shape_(shape), method_(method) {}

  void run(const KernelCall& call) const override {
    char* scratch = static_cast<char*>(call.scratch);
    const float* packed = static_cast<const float*>(form_->weights.get());
    if (packed == nullptr) {  // weights that are computed: packed on every run
      float* here = reinterpret_cast<float*>(scratch);
      packing().pack(static_cast<const float*>(call.inputs[1]), here);
      packed = here;
      scratch += rounded(packing().bytes());
    }
    Epilogue epilogue = epilogue_of(
        form_->plan, form_->bias_is_computed ? static_cast<const float*>(call.inputs[2]) : nullptr);
    if (form_->residual >= 0) epilogue.residual = static_cast<const float*>(call.inputs[form_->residual]);
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    if (form_->transposed) {
      conv_transpose2d(shape_, packed, x, y, epilogue, scratch, call.pool);
    } else {
      conv2d(method_, shape_, packed, x, y, epilogue, scratch, call.pool);
    }
  }

  std::string describe() const override {
    static constexpr const char* names[] = {"pointwise", "implicit gemm", "depthwise", "few pixels"};
    const ConvShape& s = shape_;
    return fmt::format("conv {} {}x{} {}->{} {}x{} k{}x{} s{}{}{}",
                       form_->transposed ? "" : names[static_cast<int>(method_)],
                       form_->transposed ? "transposed " : "", s.batch, s.in_channels, s.out_channels,
                       s.out_height, s.out_width, s.kernel_height, s.kernel_width, s.stride_width,
                       s.groups > 1 ? fmt::format(" g{}", s.groups) : "",
                       form_->is_fused ? " +epilogue" : "");
  }
  size_t scratch_bytes() const override {
    const size_t own = form_->transposed ? conv_transpose_scratch_bytes(shape_, form_->threads)
                                         : conv_scratch_bytes(method_, shape_, form_->threads);
    return own + (form_->weights ? 0 : rounded(packing().bytes()));
  }
  // The residual is read element by element where it is added, unless the product reads it too.
  std::vector<int> in_place() const override {
    return form_->residual >= 2 ? std::vector<int>{form_->residual} : std::vector<int>{};
  }
  bool ignores_input(int k) const override { return k == 1 && form_->weights != nullptr; }
  double flops() const override {
    const double taps = static_cast<double>(shape_.in_channels / shape_.groups) *
                        static_cast<double>(shape_.kernel_height * shape_.kernel_width);
    const double pixels = static_cast<double>(form_->transposed ? shape_.in_height * shape_.in_width
                                                                : shape_.out_height * shape_.out_width);
    return 2.0 * static_cast<double>(shape_.batch * shape_.out_channels) * pixels * taps;
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const auto found =
        resized_convolution(ports, form_->window, form_->plan, shape_.in_channels, form_->residual);
    if (!found) return nullptr;
    const ConvShape shape = conv_shape(found->x, found->y, form_->groups, found->window);
    // Columns of one element lie as rows, and have the kernel turned.
    if (shape.kernel_height != shape_.kernel_height || shape.kernel_width != shape_.kernel_width ||
        shape.stride_height != shape_.stride_height)
      return nullptr;
    // Weights are packed for a method.
    if (!form_->transposed && choose_conv_method(shape) != method_) return nullptr;
    return make_in_block<ConvKernel>(form_, shape, method_);
  }

 private:
  ConvPacking packing() const { return {shape_, form_->transposed, method_}; }

  std::shared_ptr<const ConvForm> form_;
  ConvShape shape_;
  ConvMethod method_;
};

std::unique_ptr<Kernel> finish(const StepContext& context, ConvSetup setup) {
  const ConvShape& shape = setup.shape;
  ConvForm& form = setup.form;
  const ConvMethod method = form.transposed ? ConvMethod::implicit_gemm : choose_conv_method(shape);
  if (form.plan.residual != ir::absent) {
    const auto found = std::find(context.input_ids.begin(), context.input_ids.end(), form.plan.residual);
    form.residual = static_cast<int>(found - context.input_ids.begin());
  }
  if (const ir::Tensor* weights = context.inputs[1].constant)
    form.weights = ConvPacking(shape, form.transposed, method).pack(context.packs, *weights);
  return std::make_unique<ConvKernel>(std::make_shared<const ConvForm>(std::move(form)), shape, method);
}

std::unique_ptr<Kernel> make(const StepContext& context, bool transposed) {
  auto setup = read_setup(context, transposed);
  return setup ? finish(context, std::move(*setup)) : nullptr;
}

std::unique_ptr<Kernel> make_conv(const StepContext& context) { return make(context, false); }
std::unique_ptr<Kernel> make_conv_transpose(const StepContext& context) { return make(context, true); }

/// com.microsoft FusedConv: Conv, plus Z, then an activation.
std::unique_ptr<Kernel> make_fused_conv(const StepContext& context) {
  if (context.fused()) return nullptr;
  auto setup = read_setup(context, false);
  if (!setup) return nullptr;
  EpiloguePlan& plan = setup->form.plan;
  if (context.has_input(3)) {
    const StepPort& added = context.inputs[3];
    if (added.type != ir::ElementType::f32 || added.shape != plan.shape) return nullptr;
    plan.residual = context.input_ids[3];
  }
  const auto parameters = context.node.attributes.find("activation_params");
  const std::vector<double> given =
      parameters == context.node.attributes.end() ? std::vector<double>() : parameters->second.reals;
  if (!name_activation(plan, context.string("activation", ""), given)) return nullptr;
  return finish(context, std::move(*setup));
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
