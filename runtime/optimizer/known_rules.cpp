#include "runtime/optimizer/known_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "search/algebra/model_terms.h"

namespace axrun::runtime {
namespace {

using namespace search::algebra;

/// So often rules of rules are looked into.
constexpr int most_rounds = 2;
/// In a session nobody waits for more.
constexpr double most_seconds = 60;

std::set<std::string> operators_of(const Terms& terms, const std::vector<TermId>& roots) {
  std::set<std::string> names;
  for (const TermId id : reached_from(terms, roots))
    if (terms[id].operation >= 0) names.insert(terms.name(id));
  return names;
}

bool includes(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

KnownRules::KnownRules(std::unique_ptr<RuleStore> store, RuleSet rules, Prover prover,
                       ConstantContent content)
    : store_(std::move(store)),
      prover_(std::move(prover)),
      content_(std::move(content)),
      rules_(std::move(rules)),
      discovery_(rules_, options()) {}

KnownRules::KnownRules(std::unique_ptr<RuleStore> store, Prover prover, ConstantContent content)
    : KnownRules(std::move(store), store ? RuleSet::load(*store) : RuleSet(), std::move(prover),
                 std::move(content)) {}

KnownRules::KnownRules(RuleSet rules, Prover prover, ConstantContent content)
    : KnownRules(nullptr, std::move(rules), std::move(prover), std::move(content)) {}

DiscoveryOptions KnownRules::options() {
  DiscoveryOptions options;
  options.prover = prover_;
  options.seconds = most_seconds;
  options.found = [this](const Rule& rule) {
    ++found_;
    if (rule_found_) rule_found_(rule);
  };
  options.split = [this](const Split& split) {
    if (split_found_) split_found_(split);
  };
  options.go_on = [this] { return !go_on_ || go_on_(); };
  return options;
}

void KnownRules::when_found(std::function<void(const Rule&)> rule, std::function<void(const Split&)> split) {
  rule_found_ = std::move(rule);
  split_found_ = std::move(split);
}

bool KnownRules::discover(const ir::Inference& facts, const std::string& origin, const GoOn& go_on) {
  go_on_ = go_on;
  const int before = found_;
  const ModelTerms terms(facts, {}, content_);
  const DiscoveryCounts counts =
      discovery_.examine(terms.terms(), origin, [&](TermId id) { return terms.value_name(id); });
  go_on_ = nullptr;
  if (store_ && found_ > before) keep_rules(*store_, rules_);
  return counts.complete || counts.seconds >= most_seconds;
}

std::vector<std::shared_ptr<const Rule>> KnownRules::usable_for(const ir::Inference& facts,
                                                                const GoOn& go_on) {
  const ModelTerms model(facts, {}, content_);
  std::set<std::string> names;
  for (TermId id = 0; id < model.terms().size(); ++id)
    if (model.terms()[id].operation >= 0) names.insert(model.terms().name(id));
  std::set<std::string> chosen;
  std::vector<std::shared_ptr<const Rule>> usable;
  for (int round = 0; round < most_rounds; ++round) {
    std::set<std::string> more = names;
    for (const auto& [id, rule] : rules_.rules()) {
      if (chosen.count(id) != 0 || rule->of_parts) continue;
      const std::set<std::string> left = operators_of(rule->terms, rule->left);
      const std::set<std::string> right = operators_of(rule->terms, rule->right);
      const bool from_left = includes(names, left), from_right = includes(names, right);
      if (!from_left && !from_right) continue;
      if (go_on && !go_on()) return usable;
      chosen.insert(id);
      if (!rule->established) establish(*rule, prover_);
      if (!rule->usable(true) && !rule->usable(false)) continue;
      usable.push_back(rule);
      if (from_left && rule->usable(true)) more.insert(right.begin(), right.end());
      if (from_right && rule->usable(false)) more.insert(left.begin(), left.end());
    }
    names = std::move(more);
  }
  return usable;
}

}  // namespace axrun::runtime
