// Tensors made of one value, and arithmetic progressions.
#include <algorithm>
#include <cstring>

#include "ir/evaluate.h"
#include "runtime/kernels/kernels.h"
#include "runtime/operators/indexing_parts.h"

namespace axrun::runtime {
namespace {

using ir::ScalarOp;

/// Every element is the same number.
class FillKernel final : public Kernel {
 public:
  FillKernel(ir::Tensor value, int64_t count) : value_(std::move(value)), count_(count) {}
  void run(const KernelCall& call) const override {
    with_element(ir::size_of(value_.type()), [&](auto sample) {
      using T = decltype(sample);
      std::fill_n(static_cast<T*>(call.outputs[0]), count_, *value_.as<T>());
    });
  }
  std::string describe() const override { return "fill"; }

 private:
  ir::Tensor value_;
  int64_t count_;
};

/// A map whose value is a literal.
std::unique_ptr<Kernel> make_fill(const StepContext& context) {
  if (context.fused()) return nullptr;
  const ir::Program& program = *context.programs[0];
  if (program.stages.size() != 1 || program.outputs.size() != 1 || !is_movable(context.outputs[0].type))
    return nullptr;
  const ir::Stage& stage = program.stages[0];
  if (stage.kind != ir::StageKind::map || stage.results[0] != program.outputs[0]) return nullptr;
  const ir::Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  if (body.op != ScalarOp::real && body.op != ScalarOp::integer) return nullptr;
  ir::Tensor value = ir::Tensor::allocate(body.type, {});
  if (body.op == ScalarOp::real) {
    value.set_real(0, body.real);
  } else {
    value.set_int(0, body.integer);
  }
  return std::make_unique<FillKernel>(std::move(value), context.outputs[0].count());
}

}  // namespace

void generator_factories(std::vector<FactoryEntry>& table) { table.push_back({"*", "*", make_fill}); }

}  // namespace axrun::runtime
