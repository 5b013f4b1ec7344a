#pragma once

#include <map>
#include <set>
#include <vector>

#include "search/algebra/rule.h"
#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Whether only some elements of its one operand are there, each once: of a sequence's vectors the last one.
bool is_selection(const Terms& terms, TermId id);

/// Whether the rule, from that side, takes a selection past what made its operand: less is then computed.
bool moves_selection(const Rule& rule, bool forward);

/// Selections of one value that leave some of it out even together.
struct Selected {
  TermId value = no_term;
  std::vector<TermId> selections;
};
/// All such values of these terms. users: of every term, those that read it.
std::vector<Selected> selected_values(const Terms& terms, const std::map<TermId, std::set<TermId>>& users);

}  // namespace axrun::search::algebra
