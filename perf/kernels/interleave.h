// Contestants measured in one run, in blocks of a few milliseconds: A B C C B A, again and again. Whatever
// slows the machine for longer than a block slows neighbours in the row alike and drops out of their ratio;
// what drifts steadily drops out of each round.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace axrun::perf {

struct Contestant {
  std::string name;
  std::function<void()> run;  ///< does the work once
};

struct Schedule {
  int rounds = 12;            ///< at most; a round holds two blocks of each contestant
  int least_rounds = 4;       ///< even if they take longer than `budget_seconds`
  double budget_seconds = 1;  ///< what all rounds may take together
  double stretch_seconds =
      1e-4;  ///< the clock is read that often in a block, or after each run if runs are longer
  double block_seconds = 2e-3;  ///< a block is a single run where that takes longer
  double pause_seconds = 0;     ///< before each block: for threads of the last contestant that still spin
};

/// The time, in seconds, and how to let some pass.
struct Clock {
  std::function<double()> now;
  std::function<void(double)> pause;
};
Clock steady_clock();

/// Seconds of one run: [contestant][round], each the mean of the contestant's two blocks of the round. A
/// block counts as the median of its stretches: what interrupts a few of them drops out. Before it, a tenth
/// of its runs go untimed: they find caches and clock rates as another contestant left them.
std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants,
                                            const Schedule& schedule, const Clock& clock);

double median(std::vector<double> values);

/// Median of a paired ratio, and the interval between two of its order statistics that holds the true median
/// with a probability of about 95%. Fewer than 6 rounds: the extremes, with less certainty (4 rounds: 87%).
struct Ratio {
  double median = 0, low = 0, high = 0;
};
Ratio paired_ratio(const std::vector<double>& numerators, const std::vector<double>& denominators);

}  // namespace axrun::perf
