#include "tests/ir/same_program.h"

#include <bit>
#include <map>
#include <set>

#include "ir/error.h"
#include "ir/text.h"

namespace axrun::ir {
namespace {

class Comparison {
 public:
  Comparison(const Program& a, const Program& b) : a_(a), b_(b) {}

  bool run() {
    if (a_.name != b_.name || a_.operands.size() != b_.operands.size() ||
        a_.outputs.size() != b_.outputs.size() || a_.stages.size() != b_.stages.size()) {
      return fail("name or counts");
    }
    for (size_t k = 0; k < a_.operands.size(); ++k) {
      if (!match(a_.operands[k], b_.operands[k])) return fail("operand " + std::to_string(k));
    }
    for (size_t k = 0; k < a_.stages.size(); ++k) {
      if (!stages(a_.stages[k], b_.stages[k])) return fail("stage " + a_.stages[k].name);
    }
    return tensors(a_.outputs, b_.outputs) || fail("outputs");
  }

  std::string difference;

 private:
  bool fail(const std::string& what) {
    difference = what + (difference.empty() ? "" : ": " + difference);
    return false;
  }

  /// Pairs two declarations.
  bool match(TensorId x, TensorId y) {
    if (x == none || y == none) return x == y;
    const TensorDecl& p = a_.tensors[static_cast<size_t>(x)];
    const TensorDecl& q = b_.tensors[static_cast<size_t>(y)];
    tensor_[x] = y;
    return p.name == q.name && p.type == q.type && p.dims == q.dims;
  }

  bool tensors(const std::vector<TensorId>& x, const std::vector<TensorId>& y) const {
    if (x.size() != y.size()) return false;
    for (size_t k = 0; k < x.size(); ++k) {
      if (x[k] == none ? y[k] != none : tensor_.at(x[k]) != y[k]) return false;
    }
    return true;
  }

  static bool axes(const std::vector<Axis>& x, const std::vector<Axis>& y) {
    if (x.size() != y.size()) return false;
    for (size_t k = 0; k < x.size(); ++k) {
      if (x[k].name != y[k].name || x[k].extent != y[k].extent) return false;
    }
    return true;
  }

  bool stages(const Stage& x, const Stage& y) {
    if (x.kind != y.kind || x.name != y.name || x.results.size() != y.results.size())
      return fail("kind or name");
    if (!axes(x.axes, y.axes) || !axes(x.reduce_axes, y.reduce_axes) || x.groups != y.groups)
      return fail("axes");
    if (x.monoid.kind != y.monoid.kind || x.combine != y.combine || x.length != y.length ||
        x.function != y.function || x.payload != y.payload || (x.step == nullptr) != (y.step == nullptr)) {
      return fail("members");
    }
    if (!tensors({x.base}, {y.base}) || !tensors(x.captures, y.captures) || !tensors(x.initial, y.initial) ||
        !tensors(x.arguments, y.arguments)) {
      return fail("tensors");
    }
    if (!expressions(x.body, y.body) || !expressions(x.target, y.target) ||
        !expressions({x.guard}, {y.guard}) || !expressions(x.monoid.identity, y.monoid.identity) ||
        !expressions(x.monoid.combine, y.monoid.combine)) {
      return fail("expressions");
    }
    for (size_t k = 0; k < x.results.size(); ++k) {
      if (!match(x.results[k], y.results[k])) return fail("result " + std::to_string(k));
    }
    if (!x.step) return true;
    Comparison inner(*x.step, *y.step);
    return inner.run() || fail(inner.difference);
  }

  bool expressions(const std::vector<ExprId>& x, const std::vector<ExprId>& y) {
    if (x.size() != y.size()) return false;
    for (size_t k = 0; k < x.size(); ++k) {
      if (!equal(x[k], y[k])) return false;
    }
    return true;
  }

  /// Without recursion: pairs still to be compared are kept in a list.
  bool equal(ExprId x, ExprId y) {
    std::vector<std::pair<ExprId, ExprId>> open = {{x, y}};
    while (!open.empty()) {
      auto [p, q] = open.back();
      open.pop_back();
      if (p == none || q == none) {
        if (p != q) return false;
        continue;
      }
      if (!compared_.insert({p, q}).second) continue;
      const Expr& e = a_.exprs[static_cast<size_t>(p)];
      const Expr& f = b_.exprs[static_cast<size_t>(q)];
      const bool same_leaf = e.op == ScalarOp::load
                                 ? tensor_.at(static_cast<TensorId>(e.integer)) == f.integer
                                 : e.integer == f.integer;
      if (e.op != f.op || e.type != f.type || !same_leaf || e.dim != f.dim ||
          e.indices.size() != f.indices.size() ||
          std::bit_cast<uint64_t>(e.real) != std::bit_cast<uint64_t>(f.real)) {
        return fail("a " + std::to_string(static_cast<int>(e.op)) + " of " + std::string(name_of(e.type)));
      }
      for (size_t k = 0; k < 3; ++k) open.emplace_back(e.args[k], f.args[k]);
      for (size_t k = 0; k < e.indices.size(); ++k) open.emplace_back(e.indices[k], f.indices[k]);
    }
    return true;
  }

  const Program& a_;
  const Program& b_;
  std::map<TensorId, TensorId> tensor_;
  std::set<std::pair<ExprId, ExprId>> compared_;
};

}  // namespace

bool same_program(const Program& a, const Program& b, std::string& difference) {
  Comparison comparison(a, b);
  const bool same = comparison.run();
  difference = comparison.difference;
  return same;
}

void require_faithful(const Program& program) {
  const std::string text = print(program);
  const Program read = parse(text, payloads_of(program));
  std::string difference;
  if (!same_program(program, read, difference)) throw Error(Fault::internal, difference + "\n" + text);
  if (print(read) != text) throw Error(Fault::internal, "the text changes when read and printed:\n" + text);
}

}  // namespace axrun::ir
