// MatMul, Gemm and their fused forms, float32, on the packed matrix product.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "runtime/operators/contraction_parts.h"
#include "runtime/operators/epilogue.h"
#include "runtime/operators/moved_operand.h"
#include "runtime/operators/product_sizes.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// How Gemm reads its inputs.
struct GemmForm {
  bool transpose_a = false, transpose_b = false;

  void set(GemmArguments& g, const Extents& a, const Extents& b) const {
    g.m = a[transpose_a ? 1 : 0];
    g.n = b[transpose_b ? 0 : 1];
    g.k = a[transpose_a ? 0 : 1];
    g.a_row_stride = transpose_a ? 1 : a[1];
    g.a_column_stride = transpose_a ? a[1] : 1;
    g.b_row_stride = transpose_b ? 1 : b[1];
    g.b_column_stride = transpose_b ? b[1] : 1;
    g.c_row_stride = g.n;
  }
};

/// How Gemm's C broadcasts over [M, N].
struct GemmAddend {
  bool is_column = false;  ///< C is [N] (per column), otherwise [M, N] or [M, 1]
  bool is_row = false;     ///< C is [M, 1]
  int64_t row_stride = 0;

  /// Empty where the kernel has no such addend.
  static std::optional<GemmAddend> of(const GemmArguments& g, const Extents& c, float beta) {
    const int64_t rows = c.size() < 2 ? 1 : c[0], columns = c.empty() ? 1 : c.back();
    GemmAddend addend;
    addend.is_column = rows == 1 && columns == g.n && beta == 1.0f;
    addend.is_row = !addend.is_column && columns == 1 && rows == g.m && beta == 1.0f && g.n != 1;
    addend.row_stride = rows == 1 ? 0 : g.n;
    const bool residual_like = columns == g.n;
    if (!addend.is_column && !addend.is_row && !residual_like) return std::nullopt;
    return addend;
  }
};

/// A matrix product as the kernel sees it: batch strides of the operands, and which are constant.
struct GemmSetup {
  GemmArguments arguments;
  std::optional<MatmulForm> matmul;  ///< none: Gemm
  GemmForm gemm;                     ///< where it is that
  EpiloguePlan plan;
  bool pack_b = false;
  std::optional<MovedOperand> moved;  ///< B, as it lies in a longer buffer
  std::vector<size_t> ports;          ///< inputs of the step, for each of the product's; empty: the same ones
  std::vector<size_t> lengths;        ///< inputs of the step that are together as long as what is read of B
  size_t grown_axis = 0;              ///< of these
  int bias_port = -1;                 ///< Gemm's C, or -1
  GemmAddend addend;                  ///< of it
  float beta = 1;
};

bool all_f32(const StepContext& context) {
  return context.has_input(0) && context.has_input(1) && context.has_output(0) &&
         context.inputs[0].type == ir::ElementType::f32 && context.inputs[1].type == ir::ElementType::f32 &&
         context.outputs[0].type == ir::ElementType::f32;
}

bool read_matmul(const StepContext& context, GemmSetup& setup) {
  const ir::Shape& a = context.inputs[0].shape;
  const ir::Shape& b = context.inputs[1].shape;
  if (a.size() > Extents::most || b.size() > Extents::most) return false;
  const bool contrib = context.node.domain == "com.microsoft";
  // Vectors are not transposed.
  const auto transposed = [&](const char* name, size_t k) {
    return contrib && context.inputs[k].rank() > 1 && context.integer(name, 0) != 0;
  };
  setup.matmul = {transposed("transA", 0), transposed("transB", 1)};
  if (contrib && (context.integer("transBatchA", 0) != 0 || context.integer("transBatchB", 0) != 0))
    return false;
  GemmArguments& g = setup.arguments;
  g.epilogue.scale = contrib ? static_cast<float>(context.real("alpha", 1.0)) : 1.0f;
  if (!set_product(g, *setup.matmul, extents_of(a), extents_of(b))) return false;
  setup.pack_b = context.inputs[1].constant != nullptr && b.size() <= 2;
  setup.plan.shape = own_result_shape(context);
  setup.plan.channel_axis = static_cast<int>(setup.plan.shape.size()) - 1;
  if (context.fused() && (setup.plan.shape.empty() || context.inputs[1].rank() == 1)) return false;
  return true;
}

bool read_gemm(const StepContext& context, GemmSetup& setup) {
  const ir::Shape& a = context.inputs[0].shape;
  const ir::Shape& b = context.inputs[1].shape;
  const ir::Shape y = own_result_shape(context);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2 || context.node.version < 7) return false;
  setup.gemm = {context.integer("transA", 0) != 0, context.integer("transB", 0) != 0};
  GemmArguments& g = setup.arguments;
  setup.gemm.set(g, extents_of(a), extents_of(b));
  g.epilogue.scale = static_cast<float>(context.real("alpha", 1.0));
  setup.beta = static_cast<float>(context.real("beta", 1.0));
  setup.plan.shape = y;
  setup.plan.channel_axis = 1;
  setup.pack_b = context.inputs[1].constant != nullptr;
  if (context.has_input(2) && setup.beta != 0.0f) {
    const StepPort& c = context.inputs[2];
    if (c.type != ir::ElementType::f32) return false;
    ir::Shape shape = c.shape;
    while (shape.size() < 2) shape.insert(shape.begin(), 1);
    const bool by_column = shape[0] == 1 && (shape[1] == g.n || shape[1] == 1);
    if (by_column && c.constant != nullptr) {
      // Joins the per-channel bias, so that an epilogue can multiply it.
      setup.plan.bias.resize(static_cast<size_t>(g.n));
      for (int64_t j = 0; j < g.n; ++j) {
        setup.plan.bias[static_cast<size_t>(j)] = setup.beta * c.constant->as<float>()[shape[1] == 1 ? 0 : j];
      }
    } else {
      if (context.fused()) return false;
      setup.bias_port = 2;
      const auto addend = GemmAddend::of(g, extents_of(shape), setup.beta);
      if (!addend) return false;
      setup.addend = *addend;
    }
  }
  return true;
}

class GemmKernel final : public Kernel {
 public:
  GemmKernel(GemmSetup setup, const StepContext& context)
      : setup_(std::make_shared<const GemmSetup>(std::move(setup))),
        g_(setup_->arguments),
        threads_(context.threads) {
    if (setup_->plan.residual != ir::absent) {
      const auto found = std::find(context.input_ids.begin(), context.input_ids.end(), setup_->plan.residual);
      residual_ = static_cast<int>(found - context.input_ids.begin());
    }
    if (setup_->pack_b) {
      const ir::Tensor& weights = *context.inputs[1].constant;
      std::string form = fmt::format("gemm b {} {} {} {}", g_.k, g_.n, g_.b_row_stride, g_.b_column_stride);
      const jit::PreparedKey key{std::move(form), {{weights.data(), weights.bytes()}}};
      packed_ = context.packs.get(key, gemm_packed_b_bytes(g_.k, g_.n), [&](void* to) {
        gemm_pack_b(g_.k, g_.n, weights.as<float>(), g_.b_row_stride, g_.b_column_stride,
                    static_cast<float*>(to));
      });
      g_.packed_b = static_cast<const float*>(packed_.get());
    }
    // The parts that a run will set decide how much scratch it needs.
    static const float placeholder = 0;
    g_.a = g_.b = &placeholder;
    const GemmAddend& addend = setup_->addend;
    if (addend.is_row) g_.epilogue.row_bias = &placeholder;
    if (residual_ >= 0 || (setup_->bias_port >= 0 && !addend.is_row && !addend.is_column)) {
      g_.epilogue.residual = &placeholder;
      g_.epilogue.residual_row_stride = residual_ >= 0 ? g_.c_row_stride : addend.row_stride;
    }
    fused_ = context.fused();
  }

  void run(const KernelCall& call) const override {
    const EpiloguePlan& plan = setup_->plan;
    GemmArguments g = g_;
    g.a = static_cast<const float*>(call.inputs[port(0)]);
    g.b = setup_->pack_b ? nullptr : static_cast<const float*>(call.inputs[port(1)]);
    g.c = static_cast<float*>(call.outputs[0]);
    if (!plan.factor.empty()) g.epilogue.column_factor = plan.factor.data();
    if (!plan.bias.empty()) g.epilogue.column_bias = plan.bias.data();
    if (setup_->bias_port >= 0) {
      const auto* bias = static_cast<const float*>(call.inputs[setup_->bias_port]);
      if (setup_->addend.is_column) {
        g.epilogue.column_bias = bias;
      } else if (setup_->addend.is_row) {
        g.epilogue.row_bias = bias;
      } else {
        g.epilogue.residual = bias;
        g.epilogue.residual_scale = setup_->beta;
      }
    }
    if (residual_ >= 0) {
      g.epilogue.residual = static_cast<const float*>(call.inputs[port(static_cast<size_t>(residual_))]);
      g.epilogue.residual_row_stride = g.c_row_stride;
    }
    g.epilogue.activation = plan.activation;
    g.epilogue.alpha = plan.alpha;
    g.epilogue.beta = plan.beta;
    gemm(g, call.scratch, call.pool);
  }

  std::string describe() const override {
    return fmt::format("gemm {}{}x{}x{}{}{}", batch() > 1 ? fmt::format("{}x ", batch()) : "", g_.m, g_.n,
                       g_.k,
                       setup_->pack_b  ? " packed"
                       : setup_->moved ? " in a buffer"
                                       : "",
                       fused_ ? " +epilogue" : "");
  }
  size_t scratch_bytes() const override { return gemm_scratch_bytes(g_, threads_); }
  // The residual is read element by element where it is added, unless the product reads it too.
  std::vector<int> in_place() const override {
    if (residual_ < 2) return {};
    return {static_cast<int>(port(static_cast<size_t>(residual_)))};
  }
  bool ignores_input(int k) const override { return k == 1 && setup_->pack_b; }
  double flops() const override {
    return 2.0 * batch() * static_cast<double>(g_.m) * static_cast<double>(g_.n) * static_cast<double>(g_.k);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<GemmKernel>(*this);
    GemmArguments& g = other->g_;
    if (!setup_->matmul) {
      setup_->gemm.set(g, ports.input(0), ports.input(1));
      if (setup_->bias_port >= 0 && !other->resize_addend(ports.input(2))) return nullptr;
    } else if (setup_->moved) {
      int64_t length = 0;
      for (const size_t k : setup_->lengths) length += ports.dim_of_input(k, setup_->grown_axis);
      if (!set_product(g, false, ports.input(port(0)), setup_->moved->at(ports.input(port(1)), length)))
        return nullptr;
    } else if (!set_product(g, *setup_->matmul, ports.input(0), ports.input(1))) {
      return nullptr;
    }
    // Packed weights are for these.
    if (setup_->pack_b && (g.n != g_.n || g.k != g_.k)) return nullptr;
    if (g.n != g_.n && !other->resize_channels()) return nullptr;
    const int64_t results = ports.output(0).count();
    if (results == 0) return nullptr;
    if (residual_ >= 0) {
      // Of as many elements as the result it is added to each of these.
      if (ports.input(port(static_cast<size_t>(residual_))).count() != results) return nullptr;
      g.epilogue.residual_row_stride = g.c_row_stride;
    }
    return other;
  }

 private:
  /// Gemm's C, broadcast in the same way.
  bool resize_addend(const Extents& c) {
    const auto addend = GemmAddend::of(g_, c, setup_->beta);
    if (!addend || addend->is_column != setup_->addend.is_column || addend->is_row != setup_->addend.is_row)
      return false;
    if (g_.epilogue.residual != nullptr) g_.epilogue.residual_row_stride = addend->row_stride;
    return true;
  }
  /// The step's input for one of the product's.
  size_t port(size_t k) const { return setup_->ports.empty() ? k : setup_->ports[k]; }
  double batch() const {
    double batch = 1;
    for (int i = 0; i < g_.batch_rank; ++i) batch *= static_cast<double>(g_.batch_extents[i]);
    return batch;
  }
  /// What was the same for every channel is so for any number of them.
  bool resize_channels() {
    const EpiloguePlan& plan = setup_->plan;
    if (plan.factor.empty() && plan.bias.empty()) return true;
    auto other = std::make_shared<GemmSetup>(*setup_);
    for (std::vector<float>* values : {&other->plan.factor, &other->plan.bias}) {
      const bool same =
          std::adjacent_find(values->begin(), values->end(), std::not_equal_to<>()) == values->end();
      if (!same) return false;
      if (!values->empty()) values->assign(static_cast<size_t>(g_.n), values->front());
    }
    setup_ = std::move(other);
    return true;
  }

  std::shared_ptr<const GemmSetup> setup_;
  GemmArguments g_;  ///< at the sizes
  int threads_;
  int residual_ = -1;
  PackedWeights packed_;
  bool fused_ = false;
};

/// One factor for all channels is a scale of the product.
void take_common_factor(GemmSetup& setup) {
  std::vector<float>& factor = setup.plan.factor;
  if (factor.empty() || setup.arguments.epilogue.scale != 1.0f) return;
  if (std::adjacent_find(factor.begin(), factor.end(), std::not_equal_to<>()) != factor.end()) return;
  setup.arguments.epilogue.scale = factor.front();
  factor.clear();
}

std::unique_ptr<Kernel> finish(const StepContext& context, GemmSetup setup) {
  if (!read_epilogue(setup.plan, context)) return nullptr;
  take_common_factor(setup);
  if (setup.plan.residual != ir::absent && setup.bias_port >= 0) return nullptr;
  if (context.outputs[0].count() == 0) return nullptr;
  return std::make_unique<GemmKernel>(std::move(setup), context);
}

std::unique_ptr<Kernel> make_matmul(const StepContext& context) {
  GemmSetup setup;
  if (!all_f32(context) || !read_matmul(context, setup)) return nullptr;
  return finish(context, std::move(setup));
}

std::unique_ptr<Kernel> make_gemm(const StepContext& context) {
  GemmSetup setup;
  if (!all_f32(context) || !read_gemm(context, setup)) return nullptr;
  return finish(context, std::move(setup));
}

/// com.microsoft FusedGemm: Gemm with an activation attribute.
std::unique_ptr<Kernel> make_fused_gemm(const StepContext& context) {
  GemmSetup setup;
  if (!all_f32(context) || context.fused()) return nullptr;
  const std::string activation = context.string("activation", "");
  ir::Node gemm = context.node;
  gemm.version = 13;
  const StepContext plain{gemm,
                          {&gemm},
                          context.programs,
                          context.input_ids,
                          context.inputs,
                          context.output_ids,
                          context.outputs,
                          context.threads,
                          context.packs};
  if (!read_gemm(plain, setup)) return nullptr;
  std::vector<double> parameters;
  if (context.has_attribute("activation_alpha")) parameters.push_back(context.real("activation_alpha", 0));
  if (!parameters.empty() && context.has_attribute("activation_beta")) {
    parameters.push_back(context.real("activation_beta", 0));
  }
  const bool has_other = context.has_attribute("leaky_relu_alpha") ||
                         (parameters.empty() && context.has_attribute("activation_beta"));
  if (has_other || !name_activation(setup.plan, activation, parameters)) return nullptr;
  return finish(context, std::move(setup));
}

/// What the nodes from the product on read: its own inputs, then what the others read from outside.
std::vector<ir::ValueId> product_inputs(const StepContext& whole, size_t first) {
  std::vector<ir::ValueId> ids = whole.group[first]->inputs, inside = whole.group[first]->outputs;
  const auto has = [](const std::vector<ir::ValueId>& list, ir::ValueId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (size_t n = first + 1; n < whole.group.size(); ++n) {
    for (const ir::ValueId id : whole.group[n]->inputs)
      if (id != ir::absent && !has(inside, id) && !has(ids, id)) ids.push_back(id);
    inside.insert(inside.end(), whole.group[n]->outputs.begin(), whole.group[n]->outputs.end());
  }
  return ids;
}

/// The group's nodes from the product on, with inputs of their own.
StepContext product_in(const StepContext& whole, size_t first) {
  StepContext product{*whole.group[first],
                      {whole.group.begin() + static_cast<std::ptrdiff_t>(first), whole.group.end()},
                      {whole.programs.begin() + static_cast<std::ptrdiff_t>(first), whole.programs.end()},
                      product_inputs(whole, first),
                      {},
                      whole.output_ids,
                      whole.outputs,
                      whole.threads,
                      whole.packs,
                      whole.assumptions};
  const ir::Program& own = *product.programs[0];
  for (size_t k = 0; k < product.input_ids.size(); ++k) {
    const auto at = std::find(whole.input_ids.begin(), whole.input_ids.end(), product.input_ids[k]);
    if (at != whole.input_ids.end()) {
      product.inputs.push_back(whole.inputs[static_cast<size_t>(at - whole.input_ids.begin())]);
      continue;
    }
    // What the nodes before it make: B.
    const ir::TensorDecl& made = own.tensors[static_cast<size_t>(own.operands[k])];
    product.inputs.push_back({true, made.type, *ir::constant_dims(made.dims), nullptr});
  }
  return product;
}

}  // namespace

std::unique_ptr<Kernel> make_product_in_buffer(const StepContext& whole) {
  const auto at = std::find_if(whole.group.begin(), whole.group.end(),
                               [](const ir::Node* node) { return !MovedOperand::moves(*node); });
  const auto first = static_cast<size_t>(at - whole.group.begin());
  if (first == 0 || at == whole.group.end() || (*at)->op != "MatMul" || !(*at)->domain.empty())
    return nullptr;
  const StepContext product = product_in(whole, first);
  const auto& programs = whole.open_programs.empty() ? whole.programs : whole.open_programs;
  const auto movers = [&](const std::vector<const ir::Program*>& all) {
    return MovedOperand::of({whole.group.begin(), at},
                            {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first)});
  };
  GemmSetup setup;
  if (!all_f32(product) || !read_matmul(product, setup)) return nullptr;
  setup.moved = movers(programs);
  if (!setup.moved) return nullptr;
  for (size_t k = 0; k < product.input_ids.size(); ++k) {
    const auto input = std::find(whole.input_ids.begin(), whole.input_ids.end(), product.input_ids[k]);
    setup.ports.push_back(k == 1 ? 0 : static_cast<size_t>(input - whole.input_ids.begin()));
  }
  const ir::Node& prefix = *whole.group[0];
  setup.grown_axis = static_cast<size_t>(prefix.attributes.at("axis").integer);
  int64_t length = 0;
  for (size_t k = 1; k < prefix.inputs.size(); ++k) {
    setup.lengths.push_back(k);
    length += whole.inputs[k].shape[setup.grown_axis];
  }
  const ir::Shape& buffer = whole.inputs[0].shape;
  if (!set_product(setup.arguments, false, extents_of(product.inputs[0].shape),
                   setup.moved->at(extents_of(buffer), length)))
    return nullptr;
  return finish(product, std::move(setup));
}

void contraction_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "MatMul", make_matmul});
  table.push_back({"", "Gemm", make_gemm});
  table.push_back({"com.microsoft", "FusedMatMul", make_matmul});
  table.push_back({"com.microsoft", "FusedMatMul", make_general_contraction});
  table.push_back({"com.microsoft", "FusedGemm", make_fused_gemm});
  table.push_back({"", "Einsum", make_general_contraction});
}

}  // namespace axrun::runtime
