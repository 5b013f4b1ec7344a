#include "perf/kernels/interleave.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

namespace axrun::perf {
namespace {

double seconds_of(const Contestant& contestant, int64_t runs, const Clock& clock) {
  const double start = clock.now();
  for (int64_t i = 0; i < runs; ++i) contestant.run();
  return clock.now() - start;
}

/// A block is so many stretches of so many runs.
struct BlockSize {
  int64_t stretches = 1, runs = 1;
};

int64_t at_least_one(double number) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::llround(number)));
}

/// The first run, which may allocate and start threads, counts for nothing.
BlockSize size_of_block(const Contestant& contestant, const Schedule& schedule, const Clock& clock) {
  seconds_of(contestant, 1, clock);
  int64_t runs = 1;
  double seconds = seconds_of(contestant, runs, clock);
  while (seconds < schedule.stretch_seconds) {
    runs *= 2;
    seconds = seconds_of(contestant, runs, clock);
  }
  for (int i = 0; i < 2 && seconds < schedule.block_seconds; ++i) {
    seconds = std::min(seconds, seconds_of(contestant, runs, clock));
  }
  const double run = std::max(seconds, 1e-9) / static_cast<double>(runs);
  BlockSize size;
  size.runs = at_least_one(schedule.stretch_seconds / run);
  size.stretches = at_least_one(schedule.block_seconds / (run * static_cast<double>(size.runs)));
  return size;
}

double seconds_of_block(const Contestant& contestant, const BlockSize& size, const Clock& clock) {
  const int64_t warming = size.stretches * size.runs > 1 ? (size.stretches + 9) / 10 : 0;
  std::vector<double> stretches;
  for (int64_t i = 0; i < warming; ++i) seconds_of(contestant, size.runs, clock);
  for (int64_t i = 0; i < size.stretches; ++i) stretches.push_back(seconds_of(contestant, size.runs, clock));
  return median(stretches) / static_cast<double>(size.runs);
}

}  // namespace

Clock steady_clock() {
  using Steady = std::chrono::steady_clock;
  return {[] { return std::chrono::duration<double>(Steady::now().time_since_epoch()).count(); },
          [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants,
                                            const Schedule& schedule, const Clock& clock) {
  std::vector<BlockSize> sizes;
  const auto settle = [&] {
    if (schedule.pause_seconds > 0) clock.pause(schedule.pause_seconds);
  };
  for (const Contestant& contestant : contestants) {
    settle();
    sizes.push_back(size_of_block(contestant, schedule, clock));
  }
  const auto block = [&](size_t k) {
    settle();
    return seconds_of_block(contestants[k], sizes[k], clock);
  };
  std::vector<std::vector<double>> seconds(contestants.size());
  const double start = clock.now();
  for (int round = 0; round < schedule.rounds; ++round) {
    if (round >= schedule.least_rounds && clock.now() - start > schedule.budget_seconds) break;
    std::vector<double> first(contestants.size());
    for (size_t k = 0; k < contestants.size(); ++k) first[k] = block(k);
    for (size_t k = contestants.size(); k-- > 0;) seconds[k].push_back((first[k] + block(k)) / 2);
  }
  return seconds;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Ratio paired_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators) {
  std::vector<double> ratios;
  for (size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  // How many of n values lie below their true median is binomial: n / 2 within 1.96 sqrt(n) / 2.
  const auto count = static_cast<double>(ratios.size());
  const auto rank = static_cast<size_t>(std::max(0.0, (count - 1.96 * std::sqrt(count)) / 2));
  return {median(ratios), ratios[rank], ratios[ratios.size() - 1 - rank]};
}

}  // namespace axrun::perf
