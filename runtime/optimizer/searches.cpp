// What of search/ is asked for besides schedules: the part of PlanImprover that has the helper do it. A fault
// there costs that question.

#include <algorithm>

#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/searching.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/seconds_since.h"

namespace axrun::runtime {
namespace {

/// An identity has three proofs, which may be one sign of life.
constexpr double proofs_of_identity = 3;
/// Identities whose proofs end the helper, of one search.
constexpr int most_blamed = 8;

}  // namespace

std::string PlanImprover::searched(WorkerStage search, const std::string& question,
                                   const SearchListener& listener, double proof_seconds) {
  if (begun_) settle();
  const PhaseClock::In phase(clock_, "await the helper", PhaseClock::Kind::wait);
  const Clock::time_point start = Clock::now();
  const auto note_starts = [&] {
    board_.update([&](OptimizerStatus& status) { status.worker_starts = worker_.starts(); });
  };
  SearchTerms terms;
  terms.processor_seconds = settings_.search_seconds + proofs_of_identity * proof_seconds;
  terms.answer_seconds = std::max(tools_.answer_seconds, terms.processor_seconds);
  terms.proof_seconds = proof_seconds;
  terms.reproducers = settings_.reproducers;
  try {
    WorkerAnswer answer = ask_search(worker_, place_.stop, search, question, terms, listener);
    note_starts();
    worker_seconds_ += answer.reply.processor_seconds;
    clock_.add("helper: search", seconds_since(start), answer.reply.processor_seconds);
    return std::move(*answer.found);
  } catch (const SearchFailed& failed) {
    note_starts();
    if (failed.why() == SearchFailed::Why::stopped) throw RunStopped{};
    if (failed.why() == SearchFailed::Why::unavailable) throw CannotGoOn{failed.what()};
    throw;
  }
}

std::string PlanImprover::searched_with_rules(WorkerStage search,
                                              const std::function<std::string()>& question,
                                              const std::function<bool()>& interrupted) {
  const SearchListener listener{[&] { return !interrupted(); },
                                [&](std::string_view note) { rules_->note(note); }};
  for (int blamed = 0;; ++blamed) {
    rules_->begin();
    try {
      return searched(search, question(), listener);
    } catch (const SearchFailed& failed) {
      if (failed.why() != SearchFailed::Why::failed || blamed == most_blamed || !rules_->blame(failed.what()))
        throw;
    }
  }
}

std::string PlanImprover::outline_of(const Plan& plan, ConstantContents contents) {
  const Background::Piece piece(place_.background);
  return write_outline(facts_of(plan), contents);
}

}  // namespace axrun::runtime
