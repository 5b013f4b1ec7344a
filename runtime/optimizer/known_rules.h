#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "search/algebra/discovery.h"
#include "search/algebra/rule_store.h"

namespace axrun::runtime {

class WorkerProcess;
class StopSignal;
struct CandidateTools;

/// Has the worker prove identities: the host has no prover. A worker that fails gives no answer.
/// proof_seconds: of one proof, by the clock; an identity has three.
search::algebra::Prover prover_by(WorkerProcess& worker, const CandidateTools& tools, const StopSignal& stop,
                                  double proof_seconds = 2);

/// The identities that a session may use: those of a store, each proved again before it is used first, and
/// those that its own model adds. For one thread.
class KnownRules {
 public:
  using GoOn = std::function<bool()>;
  /// store: null where nothing is kept.
  KnownRules(std::unique_ptr<search::algebra::RuleStore> store, search::algebra::Prover prover);

  /// Looks for identities in the graph of these facts, and stores what is new. False where it was told to
  /// stop, or the prover gave no answer: what was looked at costs nothing the next time. go_on: asked now and
  /// then.
  bool discover(const ir::Inference& facts, const std::string& origin, const GoOn& go_on);
  /// Rules that are proved, and whose operators the graph has, or what others make of it.
  std::vector<std::shared_ptr<const search::algebra::Rule>> usable_for(const ir::Inference& facts,
                                                                       const GoOn& go_on);
  std::shared_ptr<const search::algebra::Rule> find(const std::string& id) const { return rules_.find(id); }
  /// Rules that discover() has added.
  int found() const { return found_; }

 private:
  std::unique_ptr<search::algebra::RuleStore> store_;
  search::algebra::Prover prover_;
  search::algebra::RuleSet rules_;
  int found_ = 0;
  GoOn go_on_;
  search::algebra::Discovery discovery_;
};

}  // namespace axrun::runtime
