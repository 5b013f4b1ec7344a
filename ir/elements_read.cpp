#include "ir/elements_read.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/iteration_space.h"

namespace axrun::ir {
namespace {

double size_of(const TensorDecl& tensor) {
  return static_cast<double>(product(tensor.dims).constant().value_or(0));
}

class ReadCounter {
 public:
  ReadCounter(const Program& program, int64_t steps) : program_(program), steps_(steps) {
    for (const Stage& stage : program.stages) read_by(stage);
  }

  double of(TensorId id) const {
    const auto found = read_.find(id);
    if (found == read_.end()) return 0;
    return std::min(found->second, size_of(program_.tensors[static_cast<size_t>(id)]));
  }

 private:
  void read_whole(TensorId id) { read_[id] += size_of(program_.tensors[static_cast<size_t>(id)]); }

  void read_by(const Stage& stage) {
    if (stage.base != none) read_whole(stage.base);
    for (TensorId id : stage.arguments) read_whole(id);
    for (TensorId id : stage.initial) read_whole(id);
    if (stage.kind == StageKind::scan) return read_by_scan(stage);
    std::set<ExprId> visited;
    std::vector<ExprId> roots = stage.body;
    roots.insert(roots.end(), stage.target.begin(), stage.target.end());
    if (stage.guard != none) roots.push_back(stage.guard);
    const bool countable = IterationSpace::has_constant_extents(stage);
    const IterationSpace space(program_, countable ? stage : Stage(), steps_);
    for (ExprId id : roots) visit(id, countable ? &space : nullptr, visited);
  }

  void read_by_scan(const Stage& stage) {
    if (!stage.length.is_constant()) {
      for (TensorId id : stage.captures) read_whole(id);
      return;
    }
    const ReadCounter step(*stage.step, stage.length.value());
    for (size_t k = 0; k < stage.captures.size(); ++k) {
      const TensorId inside = stage.step->operands[k];
      if (inside != none) read_[stage.captures[k]] += step.of(inside);
    }
  }

  /// `space` is null where the stage's size is unknown.
  void visit(ExprId id, const IterationSpace* space, std::set<ExprId>& visited) {
    if (!visited.insert(id).second) return;
    const Expr& e = program_.exprs[static_cast<size_t>(id)];
    for (ExprId index : e.indices) visit(index, space, visited);
    for (ExprId argument : e.args) {
      if (argument != none) visit(argument, space, visited);
    }
    if (e.op != ScalarOp::load) return;
    const auto tensor = static_cast<TensorId>(e.integer);
    if (space == nullptr) return read_whole(tensor);
    read_[tensor] += space->points(space->axes_of_all(e.indices));
  }

  const Program& program_;
  int64_t steps_;
  std::map<TensorId, double> read_;
};

}  // namespace

std::vector<double> elements_read(const Program& program) {
  const ReadCounter counter(program, 1);
  std::vector<double> elements;
  for (TensorId id : program.operands) elements.push_back(id == none ? 0 : counter.of(id));
  return elements;
}

}  // namespace axrun::ir
