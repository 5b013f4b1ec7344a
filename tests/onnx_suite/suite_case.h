#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::tests {

/// How one case of ONNX's own suite ended.
enum class Outcome {
  passed,
  random,   ///< the outputs are random: types, shapes, possible values and rates were compared
  refused,  ///< an operator, type or attribute axrun does not have, said by a clear message
  bounded,  ///< further from the stored answer than the tolerance: the type's own rounding is; both answers
            ///< lie within a derived bound (derived_bound.h)
  wrong,    ///< another answer than the stored one
  failed,   ///< an error where there should be an answer
  contradictory,  ///< the stored output does not follow from the stored model; it does once the mistake that
                  ///< stored_mistakes.h names is made, too
};

struct CaseResult {
  std::string name;
  Outcome outcome = Outcome::passed;
  std::string why;
  int generated = 0;     ///< steps that ran generated kernels when the answer was compared
  int steps = 0;         ///< with a kernel, where the optimiser looked
  std::string evidence;  ///< lines for coverage.py: the model's nodes, and what ran them
};

/// What answers. `generated`: the automatic tier, after everything was swapped in that could be verified.
enum class Answering { fallback, reference, generated };

/// Folders below `root` that hold a model.onnx, sorted.
std::vector<std::string> find_cases(const std::string& root);

/// Whether the folder is one of Debian's libonnx-testdata.
bool is_packaged(const std::string& folder);

/// Runs one folder (model.onnx, test_data_set_K) and compares with the suite's tolerance:
/// |got - want| <= 1e-7 + 1e-3 |want| unless the folder says otherwise; integers, booleans and strings equal.
CaseResult run_case(const std::string& folder, Answering answering, bool with_evidence = false);

}  // namespace axrun::tests
