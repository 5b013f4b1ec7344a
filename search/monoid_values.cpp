#include "search/monoid_values.h"

#include <limits>

#include "ir/arithmetic.h"

namespace axrun::search {

using ir::Monoid;
using ir::loop::Combine;

Combine combine_of(Monoid::Kind kind) {
  switch (kind) {
    case Monoid::Kind::sum:
      return Combine::add;
    case Monoid::Kind::product:
      return Combine::mul;
    case Monoid::Kind::min:
      return Combine::min;
    default:
      return Combine::max;
  }
}

namespace {

double real_identity(Monoid::Kind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case Monoid::Kind::sum:
      return 0;
    case Monoid::Kind::product:
      return 1;
    case Monoid::Kind::min:
      return infinity;
    default:
      return -infinity;
  }
}

}  // namespace

int identity_value(LoopWriter& writer, Monoid::Kind kind, ir::ElementType type) {
  if (is_float(type)) return writer.real(real_identity(kind), type);
  return writer.integer(ir::integer_identity(kind, type), type);
}

bool is_identity(const ir::Program& program, ir::ExprId id, Monoid::Kind kind) {
  const ir::Expr& expr = program.exprs[static_cast<size_t>(id)];
  return expr.op == ir::ScalarOp::real && expr.real == real_identity(kind);
}

}  // namespace axrun::search
