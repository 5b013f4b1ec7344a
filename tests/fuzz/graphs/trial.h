#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/graphs/growing.h"
#include "tests/fuzz/graphs/judgement.h"

namespace axrun::tests {

enum class Answering {
  fallback,   ///< precompiled kernels, run twice and with the other inputs in between
  optimized,  ///< generated kernels, once nothing is left to swap in
};

/// How a model was answered beside the reference.
struct Trial {
  std::vector<Judgement> runs;    ///< one for each set of inputs
  int generated = 0;              ///< steps with kernels that were swapped in
  int outputs = 0;                ///< compared
  int mistakes = 0, noticed = 0;  ///< made in results that were right, and told from them

  /// The first that is different; null: none.
  const Judgement* fault() const;
};

/// Writes the model as ONNX, and lets both tiers read and run it. `tests_judge`: one element of every answer
/// that is right is changed, which the judge has to notice.
Trial try_model(const GrownModel& grown, Answering answering, bool tests_judge = false);

/// The model and both sets of inputs as ONNX's test folders hold them, and back. `expected`: the reference's
/// results of the first are written, too.
void write_case(const GrownModel& grown, const std::string& folder, bool expected);
GrownModel read_case(const std::string& folder);

/// A smaller model of which `fails` is still true: without nodes, outputs, inputs and named sizes that do not
/// matter. `fails` must bear whatever the model does.
GrownModel shrunk(GrownModel grown, const std::function<bool(const GrownModel&)>& fails);

}  // namespace axrun::tests
