#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "search/algebra/rule_store.h"

namespace axrun::search::algebra {

/// What identities have in common that differ in the names of variables, ranks, types, attributes, numbers
/// other than 0 and 1, the order of sides and of commuting arguments, and how many alike parts are joined.
/// Empty where both sides are the same then.
std::string form_of(const Rule& rule);

/// An identity that does not follow from the others.
struct IndependentIdentity {
  std::string form;
  std::shared_ptr<const Rule> rule;
  size_t rules = 0;  ///< of this form
};

struct Independence {
  size_t rules = 0;  ///< that are proved, and safe in a direction
  size_t forms = 0;
  std::vector<IndependentIdentity> identities;
};

/// Of the usable rules one of each form, without those that follow from the others by saturation: a form goes
/// where any rule of it follows from rules of forms that are left, safe or not, those of most operations
/// first. go_on: asked before each; what has not been looked at does not count.
Independence independent_identities(const RuleSet& rules, const std::function<bool()>& go_on = {});

/// Two sets of rules.
struct SetComparison {
  size_t first = 0, second = 0, both = 0;
  std::vector<std::string> differing;  ///< ids of which the evidence is not the same
  std::vector<std::string> only_second_proved;
};
SetComparison compared(const RuleSet& first, const RuleSet& second);

}  // namespace axrun::search::algebra
