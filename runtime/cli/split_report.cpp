#include "runtime/cli/split_report.h"

#include "runtime/cli/proving_helper.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/plan/plan.h"
#include "runtime/warm/kept_rules.h"
#include "runtime/warm/warm_start.h"
#include "search/algebra/split_places.h"

namespace axrun::cli {

using search::algebra::Rule;
using search::algebra::RuleSet;
using search::algebra::Split;

std::vector<ExplainedSplit> splits_of(runtime::Session& session,
                                      const std::vector<runtime::RuntimeValue>& inputs,
                                      const Options& options) {
  constexpr size_t most_places = 100;
  std::vector<ExplainedSplit> found;
  std::string why;
  const auto store = options.no_cache ? nullptr : runtime::open_store(options.cache_dir, why);
  if (store == nullptr) return found;
  const RuleSet rules = RuleSet::load(*runtime::rules_in(store));
  std::vector<ir::Shape> shapes;
  for (const runtime::RuntimeValue& value : inputs)
    shapes.push_back(value.tensor.defined() ? value.tensor.shape() : ir::Shape());
  const auto plan = session.current_plan(shapes);
  if (rules.splits().empty() || plan == nullptr) return found;
  const ir::Inference facts = runtime::facts_of(*plan);
  search::algebra::SplitPlaces places{search::algebra::ModelTerms(facts)};
  ProvingHelper helper;
  for (const auto& [id, split] : rules.splits()) {
    ExplainedSplit one{id, split.of, {}, places.of(split, rules, most_places), {}};
    if (one.places.empty()) continue;
    for (const std::string& rule : search::algebra::rules_of(split))
      if (!rules.find(rule)->established) establish(*rules.find(rule), helper.prover());
    one.standing = name_of(rules.standing(split));
    for (const Split::Component& component : split.state) {
      const std::string equation = search::algebra::equation(*rules.find(component.combine));
      one.state.push_back(equation.substr(equation.find(" = ") + 3));
    }
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace axrun::cli
