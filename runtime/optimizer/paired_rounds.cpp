#include "runtime/optimizer/paired_rounds.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_of(const std::function<void()>& run, int calls) {
  const Clock::time_point start = Clock::now();
  for (int k = 0; k < calls; ++k) run();
  return seconds_since(start);
}

void summarise(std::vector<double> ratios, Ratio& ratio) {
  std::sort(ratios.begin(), ratios.end());
  const size_t count = ratios.size();
  ratio.median = count % 2 == 1 ? ratios[count / 2] : (ratios[count / 2 - 1] + ratios[count / 2]) / 2;
  ratio.low = ratios[count / 4];
  ratio.high = ratios[count - 1 - count / 4];
  ratio.rounds = static_cast<int>(count);
}

}  // namespace

Ratio paired_rounds(const std::function<void()>& first, const std::function<void()>& second,
                    const StopSignal& stop, const RoundOptions& options) {
  Ratio ratio;
  // The first calls find cold caches; they also tell how many make a batch.
  if (stop.requested()) return ratio;
  time_of(first, 1);
  if (stop.requested()) return ratio;
  time_of(second, 1);
  const double once = std::min(time_of(first, 1), time_of(second, 1));
  const int calls = static_cast<int>(std::clamp(options.batch_seconds / std::max(once, 1e-9), 1.0, 10000.0));
  const Clock::time_point begin = Clock::now();
  std::vector<double> ratios;
  for (int round = 0; round < options.most && !stop.requested(); ++round) {
    const double first_before = time_of(first, calls);
    const double second_before = time_of(second, calls);
    const double second_after = time_of(second, calls);
    const double first_after = time_of(first, calls);
    ratios.push_back((first_before + first_after) / std::max(second_before + second_after, 1e-12));
    summarise(ratios, ratio);
    if (round + 1 < options.fewest) continue;
    const bool clear = ratio.low > 1 + options.share || ratio.high < 1;
    if (clear || seconds_since(begin) > options.most_seconds) break;
  }
  return ratio;
}

}  // namespace axrun::runtime
