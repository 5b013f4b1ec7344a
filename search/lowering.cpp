#include "search/lowering.h"

#include "search/pieces.h"
#include "search/simplify.h"
#include "search/supported.h"
#include "search/write_pieces.h"

namespace axrun::search {

using ir::Program;
using ir::TensorId;

namespace {

/// Inputs and outputs, in this order.
void declare_interface(PieceContext& context) {
  const auto declare = [&](TensorId id, ir::loop::Role role) {
    const ir::TensorDecl& tensor = context.program.tensors[static_cast<size_t>(id)];
    context.buffers[id] = context.writer.declare(tensor.name, role, tensor.type, tensor.dims);
  };
  for (const TensorId id : context.program.operands) {
    if (id != ir::none) declare(id, ir::loop::Role::input);
  }
  for (const TensorId id : context.program.outputs) declare(id, ir::loop::Role::output);
}

}  // namespace

Lowered lower(const Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
              const jit::Target& target) {
  Lowered lowered;
  lowered.reason = unsupported_because(expression, sizes);
  if (!lowered.reason.empty()) return lowered;

  const SizeFacts facts(sizes);
  lowered.expression = simplify(expression, facts);
  const Program& program = lowered.expression;
  lowered.reason = unindexable_because(program);
  if (!lowered.reason.empty()) return lowered;
  const std::vector<bool> same = constant_tensors(program, constant, sizes);
  const Pieces pieces = cut(program, facts, same);
  lowered.reason = pieces.reason;
  if (!lowered.reason.empty()) return lowered;

  LoopWriter writer(program.name, sizes);
  StageValues values(program, writer);
  PieceContext context{program, facts, target, same, writer, values, {}};
  declare_interface(context);
  write_pieces(context, pieces);
  lowered.kind = kind_of(program, pieces, facts, same);
  lowered.program = writer.finish();
  return lowered;
}

}  // namespace axrun::search
