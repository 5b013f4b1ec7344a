#include "runtime/cli/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/cli/interruption.h"
#include "runtime/cli/time_text.h"
#include "runtime/seconds_since.h"

namespace axrun::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Of samples that a figure is the median of.
constexpr size_t kept = 7;
/// Runs of a sample, and how long they take: what is short has a clock and caches to wake first.
constexpr size_t fewest_runs = 7;
constexpr double shortest_sample_ms = 2, longest_sample_ms = 20;
/// The first samples follow one another for so long: they say what the start was.
constexpr double start_s = 0.5;
/// Beyond this every other sample goes.
constexpr size_t most_samples = 4000;
/// Of the time that a sample takes, how much passes until the next one.
constexpr double pause = 9;
constexpr double shortest_pause_s = 0.005;
constexpr double longest_pause_s = 5;
/// After the end samples go on for a few, or that long.
constexpr int last_samples = 3;
constexpr double last_samples_s = 0.5;

/// For the optimiser; true where it has nothing left to do. Returns early where somebody has interrupted.
bool waited(runtime::Session& session, double seconds) {
  constexpr double at_once = 0.1;
  const Clock::time_point begin = Clock::now();
  for (double left = seconds; left > 0; left = seconds - runtime::seconds_since(begin)) {
    if (Interruption::signal() != 0) return false;
    if (session.wait_for_optimizer(std::min(left, at_once))) return true;
  }
  return false;
}

double median(const std::deque<double>& times) {
  std::vector<double> sorted(times.begin(), times.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  return sorted[sorted.size() / 2];
}

std::string line_of(const Optimisation& so_far, double seconds, double budget) {
  const runtime::OptimizerStatus& status = so_far.status;
  std::string line = fmt::format("{:.0f} of {:.0f} s | {} | {}/{} swapped", seconds, budget,
                                 gain_text(so_far), status.swapped, status.steps);
  if (status.left > 0) line += fmt::format(" | {} left to try", status.left);
  if (status.state == runtime::OptimizerStatus::State::paused) line += " | paused: " + status.reason;
  return line;
}

}  // namespace

Settled settled(const std::function<double()>& timed_ms) {
  Settled result;
  std::deque<double> times;
  do {
    times.push_back(timed_ms());
    result.total_ms += times.back();
    ++result.runs;
  } while (result.total_ms < longest_sample_ms &&
           (times.size() < fewest_runs || result.total_ms < shortest_sample_ms));
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  result.ms = median(times);
  return result;
}

std::string gain_text(const Optimisation& optimisation) {
  const TimeUnit unit(std::min(optimisation.start_ms, optimisation.end_ms));
  return fmt::format("{} a run at the start, {} now: {:.2f} x", unit(optimisation.start_ms),
                     unit(optimisation.end_ms), optimisation.start_ms / std::max(optimisation.end_ms, 1e-9));
}

Optimisation optimise(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                      double seconds, const std::function<double()>& timed_ms, Progress& progress) {
  Optimisation result;
  result.asked = true;
  const Clock::time_point begin = Clock::now();
  std::deque<double> last;
  int64_t stride = 1;
  int64_t taken = 0;
  const auto sample = [&] {
    const Settled one = settled(timed_ms);
    result.runs += one.runs;
    if (++taken % stride == 0) result.samples.push_back({runtime::seconds_since(begin), one.ms});
    if (result.samples.size() == most_samples) {
      stride *= 2;
      for (size_t k = 0; k < most_samples / 2; ++k) result.samples[k] = result.samples[2 * k + 1];
      result.samples.resize(most_samples / 2);
    }
    last.push_back(one.ms);
    if (last.size() > kept) last.pop_front();
    result.end_ms = median(last);
    // The start counts while nothing has been swapped.
    const bool as_at_start = result.start_ms == 0 || session.optimizer_status().swapped == 0;
    if (as_at_start) result.start_ms = result.end_ms;
    return std::pair(one.total_ms, as_at_start);
  };
  for (;;) {
    const auto [ms, as_at_start] = sample();
    if (progress.due()) {
      result.status = session.optimizer_status();
      progress.show(line_of(result, runtime::seconds_since(begin), seconds));
    }
    const double passed = runtime::seconds_since(begin);
    const double left = seconds - passed;
    if (left <= 0) break;
    if (as_at_start && last.size() < kept && passed < std::min(start_s, seconds / 2)) continue;
    const double rest = std::clamp(pause * ms / 1e3, shortest_pause_s, longest_pause_s);
    result.finished = waited(session, std::min(rest, left));
    if (result.finished || Interruption::signal() != 0) break;
  }
  result.finished =
      result.finished && session.optimizer_status().state != runtime::OptimizerStatus::State::stopped;
  session.freeze();
  result.seconds = runtime::seconds_since(begin);
  last.clear();
  const Clock::time_point end = Clock::now();
  for (int k = 0; k < last_samples && (k == 0 || runtime::seconds_since(end) < last_samples_s); ++k) sample();
  result.status = session.optimizer_status();
  // Swaps are told by the optimiser's clock, which began with its work.
  const double ahead = runtime::seconds_since(begin) - result.status.seconds;
  for (Optimisation::Sample& one : result.samples) one.seconds -= ahead;
  result.evidence = present_evidence(session, inputs);
  return result;
}

}  // namespace axrun::cli
