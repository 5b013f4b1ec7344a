// When the optimiser's thread has its assured part of the processors, when it takes what nobody wants, and
// when it rests: the part of PlanImprover that looks at what the system grants.
#include <algorithm>

#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/plan_improver.h"

namespace axrun::runtime {
namespace {

/// So much processor time is assured at the start, the helper's included.
constexpr double assured_seconds = 8;
/// Time is plentiful where the thread gets this share of the time it works; looked at over so many seconds, a
/// few times: a service makes breaks.
constexpr double plentiful_share = 0.7, review_seconds = 0.15;
constexpr int most_plentiful = 3;
/// The optimiser rests where less than this part of what a control group allows is left.
constexpr int64_t share_of_memory_left = 10;

}  // namespace

void PlanImprover::become_idle() {
  place_.background.become_idle();
  worker_.become_idle();
  board_.update([&](OptimizerStatus& status) { status.priority = place_.background.priority(); });
}

void PlanImprover::review_standing() {
  if (!place_.background.is_assured()) return;
  const PhaseClock::Times& worked = clock_.worked();
  const double seconds = worked.seconds - reviewed_.seconds;
  if (worked.processor_seconds + worker_seconds_ > assured_seconds) return become_idle();
  if (seconds < review_seconds) return;
  const double own = worked.processor_seconds - reviewed_.processor_seconds;
  plentiful_ = own > plentiful_share * seconds ? plentiful_ + 1 : 0;
  reviewed_ = worked;
  if (plentiful_ >= most_plentiful) become_idle();
}

void PlanImprover::rest_when_throttled() {
  review_standing();
  Pace& pace = place_.background.pace();
  pace.set_helper(worker_.process());
  pace.wait(place_.stop);
  worker_.set_share(pace.share());
  constexpr std::chrono::seconds shortest{5}, longest{80};
  const auto why = [&]() -> const char* {
    if (throttling_.rose()) {
      pace.throttled();
      return "the control group's processor time was used up";
    }
    if (pace.spent()) return "the control group's processor time is nearly used up";
    const auto room = memory_.room();
    const bool is_short = room && room->left < room->limit / share_of_memory_left;
    return is_short ? "the control group's memory is nearly used up" : nullptr;
  };
  const char* reason = why();
  if (reason == nullptr) return;
  do {
    memory_was_freed();
    give_freed_memory_back();
    board_.set_state(StatusBoard::State::paused, reason);
    if (place_.stop.wait_for(rest_)) return;
    pace.wait(place_.stop);  // looks at what others have used meanwhile
    rest_ = std::min(rest_ * 2, longest);
    reason = why();
  } while (reason != nullptr);
  rest_ = std::max(rest_ / 2, shortest);
  board_.set_state(StatusBoard::State::working);
}

}  // namespace axrun::runtime
