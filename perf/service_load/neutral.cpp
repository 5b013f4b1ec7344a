#include "perf/service_load/neutral.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/optimizer/standing.h"
#include "runtime/optimizer/thread_time.h"

namespace axrun::perf {
namespace {

using Clock = std::chrono::steady_clock;

bool input_has_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

}  // namespace

void be_busy(const Neutral& neutral) {
  using runtime::Standing;
  constexpr size_t line = 64;
  std::vector<char> memory(neutral.memory_bytes);
  size_t at = 0;
  const bool assured = neutral.assured_seconds > 0;
  runtime::take_standing(assured ? Standing::assured : Standing::idle);
  constexpr double look_every = 1e-3;
  const Clock::time_point start = Clock::now();
  double owed_from = 0, used_from = runtime::seconds_of_thread();
  bool idle = !assured;
  while (!input_has_ended()) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!idle && seconds >= neutral.assured_seconds) {
      runtime::become_idle();
      idle = true;
    }
    const double used = runtime::seconds_of_thread() - used_from;
    const double owed = neutral.share * (seconds - owed_from);
    if (used >= owed) {
      std::this_thread::sleep_for(std::chrono::duration<double>(look_every));
      continue;
    }
    // What the system did not grant is not made up for later.
    if (owed - used > 0.1) {
      owed_from = seconds;
      used_from += used;
    }
    // By the wall clock, which is no system call: who asks the system for its processor time every few
    // microseconds ends its turn there when others wait. What computes, and asks nothing, does not.
    const auto until = Clock::now() + std::chrono::duration<double>(look_every);
    while (Clock::now() < until) {
      for (int spin = 0; spin < 1000; ++spin) {
        asm volatile("" ::: "memory");
        if (memory.empty()) continue;
        ++memory[at];
        at += line;
        if (at >= memory.size()) at = 0;
      }
    }
  }
}

}  // namespace axrun::perf
