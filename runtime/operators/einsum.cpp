// Products of two tensors summed over shared axes, read off the expression: every axis belongs to one
// operand's rows, to the other's columns, to the sum, or to both operands (the batch).
#include <fmt/format.h>

#include <algorithm>

#include "ir/view.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/contraction_parts.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::ScalarOp;

/// One axis of the sum or of the result: how far each tensor moves along it, in elements.
struct AxisStrides {
  int64_t extent = 1, a = 0, b = 0, c = 0;
};

struct Contraction {
  GemmArguments arguments;
  size_t a_port = 0, b_port = 0;
};

/// Strides of a load along every axis of the stage; empty unless it is affine and starts at element 0.
std::optional<std::vector<int64_t>> load_strides(const ir::Program& program, const ir::Stage& stage,
                                                 const ir::Expr& load) {
  if (load.op != ScalarOp::load || load.args[0] != ir::none || load.type != ElementType::f32)
    return std::nullopt;
  const auto dims = ir::constant_dims(program.tensors[static_cast<size_t>(load.integer)].dims);
  if (!dims) return std::nullopt;
  const ir::Shape strides = ir::row_major_strides(*dims);
  std::vector<int64_t> result(stage.axes.size() + stage.reduce_axes.size(), 0);
  for (size_t d = 0; d < strides.size(); ++d) {
    const auto index = ir::affine_index(program, stage, load.indices[d]);
    if (!index || index->constant != 0) return std::nullopt;
    for (size_t a = 0; a < result.size(); ++a) result[a] += index->coefficients[a] * strides[d];
  }
  return result;
}

std::optional<size_t> port_of(const ir::Program& program, ir::TensorId tensor) {
  const auto found = std::find(program.operands.begin(), program.operands.end(), tensor);
  if (found == program.operands.end()) return std::nullopt;
  return static_cast<size_t>(found - program.operands.begin());
}

/// Joins `axis` to the last run where all three tensors walk both as one; otherwise it starts a new run.
void append(std::vector<AxisStrides>& runs, const AxisStrides& axis) {
  if (!runs.empty()) {
    AxisStrides& last = runs.back();
    if (last.a == axis.a * axis.extent && last.b == axis.b * axis.extent && last.c == axis.c * axis.extent) {
      last = {last.extent * axis.extent, axis.a, axis.b, axis.c};
      return;
    }
  }
  runs.push_back(axis);
}

std::optional<Contraction> read_contraction(const ir::Program& program) {
  if (program.stages.size() != 1 || program.outputs.size() != 1) return std::nullopt;
  const ir::Stage& stage = program.stages[0];
  if (stage.kind != ir::StageKind::reduce || stage.monoid.kind != ir::Monoid::Kind::sum) return std::nullopt;
  if (stage.results[0] != program.outputs[0]) return std::nullopt;
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (body.op != ScalarOp::mul || body.type != ElementType::f32) return std::nullopt;
  const ir::Expr& left = program.exprs[static_cast<size_t>(body.args[0])];
  const ir::Expr& right = program.exprs[static_cast<size_t>(body.args[1])];
  const auto a = load_strides(program, stage, left);
  const auto b = load_strides(program, stage, right);
  if (!a || !b) return std::nullopt;
  const auto a_port = port_of(program, left.integer), b_port = port_of(program, right.integer);
  if (!a_port || !b_port) return std::nullopt;

  std::vector<AxisStrides> rows, columns, sums, batch;
  int64_t c = 1;
  std::vector<AxisStrides> axes(stage.axes.size());
  for (size_t k = stage.axes.size(); k-- > 0;) {
    axes[k] = {stage.axes[k].extent.value(), (*a)[k], (*b)[k], c};
    c *= axes[k].extent;
  }
  for (const AxisStrides& axis : axes) {
    if (axis.extent == 1) continue;
    if (axis.a == 0 && axis.b == 0) return std::nullopt;
    append(axis.b == 0 ? rows : axis.a == 0 ? columns : batch, axis);
  }
  for (size_t k = 0; k < stage.reduce_axes.size(); ++k) {
    const size_t at = stage.axes.size() + k;
    const AxisStrides axis = {stage.reduce_axes[k].extent.value(), (*a)[at], (*b)[at], 0};
    if (axis.extent == 1) continue;
    if (axis.a == 0 || axis.b == 0) return std::nullopt;
    append(sums, axis);
  }
  if (sums.size() > 1) return std::nullopt;

  Contraction contraction{{}, *a_port, *b_port};
  // The result's columns must be contiguous: where they are the left side's rows, the sides change places.
  const bool swaps = (columns.empty() || columns.back().c != 1) && !rows.empty() && rows.back().c == 1;
  if (swaps) {
    std::swap(rows, columns);
    std::swap(contraction.a_port, contraction.b_port);
    for (auto* list : {&rows, &columns, &sums, &batch}) {
      for (AxisStrides& axis : *list) std::swap(axis.a, axis.b);
    }
  }
  GemmArguments& g = contraction.arguments;
  const auto take = [](std::vector<AxisStrides>& list) {
    AxisStrides axis;
    if (list.empty()) return axis;
    axis = list.back();
    list.pop_back();
    return axis;
  };
  // Columns that are not contiguous are products of their own.
  const bool has_columns = !columns.empty() && columns.back().c == 1;
  const AxisStrides n = has_columns ? take(columns) : AxisStrides(), m = take(rows), k = take(sums);
  g.m = m.extent;
  g.n = n.extent;
  g.k = k.extent;
  g.a_row_stride = m.a;
  g.a_column_stride = k.a;
  g.b_row_stride = k.b;
  g.b_column_stride = n.b;
  g.c_row_stride = m.extent == 1 ? n.extent : m.c;
  for (const auto* list : {&batch, &rows, &columns}) {
    for (const AxisStrides& axis : *list) {
      if (g.batch_rank == max_batch_rank) return std::nullopt;
      const int at = g.batch_rank++;
      g.batch_extents[at] = axis.extent;
      g.a_batch_strides[at] = axis.a;
      g.b_batch_strides[at] = axis.b;
      g.c_batch_strides[at] = axis.c;
    }
  }
  return contraction;
}

class ContractionKernel final : public Kernel {
 public:
  ContractionKernel(const Contraction& contraction, int threads) : c_(contraction) {
    static const float placeholder = 0;
    GemmArguments g = c_.arguments;
    g.a = g.b = &placeholder;
    scratch_ = gemm_scratch_bytes(g, threads);
    for (int d = 0; d < g.batch_rank; ++d) batch_ *= g.batch_extents[d];
  }
  void run(const KernelCall& call) const override {
    GemmArguments g = c_.arguments;
    g.a = static_cast<const float*>(call.inputs[c_.a_port]);
    g.b = static_cast<const float*>(call.inputs[c_.b_port]);
    g.c = static_cast<float*>(call.outputs[0]);
    gemm(g, call.scratch, call.pool);
  }
  std::string describe() const override {
    return fmt::format("contraction {}x {}x{}x{}", batch_, c_.arguments.m, c_.arguments.n, c_.arguments.k);
  }
  size_t scratch_bytes() const override { return scratch_; }
  double flops() const override {
    const GemmArguments& g = c_.arguments;
    return 2.0 * static_cast<double>(batch_) * static_cast<double>(g.m * g.n) * static_cast<double>(g.k);
  }

 private:
  Contraction c_;
  size_t scratch_ = 0;
  int64_t batch_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> make_general_contraction(const StepContext& context) {
  if (context.fused() || context.outputs[0].count() == 0) return nullptr;
  const auto contraction = read_contraction(*context.programs[0]);
  if (!contraction || contraction->arguments.k == 0) return nullptr;
  return std::make_unique<ContractionKernel>(*contraction, context.threads);
}

}  // namespace axrun::runtime
