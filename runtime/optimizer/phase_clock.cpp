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
  if (!inside_.empty())
    add(inside_.back(), times.seconds - last_.seconds, times.processor_seconds - last_.processor_seconds);
  last_ = times;
}

void PhaseClock::enter(const char* name) {
  count_since_last();
  inside_.push_back(name);
}

void PhaseClock::leave() {
  count_since_last();
  inside_.pop_back();
}

}  // namespace axrun::runtime
