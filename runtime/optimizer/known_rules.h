#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "search/algebra/discovery.h"
#include "search/algebra/model_terms.h"
#include "search/algebra/rule_store.h"

namespace axrun::runtime {

/// The identities that may be used for a model: those of a store, each proved again before it is used first,
/// and those that the model adds. For one thread. Where a session wants them that is the worker's.
class KnownRules {
 public:
  using GoOn = std::function<bool()>;
  /// store: null where nothing is kept. content: as in ModelTerms.
  KnownRules(std::unique_ptr<search::algebra::RuleStore> store, search::algebra::Prover prover,
             search::algebra::ConstantContent content = {});
  /// Nothing is kept.
  KnownRules(search::algebra::RuleSet rules, search::algebra::Prover prover,
             search::algebra::ConstantContent content);
  /// Told of every rule, or split, that discover() adds.
  void when_found(std::function<void(const search::algebra::Rule&)> rule,
                  std::function<void(const search::algebra::Split&)> split);

  /// Looks for identities in the graph of these facts, and stores what is new. False where it was told to
  /// stop, or the prover gave no answer: what was looked at costs nothing the next time. go_on: asked now and
  /// then.
  bool discover(const ir::Inference& facts, const std::string& origin, const GoOn& go_on);
  /// Rules that are proved, and whose operators the graph has, or what others make of it.
  std::vector<std::shared_ptr<const search::algebra::Rule>> usable_for(const ir::Inference& facts,
                                                                       const GoOn& go_on);
  std::shared_ptr<const search::algebra::Rule> find(const std::string& id) const { return rules_.find(id); }
  const search::algebra::RuleSet& all() const { return rules_; }
  /// Rules that discover() has added.
  int found() const { return found_; }

 private:
  KnownRules(std::unique_ptr<search::algebra::RuleStore> store, search::algebra::RuleSet rules,
             search::algebra::Prover prover, search::algebra::ConstantContent content);
  search::algebra::DiscoveryOptions options();

  std::unique_ptr<search::algebra::RuleStore> store_;
  search::algebra::Prover prover_;
  search::algebra::ConstantContent content_;
  search::algebra::RuleSet rules_;
  int found_ = 0;
  GoOn go_on_;
  std::function<void(const search::algebra::Rule&)> rule_found_;
  std::function<void(const search::algebra::Split&)> split_found_;
  search::algebra::Discovery discovery_;
};

}  // namespace axrun::runtime
