#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

/// What the library knows of one expression.
struct KernelLibrary::Entry {
  std::string key;
  /// The version since which the library answers so; of a range: so of what is specialised from it, too.
  uint64_t changed = 0;
  /// Kernels that count their work outlive the library. Its program is missing where it was read from a cache
  /// and nobody has asked for it (expression()).
  mutable std::shared_ptr<const StepExpression> shared_expression;
  search::Sizes ranges;
  std::optional<GeneratedCode> generated;
  std::vector<KernelVerdict> verdicts;
  OptimizedKernel record;
  std::vector<std::shared_ptr<Entry>> specialised;  ///< of an entry for a range
  Entry* range = nullptr;                           ///< of a specialised entry: whose it is
  uint64_t used = 0;                                ///< of a specialised entry: when last, in uses
  Role role = Role::step;
  std::string stays_within;  ///< why its code is not tested at more sizes; empty: it may be
  /// What was in force before an alternative was taken over, and is again where that is blamed: the latest
  /// one last, until real runs have confirmed the alternatives.
  struct Earlier {
    GeneratedCode code;
    std::vector<KernelVerdict> verdicts;
    OptimizedKernel record;
  };
  std::vector<Earlier> earlier;
};

struct KernelLibrary::Form {
  std::shared_ptr<const StepExpression> expression;
  std::shared_ptr<Entry> entry;   ///< null: at these shapes there is no expression
  std::string reason;             ///< then: why
  std::vector<ir::Shape> shapes;  ///< then
  /// It is so of plans that keep to these (PlanOptions); empty: of all. Without an entry: there is no
  /// expression for open sizes that do.
  std::string assumptions;
  /// What it takes for granted that is constant in some plans of the graph only.
  std::vector<std::pair<ir::ValueId, ir::Tensor>> contents;
};

}  // namespace axrun::runtime
