// Tensors made of one value, and arithmetic progressions.
#include <algorithm>
#include <cstring>

#include "ir/evaluate.h"
#include "ir/view.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ScalarOp;

/// Every element is the same number.
class FillKernel final : public Kernel {
 public:
  FillKernel(ir::Tensor value, int64_t count, bool is_open)
      : value_(std::move(value)), count_(count), is_open_(is_open) {}
  void run(const KernelCall& call) const override {
    with_element(ir::size_of(value_.type()), [&](auto sample) {
      using T = decltype(sample);
      std::fill_n(static_cast<T*>(call.outputs[0]), count_, *value_.as<T>());
    });
  }
  std::string describe() const override { return "fill"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    return is_open_ ? make_in_block<FillKernel>(value_, ports.output(0).count(), true) : nullptr;
  }

 private:
  ir::Tensor value_;
  int64_t count_;
  bool is_open_;  ///< the number is this at all sizes
};

bool is_literal(const ir::Expr& value) { return value.op == ScalarOp::real || value.op == ScalarOp::integer; }

/// A map whose value is a literal.
std::unique_ptr<Kernel> make_fill(const StepContext& context) {
  if (context.fused()) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.outputs.size() != 1 || !is_movable(context.outputs[0].type))
    return nullptr;
  const ir::Stage& stage = program.stages[0];
  if (stage.kind != ir::StageKind::map || stage.results[0] != program.outputs[0]) return nullptr;
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (!is_literal(body)) return nullptr;
  ir::Tensor value = ir::Tensor::allocate(body.type, {});
  if (body.op == ScalarOp::real) {
    value.set_real(0, body.real);
  } else {
    value.set_int(0, body.integer);
  }
  const ir::Program* const open = context.open_programs.empty() ? nullptr : context.open_programs[0];
  const bool is_open = open != nullptr && is_literal(ir::expr_of(*open, open->stages[0].body[0]));
  return std::make_unique<FillKernel>(std::move(value), context.outputs[0].count(), is_open);
}

/// Element i is start + i * step, wrapped to its type.
class ProgressionKernel final : public Kernel {
 public:
  ProgressionKernel(ir::ElementType type, int64_t start, int64_t step, int64_t count, bool is_open)
      : type_(type), start_(start), step_(step), count_(count), is_open_(is_open) {}
  void run(const KernelCall& call) const override {
    if (type_ == ir::ElementType::i64) {
      fill(static_cast<int64_t*>(call.outputs[0]));
    } else {
      fill(static_cast<int32_t*>(call.outputs[0]));
    }
  }
  std::string describe() const override { return "progression"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (!is_open_) return nullptr;
    return make_in_block<ProgressionKernel>(type_, start_, step_, ports.output(0).count(), true);
  }

 private:
  template <typename T>
  void fill(T* to) const {
    for (int64_t i = 0; i < count_; ++i)
      to[i] = static_cast<T>(static_cast<uint64_t>(start_) +
                             static_cast<uint64_t>(i) * static_cast<uint64_t>(step_));
  }

  ir::ElementType type_;
  int64_t start_, step_, count_;
  bool is_open_;  ///< start and step are these at all sizes
};

/// A map of one axis whose value is affine in it.
std::unique_ptr<Kernel> make_progression(const StepContext& context) {
  if (context.fused() || context.outputs[0].rank() != 1) return nullptr;
  const ir::ElementType type = context.outputs[0].type;
  if (type != ir::ElementType::i64 && type != ir::ElementType::i32) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.outputs.size() != 1) return nullptr;
  const ir::Stage& stage = program.stages[0];
  if (stage.kind != ir::StageKind::map || stage.results[0] != program.outputs[0] || stage.axes.size() != 1)
    return nullptr;
  ir::ExprId value = stage.body[0];
  const ir::Expr& body = ir::expr_of(program, value);
  if (body.op == ScalarOp::cast) value = body.args[0];
  if (ir::expr_of(program, value).type != ir::ElementType::i64) return nullptr;
  const auto index = ir::affine_index(program, stage, value);
  if (!index) return nullptr;
  const bool is_open =
      !context.open_programs.empty() &&
      ir::affine_index(*context.open_programs[0], context.open_programs[0]->stages[0], value);
  return std::make_unique<ProgressionKernel>(type, index->constant, index->coefficients[0],
                                             context.outputs[0].count(), is_open);
}

}  // namespace

void generator_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"*", "*", make_fill});
  table.push_back({"*", "*", make_progression});
}

}  // namespace axrun::runtime
