#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/target.h"
#include "jit/work_count.h"
#include "runtime/cli/limits.h"
#include "runtime/cli/record.h"
#include "runtime/cli/split_report.h"

namespace axrun::cli {

/// A step of the plan in force, with what was tried for it.
struct ExplainedStep {
  runtime::StepProfile profile;
  double us = 0;     ///< of one run of the model
  double share = 0;  ///< of it, of that run
  Limit limit;       ///< of one run of the model
  double calls = 1;  ///< in one run of the model
  /// What a call executes; of generated kernels of the main graph.
  std::optional<jit::WorkCount> work;
  /// Of its expression, the one in force first: the others are for other sizes. Empty: it was never the
  /// optimiser's turn.
  std::vector<runtime::OptimizedKernel> kernels;
  /// Of larger groups of nodes that begin with its own, tried as one kernel and left apart.
  std::vector<runtime::OptimizedKernel> lost_joints;
};

/// Why a model runs as it does.
struct Explanation {
  Record record;
  jit::Target target;                ///< with measured speeds
  std::vector<ExplainedStep> steps;  ///< in order of execution
  double run_us = 0;                 ///< the sum of their times
  double limit_us = 0;               ///< and of their limits
  std::vector<ExplainedSplit> splits;
};

/// By the name of a step's first node, and its operators.
using StepWork = std::map<std::pair<std::string, std::string>, jit::WorkCount>;
/// What the generated kernels of the plan in force for these inputs execute.
StepWork work_of(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                 const jit::Target& target);

/// record: of a session whose optimiser has worked. steps: of `runs` profiled runs.
Explanation explain(Record record, const jit::Target& target, const std::vector<runtime::StepProfile>& steps,
                    int runs, const StepWork& work = {});

/// The same without the steps that none of the nodes belongs to: a node's name, or, where no step has that, a
/// part of it. No nodes: all. Throws Error(user) for nodes that no step begins with.
Explanation about(Explanation explanation, const std::vector<std::string>& nodes);

/// `details`: everything that was tried for each step, too.
std::string explanation_text(const Explanation& explanation, bool details);
nlohmann::ordered_json explanation_json(const Explanation& explanation);
/// A page that needs nothing but a browser.
std::string explanation_page(const Explanation& explanation);

}  // namespace axrun::cli
