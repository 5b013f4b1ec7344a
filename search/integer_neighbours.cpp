#include "search/integer_neighbours.h"

#include "jit/byte_products.h"
#include "search/integer_product.h"

namespace axrun::search {

using ir::ElementType;
using ir::ExprId;
using ir::ScalarOp;

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

int widened(LoopWriter& writer, const ir::loop::Access& access) {
  return writer.operation(ScalarOp::cast, ElementType::i32, {writer.load(access)});
}

}  // namespace axrun::search
