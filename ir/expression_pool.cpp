#include "ir/expression_pool.h"

#include <bit>
#include <functional>

namespace axrun::ir {
namespace {

void mix(size_t& hash, size_t value) { hash = hash * 0x9e3779b97f4a7c15ULL + value + (hash >> 29); }

size_t hash_of(const Expr& expr) {
  size_t hash = static_cast<size_t>(expr.op) * 64 + static_cast<size_t>(expr.type);
  for (ExprId argument : expr.args) mix(hash, static_cast<size_t>(argument));
  mix(hash, static_cast<size_t>(expr.integer));
  mix(hash, static_cast<size_t>(std::bit_cast<uint64_t>(expr.real)));
  for (ExprId index : expr.indices) mix(hash, static_cast<size_t>(index));
  if (auto constant = expr.dim.constant()) {
    mix(hash, static_cast<size_t>(*constant));
  } else {
    mix(hash, std::hash<std::string>()(expr.dim.to_string()));
  }
  return hash;
}

bool same(const Expr& a, const Expr& b) {
  return a.op == b.op && a.type == b.type && a.args == b.args && a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) && a.indices == b.indices &&
         a.dim == b.dim;
}

}  // namespace

ExprId ExpressionPool::intern(std::vector<Expr>& exprs, Expr expr) {
  const size_t hash = hash_of(expr);
  auto [first, last] = known_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (same(exprs[static_cast<size_t>(it->second)], expr)) return it->second;
  }
  auto id = static_cast<ExprId>(exprs.size());
  exprs.push_back(std::move(expr));
  known_.emplace(hash, id);
  return id;
}

}  // namespace axrun::ir
