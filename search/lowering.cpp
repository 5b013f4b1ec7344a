#include "search/lowering.h"

#include <algorithm>

#include "search/contraction.h"
#include "search/gathered.h"
#include "search/map.h"
#include "search/pieces.h"
#include "search/rows.h"
#include "search/simplify.h"
#include "search/supported.h"
#include "search/windows.h"

namespace axrun::search {

using ir::Program;
using ir::TensorId;

namespace {

/// One flag per tensor: whether it is the same in every run.
std::vector<bool> constant_tensors(const Program& program, const std::vector<bool>& constant_operands) {
  std::vector<bool> constant(program.tensors.size(), false);
  for (size_t k = 0; k < program.operands.size() && k < constant_operands.size(); ++k) {
    if (program.operands[k] != ir::none)
      constant[static_cast<size_t>(program.operands[k])] = constant_operands[k];
  }
  for (const ir::Stage& stage : program.stages) {
    bool same = true;
    for (const ir::ExprId load : loads_of(program, stage.body[0])) {
      same = same && constant[static_cast<size_t>(program.exprs[static_cast<size_t>(load)].integer)];
    }
    constant[static_cast<size_t>(stage.results[0])] = same;
  }
  return constant;
}

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

/// Memory for what later pieces read.
void allocate_results(PieceContext& context, Range range) {
  for (size_t s = range.first; s < range.first + range.count; ++s) {
    const TensorId id = context.program.stages[s].results[0];
    if (context.buffers.count(id) != 0 || !is_read_outside(context.program, id, range)) continue;
    const ir::TensorDecl& tensor = context.program.tensors[static_cast<size_t>(id)];
    context.buffers[id] =
        context.writer.allocate(tensor.name, tensor.type, tensor.dims, ir::loop::Level::memory);
  }
}

void write(PieceContext& context, const Piece& piece) {
  for (const auto& [tensor, buffer] : context.buffers) context.values.read_buffer(tensor, buffer);
  switch (piece.kind) {
    case Piece::Kind::windows:
      return write_windows(context, piece.windows, plan_windows(context, piece.windows));
    case Piece::Kind::gathered:
      return write_gathered(context, piece.gathered, plan_gathered(context, piece.gathered));
    case Piece::Kind::contraction:
      return write_contraction(context, piece.product, plan_contraction(context, piece.product));
    case Piece::Kind::rows:
      return write_rows(context, piece.rows, plan_rows(context, piece.rows));
    case Piece::Kind::map: {
      const ir::Stage& stage = context.program.stages[piece.range.first];
      return write_map(context, stage, plan_map(context, stage));
    }
  }
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
  const std::vector<bool> same = constant_tensors(program, constant);
  const Pieces pieces = cut(program, facts, same);
  lowered.reason = pieces.reason;
  if (!lowered.reason.empty()) return lowered;

  LoopWriter writer(program.name, sizes);
  StageValues values(program, writer);
  PieceContext context{program, facts, target, same, writer, values, {}};
  declare_interface(context);
  for (const Piece& piece : pieces.pieces) {
    const auto make = [&] {
      allocate_results(context, piece.range);
      write(context, piece);
    };
    const size_t end = piece.range.first + piece.range.count;
    bool prepared = true;
    for (size_t s = piece.range.first; s < end; ++s) {
      prepared = prepared && same[static_cast<size_t>(program.stages[s].results[0])];
    }
    if (prepared) {
      writer.at_beginning(make);
    } else {
      make();
    }
    lowered.kind += (lowered.kind.empty() ? "" : "+") + std::string(name_of(piece.kind));
  }
  lowered.program = writer.finish();
  return lowered;
}

}  // namespace axrun::search
