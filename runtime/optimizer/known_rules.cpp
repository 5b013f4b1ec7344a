#include "runtime/optimizer/known_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/text.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/worker_process.h"
#include "runtime/warm/kept_rules.h"
#include "search/algebra/model_terms.h"

namespace axrun::runtime {
namespace {

using namespace search::algebra;

constexpr unsigned solver_milliseconds = 500;
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

DiscoveryOptions options_with(const Prover& prover, int& found, const std::function<bool()>& go_on) {
  DiscoveryOptions options;
  options.prover = prover;
  options.seconds = most_seconds;
  options.found = [&found](const Rule&) { ++found; };
  options.go_on = [&go_on] { return !go_on || go_on(); };
  return options;
}

}  // namespace

Prover prover_by(WorkerProcess& worker, const CandidateTools& tools, const StopSignal& stop,
                 double proof_seconds) {
  return
      [&worker, &tools, &stop, proof_seconds](
          const Sides& sides, const std::vector<ir::loop::Size>& sizes) -> std::optional<IdentityEvidence> {
        WorkerRequest request;
        request.expression = ir::print(sides.left);
        request.lowered = ir::print(sides.right);
        request.identity = sizes;
        request.target = tools.target;
        request.solver_milliseconds = solver_milliseconds;
        request.proof_seconds = proof_seconds;
        const WorkerAnswer answer = worker.ask(request, 10 * proof_seconds, stop);
        if (answer.failure == WorkerFailure::none)
          return IdentityEvidence{answer.reply.proof, answer.reply.safety, answer.reply.safety_back};
        // It may be the identity's fault that the worker is gone.
        if (answer.failure == WorkerFailure::crashed || answer.failure == WorkerFailure::timed_out)
          return IdentityEvidence{{verify::Verdict::unknown, answer.reason, 0}, {}, {}};
        return std::nullopt;
      };
}

KnownRules::KnownRules(std::unique_ptr<RuleStore> store, Prover prover)
    : store_(std::move(store)),
      prover_(std::move(prover)),
      rules_(store_ ? RuleSet::load(*store_) : RuleSet()),
      discovery_(rules_, options_with(prover_, found_, go_on_)) {}

bool KnownRules::discover(const ir::Inference& facts, const std::string& origin, const GoOn& go_on) {
  go_on_ = go_on;
  const int before = found_;
  const ModelTerms terms(facts);
  const DiscoveryCounts counts =
      discovery_.examine(terms.terms(), origin, [&](TermId id) { return terms.value_name(id); });
  go_on_ = nullptr;
  if (store_ && found_ > before) keep_rules(*store_, rules_);
  return counts.complete || counts.seconds >= most_seconds;
}

std::vector<std::shared_ptr<const Rule>> KnownRules::usable_for(const ir::Inference& facts,
                                                                const GoOn& go_on) {
  const ModelTerms model(facts);
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
