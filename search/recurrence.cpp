#include "search/recurrence.h"

#include "search/write_pieces.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Program;
using ir::Stage;
using ir::TensorId;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

Program step_at(const Program& step, const Dim& time) {
  Program result = step;
  for (ir::Expr& expr : result.exprs) {
    if (expr.op != ir::ScalarOp::time) continue;
    expr.op = ir::ScalarOp::extent;
    expr.dim = time;
  }
  return result;
}

RecurrenceStep::RecurrenceStep(const Stage& scan, const Dim& time, const SizeFacts& facts,
                               const std::vector<bool>& outer_constant)
    : program(step_at(*scan.step, time)) {
  std::vector<bool> operands(program.operands.size(), false);
  for (size_t k = 0; k < scan.captures.size(); ++k)
    operands[k] = outer_constant[static_cast<size_t>(scan.captures[k])];
  constant = constant_tensors(program, operands, facts.sizes());
  pieces = cut(program, facts, constant);
}

namespace {

class Writer {
 public:
  Writer(PieceContext& context, const Stage& scan) : context_(context), scan_(scan), w_(context.writer) {}

  void run() {
    for (size_t k = 0; k < scan_.initial.size(); ++k) start(k);
    w_.loop(LoopKind::sequential, "time", scan_.length, [&](const Dim& time) { step(time); });
    for (size_t k = 0; k < scan_.initial.size(); ++k) {
      const auto result = context_.buffers.find(scan_.results[k]);
      if (result == context_.buffers.end()) continue;
      copy(dims_of(scan_.results[k]), {result->second, {}},
           [&](const Dims& element) { return Access{states_[k], with_time(scan_.length, element)}; });
    }
  }

 private:
  using From = std::function<Access(const Dims& element)>;

  const Dims& dims_of(TensorId id) const { return context_.program.tensors[static_cast<size_t>(id)].dims; }

  static Dims with_time(const Dim& time, const Dims& element) {
    Dims indices = {time};
    indices.insert(indices.end(), element.begin(), element.end());
    return indices;
  }

  /// Elements of these dims; `to` has the indices before theirs.
  void copy(const Dims& dims, const Access& to, const From& from, Dims element = {}) {
    if (element.size() == dims.size()) {
      Access target = to;
      target.indices.insert(target.indices.end(), element.begin(), element.end());
      return w_.store(target, Combine::assign, w_.load(from(element)));
    }
    const bool last = element.size() + 1 == dims.size();
    const Dim& extent = dims[element.size()];
    w_.loop(last ? LoopKind::vector : LoopKind::sequential, "i" + std::to_string(element.size()), extent,
            [&](const Dim& index) {
              Dims further = element;
              further.push_back(index);
              copy(dims, to, from, std::move(further));
            });
  }

  void start(size_t k) {
    const TensorId initial = scan_.initial[k];
    const Dims& dims = dims_of(initial);
    const ir::TensorDecl& result = context_.program.tensors[static_cast<size_t>(scan_.results[k])];
    states_.push_back(
        w_.allocate(result.name + "_states", result.type, with_time(scan_.length + 1, dims), Level::memory));
    copy(dims, {states_[k], {Dim(0)}},
         [&](const Dims& element) { return context_.values.access(initial, element); });
  }

  void step(const Dim& time) {
    const RecurrenceStep step(scan_, time, context_.facts, context_.constant);
    jit::Target one_core = context_.target;
    one_core.cores = 1;
    StageValues values(step.program, w_);
    PieceContext inner{step.program, context_.facts, one_core, step.constant, w_, values, {}};
    const size_t captures = scan_.captures.size();
    for (size_t k = 0; k < step.program.operands.size(); ++k) {
      const TensorId id = step.program.operands[k];
      if (id == ir::none) continue;
      if (k < captures) {
        inner.buffers[id] = context_.buffers.at(scan_.captures[k]);
        values.read_buffer(id, inner.buffers[id]);
      } else {
        const int state = states_[k - captures];
        values.read_at(id, [state, time](const Dims& element) { return Access{state, with_time(time, element)}; });
      }
    }
    w_.at_time(time, [&] { write_pieces(inner, step.pieces); });
    for (const auto& [tensor, buffer] : inner.buffers) values.read_buffer(tensor, buffer);
    for (size_t r = 0; r < scan_.results.size(); ++r) {
      const TensorId output = step.program.outputs[r];
      const Dims& dims = step.program.tensors[static_cast<size_t>(output)].dims;
      const From from = [&](const Dims& element) { return values.access(output, element); };
      if (r < scan_.initial.size()) {
        copy(dims, {states_[r], {time + 1}}, from);
      } else if (const auto result = context_.buffers.find(scan_.results[r]);
                 result != context_.buffers.end()) {
        copy(dims, {result->second, {time}}, from);
      }
    }
  }

  PieceContext& context_;
  const Stage& scan_;
  LoopWriter& w_;
  std::vector<int> states_;  ///< their buffers
};

}  // namespace

void write_recurrence(PieceContext& context, const Stage& scan) { Writer(context, scan).run(); }

}  // namespace axrun::search
