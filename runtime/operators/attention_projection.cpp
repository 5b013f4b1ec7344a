#include "runtime/operators/attention_projection.h"

#include <fmt/format.h>

#include "runtime/operators/byte_product.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

class FloatProjection final : public AttentionProjection {
 public:
  FloatProjection(const StepContext& context, const ProjectionExtents& extents)
      : x_(extents), has_bias_(context.has_input(2)), threads_(context.threads) {
    if (const ir::Tensor* weights = context.inputs[1].constant) {
      const jit::PreparedKey key{fmt::format("gemm b {} {} {} 1", x_.depth, x_.columns, x_.columns),
                                 {{weights->data(), weights->bytes()}}};
      packed_ = context.packs.get(key, gemm_packed_b_bytes(x_.depth, x_.columns), [&](void* to) {
        gemm_pack_b(x_.depth, x_.columns, weights->as<float>(), x_.columns, 1, static_cast<float*>(to));
      });
    }
    plan_scratch();
  }

  void run(const KernelCall& call, float* to, void* scratch) const override {
    GemmArguments g = product();
    g.a = static_cast<const float*>(call.inputs[0]);
    if (packed_) {
      g.packed_b = static_cast<const float*>(packed_.get());
    } else {
      g.b = static_cast<const float*>(call.inputs[1]);
    }
    if (has_bias_) g.epilogue.column_bias = static_cast<const float*>(call.inputs[2]);
    g.c = to;
    gemm(g, scratch, call.pool);
  }
  size_t scratch_bytes() const override { return scratch_; }
  bool packed() const override { return packed_ != nullptr; }
  bool ignores_input(int k) const override { return k == 1 && packed(); }
  std::shared_ptr<const AttentionProjection> resized(int64_t rows, const PortSizes&) const override {
    auto other = make_in_block<FloatProjection>(*this);
    other->x_.rows = rows;
    other->plan_scratch();
    return other;
  }

 private:
  void plan_scratch() {
    static const float placeholder = 0;
    GemmArguments g = product();
    g.a = g.b = &placeholder;
    if (packed_) g.packed_b = &placeholder;
    scratch_ = gemm_scratch_bytes(g, threads_);
  }
  GemmArguments product() const {
    GemmArguments g;
    g.m = x_.rows;
    g.n = g.b_row_stride = g.c_row_stride = x_.columns;
    g.k = g.a_row_stride = x_.depth;
    return g;
  }

  ProjectionExtents x_;
  bool has_bias_;
  int threads_;
  PackedWeights packed_;
  size_t scratch_ = 0;
};

enum BytePort : size_t {
  port_x,
  port_weights,
  port_bias,
  port_x_scale,
  port_scale,
  port_x_zero = 6,
  port_zero
};

ProductShape shape_of(const ProjectionExtents& extents) {
  ProductShape shape;
  shape.m = extents.rows;
  shape.n = extents.columns;
  shape.k = extents.depth;
  return shape;
}

class ByteProjection final : public AttentionProjection {
 public:
  ByteProjection(const StepContext& context, const ProjectionExtents& extents)
      : x_(extents),
        x_type_(*byte_input(context, port_x)),
        has_x_zero_(context.has_input(port_x_zero)),
        scale_per_column_(context.inputs[port_scale].count() > 1),
        product_(context, shape_of(extents), x_type_, port_weights, port_zero),
        product_at_(static_cast<size_t>((extents.columns + 15) / 16) * 64) {}

  void run(const KernelCall& call, float* to, void* scratch) const override {
    auto* const scales = static_cast<float*>(scratch);
    const auto* given = static_cast<const float*>(call.inputs[port_scale]);
    for (int64_t j = 0; j < x_.columns; ++j) scales[j] = given[scale_per_column_ ? j : 0];
    const float factor = *static_cast<const float*>(call.inputs[port_x_scale]);
    const auto* bias = static_cast<const float*>(call.inputs[port_bias]);
    product_.run(
        call, call.inputs[port_x], has_x_zero_ ? byte_at(x_type_, call.inputs[port_x_zero]) : 0,
        static_cast<char*>(scratch) + product_at_, [&](int64_t) { return reinterpret_cast<int32_t*>(to); },
        [&](int64_t, const int32_t* sums) {
          call.pool.parallel_for(x_.rows, 16384 / x_.columns + 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              scale_sums_row(x_.columns, sums + i * x_.columns, factor, scales, bias, to + i * x_.columns);
          });
        });
  }
  size_t scratch_bytes() const override { return product_at_ + product_.scratch_bytes(); }
  bool packed() const override { return product_.packed(); }
  bool ignores_input(int k) const override { return product_.ignores_input(k); }
  std::shared_ptr<const AttentionProjection> resized(int64_t rows, const PortSizes& ports) const override {
    if ((ports.input(port_scale).count() > 1) != scale_per_column_) return nullptr;
    auto other = make_in_block<ByteProjection>(*this);
    other->x_.rows = rows;
    return other->product_.resize(shape_of(other->x_), ports) ? other : nullptr;
  }

 private:
  ProjectionExtents x_;
  Byte x_type_;
  bool has_x_zero_, scale_per_column_;
  ByteProduct product_;
  size_t product_at_;
};

}  // namespace

std::unique_ptr<AttentionProjection> make_float_projection(const StepContext& context,
                                                           const ProjectionExtents& extents) {
  return std::make_unique<FloatProjection>(context, extents);
}

std::unique_ptr<AttentionProjection> make_byte_projection(const StepContext& context,
                                                          const ProjectionExtents& extents) {
  constexpr ir::ElementType f32 = ir::ElementType::f32;
  if (!byte_input(context, port_x) || !byte_input(context, port_weights)) return nullptr;
  for (const size_t k : {port_bias, port_x_scale, port_scale}) {
    if (!context.has_input(k) || context.inputs[k].type != f32) return nullptr;
  }
  if (!single_or_absent(context, port_x_scale, f32) ||
      !single_or_absent(context, port_x_zero, context.inputs[port_x].type) ||
      !fits_columns(context, port_scale, f32, extents.columns) ||
      !fits_columns(context, port_zero, context.inputs[port_weights].type, extents.columns)) {
    return nullptr;
  }
  return std::make_unique<ByteProjection>(context, extents);
}

}  // namespace axrun::runtime
