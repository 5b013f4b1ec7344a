#include "runtime/cli/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include "runtime/cli/interruption.h"
#include "runtime/seconds_since.h"

namespace axrun::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kept = 7;
/// Beyond this every other sample goes.
constexpr size_t most_samples = 4000;
/// Of the time that a run takes, how much passes until the next one.
constexpr double pause = 9;
constexpr double shortest_pause_s = 0.005;
constexpr double longest_pause_s = 5;
/// After the end runs go on for a few, or that long.
constexpr int last_runs = 3;
constexpr double last_runs_s = 0.5;

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

std::string line_of(const Optimisation& so_far) {
  const runtime::OptimizerStatus& status = so_far.status;
  std::string line =
      fmt::format("{:.3g} ms now | {:.2f} x vs start | swapped {}/{}", so_far.end_ms,
                  so_far.start_ms / std::max(so_far.end_ms, 1e-9), status.swapped, status.steps);
  if (status.left > 0) line += fmt::format(" | {} left to try", status.left);
  if (status.state == runtime::OptimizerStatus::State::paused) line += " | paused: " + status.reason;
  return line;
}

}  // namespace

Optimisation optimise(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                      double seconds, const std::function<double()>& timed_ms, Progress& progress) {
  Optimisation result;
  result.asked = true;
  const Clock::time_point begin = Clock::now();
  std::deque<double> last;
  int64_t stride = 1;
  const auto run = [&] {
    const double ms = timed_ms();
    ++result.runs;
    if (result.runs % stride == 0) result.samples.push_back({runtime::seconds_since(begin), ms});
    if (result.samples.size() == most_samples) {
      stride *= 2;
      for (size_t k = 0; k < most_samples / 2; ++k) result.samples[k] = result.samples[2 * k + 1];
      result.samples.resize(most_samples / 2);
    }
    last.push_back(ms);
    if (last.size() > kept) last.pop_front();
    result.end_ms = median(last);
    // The start counts while nothing has been swapped.
    if (result.start_ms == 0 || session.optimizer_status().swapped == 0) result.start_ms = result.end_ms;
    return ms;
  };
  for (;;) {
    const double ms = run();
    if (progress.due()) {
      result.status = session.optimizer_status();
      progress.show(line_of(result));
    }
    const double left = seconds - runtime::seconds_since(begin);
    const double rest = std::clamp(pause * ms / 1e3, shortest_pause_s, longest_pause_s);
    if (left <= 0) break;
    result.finished = waited(session, std::min(rest, left));
    if (result.finished || Interruption::signal() != 0) break;
  }
  result.finished =
      result.finished && session.optimizer_status().state != runtime::OptimizerStatus::State::stopped;
  session.freeze();
  result.seconds = runtime::seconds_since(begin);
  last.clear();
  const Clock::time_point end = Clock::now();
  for (int k = 0; k < last_runs && (k == 0 || runtime::seconds_since(end) < last_runs_s); ++k) run();
  result.status = session.optimizer_status();
  // Swaps are told by the optimiser's clock, which began with its work.
  const double ahead = runtime::seconds_since(begin) - result.status.seconds;
  for (Optimisation::Sample& sample : result.samples) sample.seconds -= ahead;
  result.evidence = present_evidence(session, inputs);
  return result;
}

}  // namespace axrun::cli
