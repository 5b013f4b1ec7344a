#include "search/integer_neighbours.h"

#include <algorithm>

#include "jit/byte_products.h"
#include "search/integer_product.h"

namespace axrun::search {

using ir::Dim;
using ir::ElementType;
using ir::ExprId;
using ir::ScalarOp;
using ir::loop::LoopKind;

Neighbours neighbours_of(const PieceContext& context, ExprId left, ExprId right, int64_t depth) {
  constexpr int64_t pair = 2, quad = 4;
  const auto is = [&](ExprId id, ElementType type) {
    const auto bounds = integer_bounds(context.program, id);
    return bounds && bounds->low >= ir::integer_min(type) && bounds->high <= ir::integer_max(type);
  };
  const bool bytes = jit::has_byte_products(context.target) && depth % quad == 0 &&
                     is(left, ElementType::i8) && is(right, ElementType::u8);
  if (bytes) return {quad, ElementType::i8, ElementType::u8};
  return {pair, ElementType::i16, ElementType::i16};
}

int narrowed(PieceContext& context, ExprId id, ElementType type, const ir::Dims& point) {
  const ir::Expr& expr = context.program.exprs[static_cast<size_t>(id)];
  if (expr.op == ScalarOp::cast) {
    const ExprId inner = expr.args[0];
    if (context.program.exprs[static_cast<size_t>(inner)].type == type)
      return context.values.value(inner, point);
  }
  return context.writer.operation(ScalarOp::cast, type, {context.values.value(id, point)});
}

int64_t tile_rows(const jit::Target& target, int64_t vectors, int64_t rows) {
  const int64_t most = (target.vector_registers - vectors - 2) / vectors;
  const auto computed = [rows](int64_t height) { return (rows + height - 1) / height * height; };
  int64_t best = std::clamp<int64_t>(rows, 1, most);
  for (int64_t height = best - 1; 2 * height > most; --height) {
    if (computed(height) < computed(best)) best = height;
  }
  return best;
}

void a_few_at_a_time(LoopWriter& writer, int64_t terms, const LoopWriter::Body& term) {
  constexpr int64_t together = 4;
  const int64_t whole = terms / together, rest = terms % together;
  if (whole != 0) {
    writer.loop(LoopKind::sequential, "pb", Dim(whole), [&](const Dim& pb) {
      writer.loop(LoopKind::unrolled, "p1", Dim(together), [&](const Dim& p1) { term(together * pb + p1); });
    });
  }
  if (rest == 0) return;
  writer.loop(LoopKind::unrolled, "p2", Dim(rest), [&](const Dim& p2) { term(Dim(together * whole) + p2); });
}

int widened(LoopWriter& writer, const ir::loop::Access& access) {
  return writer.operation(ScalarOp::cast, ElementType::i32, {writer.load(access)});
}

}  // namespace axrun::search
