#include "search/lowering.h"

#include "jit/byte_products.h"
#include "search/alternatives.h"
#include "search/lower_scheduled.h"
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

/// Sums in integers are worth it where there are schedules for them.
bool has_integer_schedules(const Program& program, const SizeFacts& facts, const std::vector<bool>& constant,
                           const jit::Target& target) {
  const Pieces pieces = cut(program, facts, constant, target);
  const auto is = [](const Piece& piece, Piece::Kind kind) { return piece.kind == kind; };
  bool found = false;
  for (const Piece& piece : pieces.pieces) {
    const ir::Stage& stage = program.stages[piece.range.first];
    const bool sums = stage.kind == ir::StageKind::reduce && stage.monoid.kind == ir::Monoid::Kind::sum;
    const bool integers = is(piece, Piece::Kind::gathered_words) || is(piece, Piece::Kind::integer_product) ||
                          is(piece, Piece::Kind::integer_columns);
    const ir::ElementType type = program.tensors[static_cast<size_t>(stage.results[0])].type;
    // What constants come to is computed once.
    const bool prepared = constant[static_cast<size_t>(stage.results[0])];
    if (sums && type == ir::ElementType::i32 && !integers && !prepared) return false;
    found = found || integers;
  }
  return found && pieces.reason.empty();
}

Program simplified(const Program& expression, const SizeFacts& facts, const Sizes& sizes,
                   const std::vector<bool>& constant, const jit::Target& target) {
  for (const IntegerSums kind : {IntegerSums::bytes, IntegerSums::words}) {
    if (kind == IntegerSums::bytes && !jit::has_byte_products(target)) continue;
    Program integers = simplify(expression, facts, kind);
    if (has_integer_schedules(integers, facts, constant_tensors(integers, constant, sizes), target))
      return integers;
  }
  return simplify(expression, facts);
}

Lowered lowered_as(const Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
                   const jit::Target& target, size_t rank, const GivenSchedule* given) {
  Lowered lowered;
  lowered.reason = unsupported_because(expression, sizes);
  if (!lowered.reason.empty()) return lowered;

  const SizeFacts facts(sizes);
  lowered.expression = simplified(expression, facts, sizes, constant, target);
  const Program& program = lowered.expression;
  lowered.reason = unindexable_because(program);
  if (!lowered.reason.empty()) return lowered;
  const std::vector<bool> same = constant_tensors(program, constant, sizes);
  const Pieces pieces = cut(program, facts, same, target);
  lowered.reason = pieces.reason;
  if (!lowered.reason.empty()) return lowered;

  LoopWriter writer(program.name, sizes);
  StageValues values(program, writer);
  PieceContext context{program, facts, target, same, writer, values, {}};
  const Alternatives alternatives = alternatives_of(context, pieces);
  lowered.alternatives = alternatives.count;
  declare_interface(context);
  const std::optional<ScheduleReport> written =
      given != nullptr || rank <= alternatives.count
          ? write_pieces(context, pieces, {alternatives.piece, rank, given})
          : std::nullopt;
  if (!written) {
    lowered.reason = "it has no such alternative";
    return lowered;
  }
  lowered.schedule = *written;
  lowered.kind = kind_of(program, pieces, facts, same, target);
  lowered.program = writer.finish();
  return lowered;
}

}  // namespace

Lowered lower(const Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
              const jit::Target& target, size_t rank) {
  return lowered_as(expression, sizes, constant, target, rank, nullptr);
}

Lowered lower_scheduled(const Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
                        const jit::Target& target, const GivenSchedule& schedule) {
  return lowered_as(expression, sizes, constant, target, 0, &schedule);
}

}  // namespace axrun::search
