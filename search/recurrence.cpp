#include "search/recurrence.h"

#include <algorithm>
#include <optional>

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
                               const std::vector<bool>& outer_constant, const jit::Target& target)
    : program(step_at(*scan.step, time)) {
  std::vector<bool> operands(program.operands.size(), false);
  for (size_t k = 0; k < scan.captures.size(); ++k)
    operands[k] = outer_constant[static_cast<size_t>(scan.captures[k])];
  constant = constant_tensors(program, operands, facts.sizes());
  pieces = cut(program, facts, constant, target);
}

namespace {

class RecurrenceWriter {
 public:
  RecurrenceWriter(PieceContext& context, const Stage& scan)
      : context_(context), scan_(scan), w_(context.writer), count_(scan.initial.size()) {}

  void run() {
    for (size_t k = 0; k < count_; ++k) start(k);
    for (size_t r = 0; r < scan_.results.size(); ++r) give(r);
    w_.loop(LoopKind::sequential, "time", scan_.length, [&](const Dim& time) { step(time); });
    for (size_t k = 0; k < count_; ++k) {
      if (is_copied(k))
        copy(dims_of(scan_.results[k]), context_.buffers.at(scan_.results[k]), state_at(k, scan_.length));
    }
  }

 private:
  const ir::TensorDecl& tensor(TensorId id) const {
    return context_.program.tensors[static_cast<size_t>(id)];
  }
  const Dims& dims_of(TensorId id) const { return tensor(id).dims; }

  static Dims with_time(const Dim& time, const Dims& element) {
    Dims indices = {time};
    indices.insert(indices.end(), element.begin(), element.end());
    return indices;
  }

  int view(const ir::TensorDecl& as, LoopWriter::Place place) {
    return w_.view({as.name, as.type, as.dims}, std::move(place));
  }
  /// One entry of a buffer with one per time.
  int entry(int buffer, const ir::TensorDecl& as, const Dim& time) {
    return view(as, [=](const Dims& element) { return Access{buffer, with_time(time, element)}; });
  }
  int state_at(size_t k, const Dim& time) { return entry(states_[k], tensor(scan_.results[k]), time); }

  /// In vectors that machine code can hold.
  void copy(const Dims& dims, int to, int from, const Dims& element = {}) {
    const auto move = [&](const Dims& at) { w_.store({to, at}, Combine::assign, w_.load({from, at})); };
    const size_t d = element.size();
    if (d == dims.size()) return move(element);
    const auto further = [&](const Dim& index) {
      Dims at = element;
      at.push_back(index);
      return at;
    };
    const std::string name = "i" + std::to_string(d);
    if (d + 1 < dims.size()) {
      w_.loop(LoopKind::sequential, name, dims[d],
              [&](const Dim& index) { copy(dims, to, from, further(index)); });
      return;
    }
    constexpr int64_t block = 64;
    w_.loop(LoopKind::sequential, name, floor_div(dims[d] + (block - 1), block), [&](const Dim& first) {
      const Dim left = min(dims[d] - first * block, block);
      w_.loop(LoopKind::vector, "v", left, [&](const Dim& v) { move(further(first * block + v)); });
    });
  }

  void start(size_t k) {
    const ir::TensorDecl& result = tensor(scan_.results[k]);
    states_.push_back(w_.allocate(result.name + "_states", result.type,
                                  with_time(scan_.length + 1, result.dims), Level::memory));
    copy(result.dims, state_at(k, Dim(0)), context_.buffers.at(scan_.initial[k]));
  }

  /// What the step emits as the new state k; none where that is something else.
  std::optional<size_t> emitted_state(size_t r) const {
    const std::vector<TensorId>& outputs = scan_.step->outputs;
    const auto found =
        std::find(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(count_), outputs[r]);
    const auto k = static_cast<size_t>(found - outputs.begin());
    return k < count_ ? std::optional(k) : std::nullopt;
  }

  /// Outputs have memory of their own; others are read among the states.
  bool is_copied(size_t r) const {
    const TensorId id = scan_.results[r];
    return std::find(context_.program.outputs.begin(), context_.program.outputs.end(), id) !=
           context_.program.outputs.end();
  }

  void give(size_t r) {
    const TensorId id = scan_.results[r];
    if (is_copied(r)) return;
    if (r < count_) {
      context_.buffers[id] = state_at(r, scan_.length);
    } else if (const auto k = emitted_state(r)) {
      const int states = states_[*k];
      context_.buffers[id] = view(tensor(id), [states](const Dims& element) {
        Dims next = element;
        next[0] = next[0] + 1;
        return Access{states, next};
      });
    } else {
      context_.buffers[id] = w_.allocate(tensor(id).name, tensor(id).type, dims_of(id), Level::memory);
    }
  }

  void step(const Dim& time) {
    const RecurrenceStep step(scan_, time, context_.facts, context_.constant, context_.target);
    const Program& program = step.program;
    jit::Target one_core = context_.target;
    one_core.cores = 1;
    StageValues values(program, w_);
    PieceContext inner{program, context_.facts, one_core, step.constant, w_, values, {}};
    const size_t captures = scan_.captures.size();
    for (size_t k = 0; k < program.operands.size(); ++k) {
      const TensorId id = program.operands[k];
      if (id == ir::none) continue;
      inner.buffers[id] =
          k < captures ? context_.buffers.at(scan_.captures[k]) : state_at(k - captures, time);
      values.read_buffer(id, inner.buffers[id]);
    }
    // Where the step's outputs belong; what is written elsewhere is copied.
    std::vector<int> places(scan_.results.size(), ir::none);
    for (size_t r = 0; r < scan_.results.size(); ++r) {
      const TensorId id = program.outputs[r];
      if (r >= count_ && !is_copied(r) && emitted_state(r)) continue;
      const auto result = context_.buffers.find(scan_.results[r]);
      const ir::TensorDecl& as = program.tensors[static_cast<size_t>(id)];
      places[r] = r < count_ ? state_at(r, time + 1) : entry(result->second, as, time);
      if (inner.buffers.try_emplace(id, places[r]).second) places[r] = ir::none;
    }
    w_.at_time(time, [&] { write_pieces(inner, step.pieces); });
    for (size_t r = 0; r < scan_.results.size(); ++r) {
      const TensorId id = program.outputs[r];
      if (places[r] == ir::none) continue;
      copy(program.tensors[static_cast<size_t>(id)].dims, places[r], inner.buffers.at(id));
    }
  }

  PieceContext& context_;
  const Stage& scan_;
  LoopWriter& w_;
  const size_t count_;       ///< of states
  std::vector<int> states_;  ///< their buffers
};

}  // namespace

void write_recurrence(PieceContext& context, const Stage& scan) { RecurrenceWriter(context, scan).run(); }

}  // namespace axrun::search
