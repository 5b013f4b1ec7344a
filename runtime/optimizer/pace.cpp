#include "runtime/optimizer/pace.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "jit/control_groups.h"
#include "jit/processor_quota.h"
#include "runtime/optimizer/stop_signal.h"
#include "runtime/optimizer/thread_time.h"

namespace axrun::runtime {
namespace {

constexpr double between_reviews = 0.25;
/// Of the peak, after each review.
constexpr double remembered = 0.9;
/// Of what others leave: their use of one period differs from that of the next.
constexpr double part_used = 0.5;
constexpr double least_trust = 1.0 / 16, regained = 1.01;
/// Seconds by which the thread may be ahead of its share, or behind it.
constexpr double turn = 1e-3;
constexpr double longest_sleep = 0.5, least_share = 0.005;

double seconds_on(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Negative where the file does not say.
double usage_in(const std::string& path, bool nanoseconds) {
  std::ifstream file(path);
  double value = 0;
  if (nanoseconds) return file >> value ? value * 1e-9 : -1;
  for (std::string name; file >> name >> value;) {
    if (name == "usage_usec") return value * 1e-6;
  }
  return -1;
}

}  // namespace

Pace::Pace(double most, const std::string& process_groups, const std::string& mount)
    : most_(std::clamp(most, least_share, 1.0)) {
  const double quota = jit::processor_quota(process_groups, mount);
  if (!std::isfinite(quota)) return;
  quota_ = quota;
  peak_ = quota;  // until it is known
  // The innermost group with a count; what an outer one holds besides shows as throttling only.
  for (const jit::ControlGroup& group : jit::control_groups(process_groups, mount, "cpu")) {
    for (const bool nanoseconds : {false, true}) {
      const std::string path = group.folder + (nanoseconds ? "/cpuacct.usage" : "/cpu.stat");
      if (!usage_.empty() || usage_in(path, nanoseconds) < 0) continue;
      usage_.push_back(path);
      in_nanoseconds_ = nanoseconds;
    }
  }
}

double Pace::share() const {
  if (!limited()) return most_;
  return std::clamp(left_ * part_used * trust_ / 2, least_share, most_);
}

void Pace::throttled() { trust_ = std::max(trust_ / 2, least_trust); }

void Pace::set_helper(pid_t process) {
  if (process == helper_) return;
  helper_ = process;
  begun_ = false;  // its time so far is nobody's
}

double Pace::used_by_others(double own) const {
  if (usage_.empty()) return seconds_on(CLOCK_PROCESS_CPUTIME_ID) - own;
  clockid_t clock{};
  const bool has_clock = helper_ > 0 && clock_getcpuclockid(helper_, &clock) == 0;
  return usage_in(usage_.front(), in_nanoseconds_) - own - (has_clock ? seconds_on(clock) : 0);
}

double Pace::due(double now, double used, double others) {
  if (!begun_) {
    begun_ = true;
    reviewed_ = last_ = now;
    last_used_ = used;
    others_ = others;
    return 0;
  }
  const double since = now - reviewed_;
  if (limited() && since >= between_reviews) {
    const double recent = std::max(0.0, others - others_) / since;
    peak_ = std::max(recent, peak_ * std::pow(remembered, since / between_reviews));
    left_ = std::max(0.0, quota_ - peak_);
    trust_ = std::min(1.0, trust_ * regained);
    reviewed_ = now;
    others_ = others;
  }
  ahead_ = std::max(-turn, ahead_ + (used - last_used_) - share() * (now - last_));
  last_ = now;
  last_used_ = used;
  return ahead_ > turn ? std::min(ahead_ / share(), longest_sleep) : 0;
}

void Pace::wait(const StopSignal& stop) {
  if (!limited() && most_ >= 1) return;
  for (;;) {
    const double now = seconds_on(CLOCK_MONOTONIC), used = seconds_of_thread();
    const bool review = limited() && (!begun_ || now - reviewed_ >= between_reviews);
    const double sleep = due(now, used, review ? used_by_others(used) : 0);
    if (!(sleep > 0) || stop.wait_for(std::chrono::nanoseconds(static_cast<int64_t>(sleep * 1e9)))) return;
  }
}

}  // namespace axrun::runtime
