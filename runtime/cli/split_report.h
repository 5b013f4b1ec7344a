#pragma once

#include <string>
#include <vector>

#include "runtime/cli/options.h"
#include "runtime/session.h"

namespace axrun::cli {

/// A reduction that the model has and that may be worked out by parts, on whose word.
struct ExplainedSplit {
  std::string name, of, standing;
  std::vector<std::string> places;  ///< values of the model
  std::vector<std::string> state;   ///< what each part is known by
};

/// Of the rules in the cache, all of them proved again by now; empty where there is no cache, or nobody to
/// prove.
std::vector<ExplainedSplit> splits_of(runtime::Session& session,
                                      const std::vector<runtime::RuntimeValue>& inputs,
                                      const Options& options);

}  // namespace axrun::cli
