#include "verify/loop_values.h"

#include "ir/arithmetic.h"
#include "verify/index_operation.h"

namespace axrun::verify {

using ir::ElementType;
using ir::ScalarOp;

std::optional<Term> index_value(const LoopNest& nest, int id, const Instance& at) {
  const ir::loop::Value& v = nest.program().values[static_cast<size_t>(id)];
  Terms& terms = nest.terms();
  if (v.op == ScalarOp::integer && v.type == ElementType::i64) return terms.integer(v.integer);
  if (v.op == ScalarOp::integer && v.type == ElementType::boolean) return terms.truth(v.integer != 0);
  if (v.op == ScalarOp::extent) return term_of(terms, v.index, nest.names(at));
  if (v.op == ScalarOp::integer || v.op == ScalarOp::real || v.op == ScalarOp::load) return std::nullopt;
  const int count = ir::argument_count(v.op);
  TermList args;
  for (int k = 0; k < count; ++k) {
    const auto argument = index_value(nest, v.args[static_cast<size_t>(k)], at);
    if (!argument) return std::nullopt;
    args.push_back(*argument);
  }
  if (v.op == ScalarOp::cast || v.op == ScalarOp::cast_saturate) {
    const ElementType from = nest.program().values[static_cast<size_t>(v.args[0])].type;
    return from == v.type ? std::optional(args[0]) : std::nullopt;
  }
  if (v.op == ScalarOp::select) {
    if (v.type == ElementType::i64) return terms.choose(args[0], args[1], args[2]);
    return std::nullopt;
  }
  return index_operation(terms, v.op, nest.program().values[static_cast<size_t>(v.args[0])].type, args);
}

}  // namespace axrun::verify
