#include "search/algebra/split_places.h"

#include <algorithm>
#include <limits>

#include "search/algebra/matching.h"
#include "search/algebra/saturation.h"

namespace axrun::search::algebra {

SplitPlaces::SplitPlaces(const ModelTerms& model) : graph_(EGraphLimits{std::numeric_limits<int>::max()}) {
  Window all;
  for (TermId id = 0; id < model.terms().size(); ++id)
    if (model.terms()[id].operation >= 0) all.inner.push_back(id);
  all.roots = all.inner;
  std::map<TermId, TermId> copies;
  copy_window(model.terms(), all, graph_, &copies);
  graph_.rebuild();
  for (const auto& [from, to] : copies)
    if (to != no_term && model.terms()[from].operation >= 0) names_.emplace(to, model.value_name(from));
}

std::vector<std::string> SplitPlaces::of(const Split& split, const RuleSet& rules, size_t most) {
  std::vector<std::string> places;
  const auto rule = rules.find(split.finish);
  if (rule == nullptr) return places;
  for (const Match& match : find_matches(graph_, *rule, true, most)) {
    for (const TermId id : graph_.members(match.roots[0])) {
      const auto name = names_.find(id);
      if (name == names_.end() || std::find(places.begin(), places.end(), name->second) != places.end())
        continue;
      places.push_back(name->second);
    }
  }
  return places;
}

}  // namespace axrun::search::algebra
