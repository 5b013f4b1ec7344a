// oneDNN with the layouts it likes best: weights, and for convolutions input and output too, are brought into
// the form it asks for before the measuring, as a framework would keep them.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "perf/kernels/library.h"
#include "perf/kernels/onednn_interface.h"

namespace axrun::perf {
namespace {

using dnnl::memory;
using runtime::ConvShape;
using runtime::ThreadPool;

class OneDnn final : public Library {
 public:
  std::string name() const override { return "oneDNN"; }
  /// With its runtime where that makes every call dear: what the least product takes, most of which is the
  /// call.
  std::string version() const override {
    const dnnl_version_t* v = dnnl_version();
    const std::string number =
        std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    if (v->cpu_runtime != DNNL_RUNTIME_SYCL) return number;
    return number + " (SYCL, " + std::to_string(least_call_us()) + " us for a product of 1x1x1)";
  }
  void set_threads(int threads) override { threads_.set(threads); }

  Ready product(const Product& p, ThreadPool&) override {
    const auto f32 = memory::data_type::f32;
    const auto plain = memory::format_tag::abc;
    const auto b_plain = p.transposed_b ? memory::format_tag::acb : plain;
    if (p.constant_b) {
      return matmul({{p.m, p.k}, f32, memory::format_tag::ab}, p.a,
                    {{p.k, p.n}, f32, p.transposed_b ? memory::format_tag::ba : memory::format_tag::ab}, p.b,
                    true, {{p.m, p.n}, f32, memory::format_tag::ab}, p.c);
    }
    return matmul({{p.batch, p.m, p.k}, f32, plain}, p.a, {{p.batch, p.k, p.n}, f32, b_plain}, p.b, false,
                  {{p.batch, p.m, p.n}, f32, plain}, p.c);
  }

  Ready narrow_product(const NarrowProduct& p, ThreadPool&) override {
    const auto bf16 = memory::data_type::bf16;
    const auto plain = memory::format_tag::ab;
    try {
      return matmul({{1, p.k}, bf16, plain}, p.a, {{p.k, p.n}, bf16, plain}, p.b, true,
                    {{1, p.n}, memory::data_type::f32, plain}, p.c);
    } catch (const dnnl::error&) {
      return {};  // not on this processor
    }
  }

  Ready convolution(const Convolution& c, ThreadPool&) override {
    const ConvShape& s = c.shape;
    const auto f32 = memory::data_type::f32;
    const auto any = memory::format_tag::any;
    const memory::dims x_dims = {s.batch, s.in_channels, s.in_height, s.in_width};
    const memory::dims y_dims = {s.batch, s.out_channels, s.out_height, s.out_width};
    memory::dims w_dims = {s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_height,
                           s.kernel_width};
    if (s.groups > 1) w_dims.insert(w_dims.begin(), s.groups);
    const auto trailing = [](int64_t out, int64_t stride, int64_t kernel, int64_t dilation, int64_t in,
                             int64_t pad) {
      return (out - 1) * stride + (kernel - 1) * dilation + 1 - in - pad;
    };
    const memory::dims ends = {
        trailing(s.out_height, s.stride_height, s.kernel_height, s.dilation_height, s.in_height, s.pad_top),
        trailing(s.out_width, s.stride_width, s.kernel_width, s.dilation_width, s.in_width, s.pad_left)};
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(onednn::relu());
    const auto chosen = onednn::convolution(
        engine_, {x_dims, f32, any}, {w_dims, f32, any}, {{s.out_channels}, f32, memory::format_tag::a},
        {y_dims, f32, any}, {s.stride_height, s.stride_width}, {s.dilation_height - 1, s.dilation_width - 1},
        {s.pad_top, s.pad_left}, ends, attributes);
    const memory::desc x_plain(x_dims, f32, memory::format_tag::nchw),
        y_plain(y_dims, f32, memory::format_tag::nchw);
    const memory::desc w_plain(w_dims, f32,
                               s.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw);
    memory y(chosen.dst_desc(), engine_);
    const Arguments arguments = {{DNNL_ARG_SRC, in_form(x_plain, c.x, chosen.src_desc())},
                                 {DNNL_ARG_WEIGHTS, in_form(w_plain, c.weights, chosen.weights_desc())},
                                 {DNNL_ARG_BIAS, over(chosen.bias_desc(), c.bias)},
                                 {DNNL_ARG_DST, y}};
    return {execution(dnnl::convolution_forward(chosen), arguments), [this, y, y_plain, to = c.y]() mutable {
              memory plain = over(y_plain, to);
              dnnl::reorder(y, plain).execute(stream(), y, plain);
              stream().wait();
            }};
  }

 private:
  using Arguments = std::unordered_map<int, memory>;

  /// The caller's memory; oneDNN's interface does not tell operands that it only reads.
  memory over(const memory::desc& form, const void* data) const {
    return {form, engine_, const_cast<void*>(data)};
  }

  /// The operand in the form wanted: as it lies, or copied.
  memory in_form(const memory::desc& form, const void* data, const memory::desc& wanted) {
    memory given = over(form, data);
    if (form == wanted) return given;
    memory result(wanted, engine_);
    dnnl::reorder(given, result).execute(stream(), given, result);
    stream().wait();
    return result;
  }

  int least_call_us() const {
    float a = 1, b = 1, c = 0;
    const memory::desc one({1, 1}, memory::data_type::f32, memory::format_tag::ab);
    const dnnl::matmul product(onednn::matmul(engine_, one, one, one));
    const std::function<void()> call = execution(
        product,
        {{DNNL_ARG_SRC, over(one, &a)}, {DNNL_ARG_WEIGHTS, over(one, &b)}, {DNNL_ARG_DST, over(one, &c)}});
    double least = 1e9;
    for (int k = 0; k < 100; ++k) {
      const auto begin = std::chrono::steady_clock::now();
      call();
      least = std::min(
          least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return static_cast<int>(std::lround(least));
  }

  Ready matmul(const memory::desc& a, const void* a_data, const memory::desc& b, const void* b_data,
               bool constant_b, const memory::desc& c, void* c_data) {
    const memory::desc b_wanted =
        constant_b ? memory::desc(onednn::dims_of(b), onednn::type_of(b), memory::format_tag::any) : b;
    const auto chosen = onednn::matmul(engine_, a, b_wanted, c);
    return {execution(dnnl::matmul(chosen), {{DNNL_ARG_SRC, over(a, a_data)},
                                             {DNNL_ARG_WEIGHTS, in_form(b, b_data, chosen.weights_desc())},
                                             {DNNL_ARG_DST, over(c, c_data)}}),
            {}};
  }

  std::function<void()> execution(const dnnl::primitive& primitive, const Arguments& arguments) const {
    return [this, primitive, arguments] {
      primitive.execute(stream(), arguments);
      stream().wait();
    };
  }

  /// One for each thread: they are not to be shared.
  dnnl::stream& stream() const {
    thread_local dnnl::stream stream(engine_);
    return stream;
  }

  onednn::Threads threads_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
};

}  // namespace

std::unique_ptr<Library> make_onednn() { return std::make_unique<OneDnn>(); }

}  // namespace axrun::perf
