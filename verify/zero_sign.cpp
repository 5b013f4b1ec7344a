#include <algorithm>
#include <set>

#include "verify/error_bound.h"

namespace axrun::verify {

using ir::ScalarOp;
using ir::Stage;
using ir::StageKind;
using ir::TensorId;

bool sign_of_zero_is_certain(const ir::Program& program, size_t output) {
  std::vector<TensorId> open = {program.outputs.at(output)};
  std::set<TensorId> seen;
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    for (const Stage& stage : program.stages) {
      if (std::find(stage.results.begin(), stage.results.end(), id) == stage.results.end()) continue;
      if (stage.kind != StageKind::map) return false;
      // What decides, indexes or guards does not tell zeros apart; what is computed with does.
      std::vector<ir::ExprId> values = stage.body;
      while (!values.empty()) {
        const ir::Expr& e = program.exprs[static_cast<size_t>(values.back())];
        values.pop_back();
        switch (e.op) {
          case ScalarOp::load:
            open.push_back(static_cast<TensorId>(e.integer));
            if (e.args[1] != ir::none) values.push_back(e.args[1]);
            break;
          case ScalarOp::select:
            values.push_back(e.args[1]);
            values.push_back(e.args[2]);
            break;
          case ScalarOp::real:
          case ScalarOp::abs:
            break;
          case ScalarOp::neg:
          case ScalarOp::sqrt:
          case ScalarOp::floor:
          case ScalarOp::ceil:
          case ScalarOp::truncate:
          case ScalarOp::round_even:
            values.push_back(e.args[0]);
            break;
          case ScalarOp::mul:
          case ScalarOp::div:
            values.push_back(e.args[0]);
            values.push_back(e.args[1]);
            break;
          default:
            return false;
        }
      }
    }
  }
  return true;
}

}  // namespace axrun::verify
