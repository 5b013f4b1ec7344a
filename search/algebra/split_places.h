#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/algebra/egraph.h"
#include "search/algebra/model_terms.h"
#include "search/algebra/rule_store.h"

namespace axrun::search::algebra {

/// Where a model has what reductions by parts are of. Of those alone that end with a rule: others are of one
/// reduction by itself.
class SplitPlaces {
 public:
  explicit SplitPlaces(const ModelTerms& model);
  /// Names of values; at most so many.
  std::vector<std::string> of(const Split& split, const RuleSet& rules, size_t most);

 private:
  EGraph graph_;
  std::map<TermId, std::string> names_;  ///< of the graph's terms that are values
};

}  // namespace axrun::search::algebra
