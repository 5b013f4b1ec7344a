#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/optimizer/background.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/status_board.h"
#include "runtime/plan/fold_weights.h"

namespace axrun::runtime {

/// What a session has computed of constants before its first run.
struct LoadTimeWork {
  int by_definition = 0;  ///< nodes evaluated by the reference interpreter: there is nothing to prove
  int64_t bytes_by_definition = 0;
  std::vector<FoldedNode> folded;  ///< by fallback kernels
};

/// Constant folding as verified programs. The first answer does not wait for them: what load has folded with
/// fallback kernels is computed once more in the background, by a program that has been proved and tested
/// like every other kernel, and compared bit by bit. From then on the constants in force are that program's
/// results, once for all steps, plans and bodies that read them.
///
/// The other load-time work, packing and what goes with it, is part of the kernels that want it: a kernel's
/// phases on constants only are proved and tested with it, run once, and shared by what they are
/// (jit/prepared_store.h).
///
/// Lives as long as the optimiser; for its thread.
class LoadPrograms {
 public:
  LoadPrograms(LoadTimeWork work, StatusBoard& board);

  /// Of a graph that was made later.
  void add(std::vector<FoldedNode> folded);
  bool done() const { return left_.empty(); }
  /// Has the next folded node judged; nothing where told to stop, or where the worker cannot be started.
  void check_next(const CandidateTools& tools, WorkerProcess& worker, const Background::Place& place);

 private:
  /// The verified program of an expression, or why there is none.
  struct Known {
    std::optional<GeneratedCode> code;
    std::string reason, proof, gate;
  };
  const Known* program_for(const StepExpression& expression, const SizeValues& sizes,
                           const CandidateTools& tools, WorkerProcess& worker,
                           const Background::Place& place);
  static void list(const FoldedNode& folded, OptimizerStatus& status);
  void conclude(const Known& known, const std::string& difference);

  StatusBoard& board_;
  std::deque<FoldedNode> left_;
  size_t next_ = 0;  ///< among the status board's programs
  std::map<std::string, Known> programs_;
};

/// The expression of a folded node with its sizes left open where it has one then, so that one program serves
/// all nodes of a kind; sizes: its own. Nothing, and why, where there is no expression.
std::optional<StepExpression> expression_of(const FoldedNode& folded, SizeValues& sizes, std::string& reason);

}  // namespace axrun::runtime
