#include "runtime/optimizer/worker_pace.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace axrun::runtime {
namespace {

// Read and written by the handler, on the one thread: lock-free is all that they have to be.
std::atomic<double> kept_share{1};
std::atomic<double> used_before{0};
static_assert(std::atomic<double>::is_always_lock_free);

/// Processor time between two looks; the system looks at such timers once in a few milliseconds anyhow.
constexpr long turn_nanoseconds = 1'000'000;

double used_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

extern "C" void sleep_for_the_others(int) {
  const int error = errno;
  const double used = used_seconds(), share = kept_share;
  const double sleep = (used - used_before) * (1 - share) / share;
  used_before = used;
  timespec time{};
  time.tv_sec = static_cast<time_t>(sleep);
  time.tv_nsec = static_cast<long>((sleep - static_cast<double>(time.tv_sec)) * 1e9);
  nanosleep(&time, nullptr);
  errno = error;
}

}  // namespace

void keep_to_share(double share) {
  static timer_t timer{};
  static const bool made = [] {
    struct sigaction action {};
    action.sa_handler = sleep_for_the_others;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGRTMIN, &action, nullptr) != 0) return false;
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
  }();
  if (!made) return;
  kept_share = share;
  used_before = used_seconds();
  itimerspec times{};
  if (share < 1) times.it_value.tv_nsec = times.it_interval.tv_nsec = turn_nanoseconds;
  timer_settime(timer, 0, &times, nullptr);
}

}  // namespace axrun::runtime
