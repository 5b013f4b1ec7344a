#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/optimizer/optimizer.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {

using Values = std::vector<runtime::RuntimeValue>;

/// What the optimiser may take in a test, in seconds.
constexpr double patience = 120;

inline Values fallback_answers(const ModelMaker& model, const Values& inputs) {
  Values answers;
  for (const runtime::RuntimeValue& value : model.session(one_thread(runtime::Tier::fallback))->run(inputs))
    answers.emplace_back(value.tensor.clone());
  return answers;
}
inline ir::Tensor fallback_answer(const ModelMaker& model, const Values& inputs, size_t output = 0) {
  return fallback_answers(model, inputs)[output].tensor;
}

inline int products_in(const runtime::Plan& plan) {
  return static_cast<int>(std::count_if(plan.graph().nodes.begin(), plan.graph().nodes.end(),
                                        [](const ir::Node& node) { return node.op == "MatMul"; }));
}

/// For messages of tests that fail.
inline std::string text_of(const runtime::OptimizerStatus& status) {
  std::string text = std::string(name_of(status.state)) + " " + status.reason +
                     "\nlayouts: " + status.layouts.outcome + "; algebra: " + status.algebra.outcome + ", " +
                     std::to_string(status.algebra.rules) + " rules, speedup " +
                     std::to_string(status.algebra.speedup) + "; bilinear: " + status.bilinear.outcome + "\n";
  for (const auto& window : status.algebra.windows) text += window.steps;
  for (const runtime::OptimizedKernel& kernel : status.kernels) {
    text += std::to_string(kernel.steps) + " " + kernel.ops + " [" + kernel.kind + "] " + kernel.sizes + " " +
            name_of(kernel.state) + " " + std::to_string(kernel.share) + ": " + kernel.reason + " | " +
            kernel.proof + " | " + kernel.gate + " |";
    for (const std::string& node : kernel.nodes) text += " " + node;
    text += "\n";
  }
  for (const runtime::PlanSwap& swap : status.swaps) text += swap.what + " " + swap.shapes + "\n";
  return text;
}

}  // namespace axrun::tests
