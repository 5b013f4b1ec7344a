#include "verify/accesses.h"

#include <set>

#include "verify/loop_values.h"

namespace axrun::verify {
namespace {

class Walk {
 public:
  Walk(const LoopNest& nest, const Instance& at, std::vector<Touch>& found)
      : nest_(nest), at_(at), found_(found) {}

  void value(int id, const TermList& guards) {
    if (id == ir::none || !visited_.insert({id, guards}).second) return;
    const ir::loop::Value& v = nest_.program().values[static_cast<size_t>(id)];
    if (v.op != ir::ScalarOp::load) {
      for (const int argument : v.args) value(argument, guards);
      return;
    }
    TermList inside = guards, outside = guards;
    if (v.args[0] != ir::none) {
      value(v.args[0], guards);
      // A guard that depends on data tells nothing.
      if (const auto guard = index_value(nest_, v.args[0], at_)) {
        inside.push_back(*guard);
        outside.push_back(nest_.terms().negation(*guard));
      }
      value(v.args[1], outside);
    }
    found_.push_back({&v.access, false, inside});
  }

 private:
  const LoopNest& nest_;
  const Instance& at_;
  std::vector<Touch>& found_;
  std::set<std::pair<int, TermList>> visited_;
};

}  // namespace

std::vector<Touch> touches(const LoopNest& nest, const Instance& at) {
  const ir::loop::Compute& compute = *nest.leaf(at.leaf).compute;
  std::vector<Touch> found;
  Walk(nest, at, found).value(compute.value, {});
  if (compute.combine != ir::loop::Combine::assign) found.push_back({&compute.target, false, {}});
  found.push_back({&compute.target, true, {}});
  return found;
}

std::vector<int> integer_divisors(const LoopNest& nest, int leaf) {
  using ir::ScalarOp;
  std::vector<int> found;
  std::set<int> visited;
  std::vector<int> open = {nest.leaf(leaf).compute->value};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id == ir::none || !visited.insert(id).second) continue;
    const ir::loop::Value& v = nest.program().values[static_cast<size_t>(id)];
    open.insert(open.end(), v.args.begin(), v.args.end());
    const bool divides = v.op == ScalarOp::div || v.op == ScalarOp::floor_div ||
                         v.op == ScalarOp::floor_mod || v.op == ScalarOp::remainder;
    if (divides && !ir::is_float(v.type)) found.push_back(v.args[1]);
  }
  return found;
}

}  // namespace axrun::verify
