#include "runtime/optimizer/standing.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace axrun::runtime {
namespace {

/// Threads of niceness 0 have a weight of 1024, these one of 110.
constexpr int assured_niceness = 10;
constexpr uint64_t standing_turn_nanoseconds = 100'000;

bool set_niceness(pid_t thread, int niceness) {
  const auto whose = static_cast<id_t>(thread != 0 ? thread : syscall(SYS_gettid));
  return setpriority(PRIO_PROCESS, whose, niceness) == 0;
}

/// As the system call takes it; the C library has no name for it.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = SCHED_BATCH;
  uint64_t flags = 0;
  int32_t niceness = 0;
  uint32_t priority = 0;
  uint64_t runtime = standing_turn_nanoseconds;
  uint64_t deadline = 0, period = 0;
};

/// Niceness and short turns; a thread keeps its turns when it becomes idle. False: the system refuses it.
bool take_short_turns(pid_t thread, int niceness) {
#ifdef SYS_sched_setattr
  SchedulingAttributes attributes;
  attributes.niceness = niceness;
  return syscall(SYS_sched_setattr, thread, &attributes, 0) == 0;
#else
  static_cast<void>(thread), static_cast<void>(niceness);
  return false;
#endif
}

bool take_assured() {
  if (take_short_turns(0, assured_niceness)) return true;
  sched_param parameters{};
  return set_niceness(0, assured_niceness) && sched_setscheduler(0, SCHED_BATCH, &parameters) == 0;
}

}  // namespace

std::string become_idle(pid_t thread) {
  // An idle thread, too, ends its turn before a thread that has had more than its share lately, in Linux from
  // 6.6 on: in turns of the usual length that is 1.4 ms and more.
  take_short_turns(thread, getpriority(PRIO_PROCESS, static_cast<id_t>(thread)));
  sched_param parameters{};
  if (sched_setscheduler(thread, SCHED_IDLE, &parameters) == 0) return "SCHED_IDLE";
  constexpr int lowest = 19;
  if (set_niceness(thread, lowest)) return "niceness 19 (SCHED_IDLE is refused)";
  return "ordinary priority (SCHED_IDLE and niceness 19 are refused)";
}

std::string take_standing(Standing standing) {
  if (standing == Standing::ordinary) return "ordinary priority";
  if (standing == Standing::assured && take_assured()) return "niceness 10, for the start";
  return become_idle();
}

}  // namespace axrun::runtime
