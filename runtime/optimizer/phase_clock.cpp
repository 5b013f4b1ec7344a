#include "runtime/optimizer/phase_clock.h"

#include <algorithm>
#include <chrono>

#include "runtime/optimizer/thread_time.h"

namespace axrun::runtime {

PhaseClock::Times PhaseClock::now() {
  const auto passed = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(passed).count(), seconds_of_thread()};
}

void PhaseClock::add(const char* name, double seconds, double processor_seconds) {
  board_.update([&](OptimizerStatus& status) {
    auto phase = std::find_if(status.phases.begin(), status.phases.end(),
                              [&](const OptimizerPhase& one) { return one.name == name; });
    if (phase == status.phases.end()) phase = status.phases.insert(phase, {name, 0, 0});
    phase->seconds += seconds;
    phase->processor_seconds += processor_seconds;
  });
}

void PhaseClock::count_since_last() {
  const Times times = now();
  if (!inside_.empty()) {
    const double seconds = times.seconds - last_.seconds;
    const double processor_seconds = times.processor_seconds - last_.processor_seconds;
    add(inside_.back().first, seconds, processor_seconds);
    if (inside_.back().second == Kind::work) {
      worked_.seconds += seconds;
      worked_.processor_seconds += processor_seconds;
    }
  }
  last_ = times;
}

void PhaseClock::enter(const char* name, Kind kind) {
  count_since_last();
  inside_.emplace_back(name, kind);
}

void PhaseClock::leave() {
  count_since_last();
  inside_.pop_back();
}

}  // namespace axrun::runtime
