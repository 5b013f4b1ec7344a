#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/value.h"
#include "tests/operators/random.h"

namespace axrun::tests {

/// What a run came to.
struct Outcome {
  std::vector<runtime::RuntimeValue> values;
  std::string refusal;  ///< not empty: the message of its error
  bool internal = false;

  bool refused() const { return !refusal.empty(); }
};

/// Numbers in which Fourier transforms are computed: axrun's are exact to their last rounding.
enum class Transforms { in_double, in_their_type };

/// How far results may be from the reference's where floats are rounded otherwise: judged by what happens
/// when every node that rounds is given operands and gives results which are a few roundings away.
class Roundings {
 public:
  /// The graph as it was read; what `inputs` refers to must outlive this.
  Roundings(const ir::Graph& graph, const std::vector<runtime::RuntimeValue>& inputs,
            Transforms transforms = Transforms::in_double);

  struct Output {
    bool decided = false;  ///< by rounding: its type, its shape or its number of items came out otherwise
    /// The largest difference of each element, over all tries: infinite where an integer, a text or an
    /// infinity came out otherwise. Elements of sequences follow one another.
    std::vector<double> spreads;
  };
  /// One for each output. Where all are decided by rounding, so is whether the model answers.
  const std::vector<Output>& outputs();
  /// Which of several equal numbers is the largest comes out in one of so many ways that few tries need not
  /// see all of them. False, and nothing is tried, after the most.
  bool try_more();

 private:
  void try_until(uint64_t seed);

  const ir::Graph& graph_;
  const std::vector<runtime::RuntimeValue>& inputs_;
  Transforms transforms_;
  std::vector<runtime::RuntimeValue> exact_;
  uint64_t tried_ = 0;
  std::vector<Output> outputs_;
};

enum class Verdict {
  same,       ///< to a few roundings of each element
  explained,  ///< by the spread of the elements that differ by more
  both_refuse,
  decided_by_rounding,  ///< what differs came out otherwise in `Roundings`, too
  different
};
constexpr size_t verdict_count = 5;

struct Judgement {
  Verdict verdict = Verdict::same;
  std::string why;  ///< what differs, or would without its excuse
};

/// Compares with the reference, element by element: integers, texts and forms exactly, floats by a few
/// roundings, else by `roundings`, of which more are tried until they explain what differs.
Judgement judge(const Outcome& reference, const Outcome& other, Roundings& roundings);

/// Changes one element: a float by 256 roundings, an integer to 0 or 1, a text. False where there is none.
bool make_mistake(Outcome& outcome, runtime::Random& random);

}  // namespace axrun::tests
