#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/value.h"

namespace axrun::tests {

/// What a run came to.
struct Outcome {
  std::vector<runtime::RuntimeValue> values;
  std::string refusal;  ///< not empty: the message of its error
  bool internal = false;

  bool refused() const { return !refusal.empty(); }
};

/// How far results may be from the reference's where floats are rounded otherwise: judged by what happens
/// when every node that rounds is given operands and gives results which are a few roundings away.
class Roundings {
 public:
  /// The graph as it was read; what `inputs` refers to must outlive this.
  Roundings(const ir::Graph& graph, const std::vector<runtime::RuntimeValue>& inputs);

  struct Output {
    bool decided = false;  ///< by rounding: types, shapes, integers, texts or infinities came out otherwise
    double spread = 0;     ///< the largest difference of an element, over all tries
  };
  /// One for each output. Where all are decided by rounding, so is whether the model answers.
  const std::vector<Output>& outputs();

 private:
  const ir::Graph& graph_;
  const std::vector<runtime::RuntimeValue>& inputs_;
  std::vector<Output> outputs_;
};

enum class Verdict { same, both_refuse, decided_by_rounding, different };

struct Judgement {
  Verdict verdict = Verdict::same;
  std::string why;  ///< what differs, or would without its excuse
};

/// Compares with the reference: integers, texts and forms exactly, floats by a few roundings, else by
/// `roundings`. `may_skip`: the model has nodes that nothing reads, whose data may be bad.
Judgement judge(const Outcome& reference, const Outcome& other, bool may_skip, Roundings& roundings);

}  // namespace axrun::tests
