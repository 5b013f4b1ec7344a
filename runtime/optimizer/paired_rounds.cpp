#include "runtime/optimizer/paired_rounds.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <vector>

#include "runtime/optimizer/estimating_pool.h"
#include "runtime/optimizer/thread_time.h"
#include "runtime/seconds_since.h"

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double time_of(const std::function<void()>& run, int calls, const RoundOptions& options) {
  const Clock::time_point start = Clock::now();
  const double own_start = options.own_time ? seconds_of_thread() : 0;
  for (int k = 0; k < calls; ++k) run();
  const double taken = options.own_time ? seconds_of_thread() - own_start : seconds_since(start);
  return options.spared ? taken - options.spared() : taken;
}

constexpr int fewest_to_judge = 9;
/// Of rounds of long calls, where the second is slower.
constexpr int fewest_if_slower = 3;

void summarise(std::vector<double> ratios, Ratio& ratio) {
  std::sort(ratios.begin(), ratios.end());
  const size_t count = ratios.size();
  ratio.median = count % 2 == 1 ? ratios[count / 2] : (ratios[count / 2 - 1] + ratios[count / 2]) / 2;
  ratio.rounds = static_cast<int>(count);
  ratio.second_won =
      static_cast<int>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r > 1; }));
  ratio.first_won =
      static_cast<int>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 1; }));
}

/// What the winner may lose of so many rounds; -1: there are too few. Between equals a round is won or lost
/// like a coin is tossed. With these, and asked again after every round, one of 240 pairs of equals passes.
int allowed_losses(int rounds) {
  constexpr int fewest[] = {fewest_to_judge, 13, 17, 20};
  int losses = -1;
  for (const int needed : fewest) losses += rounds >= needed ? 1 : 0;
  return losses;
}

}  // namespace

bool Ratio::second_is_faster(double share) const {
  return median >= 1 + share && rounds - second_won <= allowed_losses(rounds);
}

bool Ratio::second_is_slower(double share) const {
  // Of few rounds all must say so, and clearly.
  if (rounds < fewest_to_judge) return rounds > 0 && first_won == rounds && median <= 1 - 5 * share;
  return median <= 1 - share && rounds - first_won <= allowed_losses(rounds);
}

bool Ratio::second_is_about_as_fast(double share) const {
  return rounds >= fewest_to_judge && median > 1 - share;
}

double share_of_time(const std::function<void(ThreadPool& pool)>& run, int threads, const StopSignal& stop) {
  if (threads < 2) return 1;
  constexpr int calls = 5;
  constexpr double most_seconds = 0.05;
  EstimatingPool pool(threads);
  double least = 0, least_spread = 0;
  const Clock::time_point begin = Clock::now();
  for (int call = 0; call < calls && !stop.requested(); ++call) {
    const double start = seconds_of_thread();
    run(pool);
    const double alone = seconds_of_thread() - start - pool.take_looking(),
                 spread = alone - pool.take_spared();
    least = call == 0 ? alone : std::min(least, alone);
    least_spread = call == 0 ? spread : std::min(least_spread, spread);
    if (seconds_since(begin) > most_seconds) break;
  }
  return least > 0 ? least_spread / least : 1;
}

double threads_factor(const std::function<void(ThreadPool& pool)>& first,
                      const std::function<void(ThreadPool& pool)>& second, int threads,
                      const StopSignal& stop) {
  if (threads < 2) return 1;
  constexpr double noise = 0.05;
  const double of_first = share_of_time(first, threads, stop);
  const double factor = of_first / std::max(share_of_time(second, threads, stop), 1e-3);
  return std::abs(factor - 1) < noise ? 1 : factor;
}

Ratio paired_rounds(const std::function<void()>& first, const std::function<void()>& second,
                    const StopSignal& stop, const RoundOptions& options) {
  Ratio ratio;
  std::vector<double> ratios;
  double calls_of_pair = 1;  // of each
  const auto add = [&](double first_time, double second_time) {
    ratios.push_back(options.factor * first_time / std::max(second_time, 1e-12));
    summarise(ratios, ratio);
    const auto least = [&](double& known, double time) {
      time /= calls_of_pair;
      known = ratios.size() == 1 ? time : std::min(known, time);
    };
    least(ratio.first_seconds, first_time);
    least(ratio.second_seconds, second_time);
  };
  const Clock::time_point begin = Clock::now();
  // The first calls find cold caches; they also tell how many make a batch.
  double once = 0, first_once = 0, second_once = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (stop.requested()) return ratio;
    first_once = time_of(first, 1, options);
    if (stop.requested()) return ratio;
    second_once = time_of(second, 1, options);
    once = std::min(first_once, second_once);
    if (once > options.batch_seconds) break;
  }
  const bool is_long = once >= options.long_seconds;
  const bool endless = once > options.most_seconds;  // no caches to speak of
  if (is_long && (options.warm || endless)) add(first_once, second_once);
  const int calls = static_cast<int>(std::clamp(options.batch_seconds / std::max(once, 1e-9), 1.0, 10000.0));
  const auto enough = [&] {
    if (ratio.rounds >= options.most || stop.requested()) return true;
    if (ratio.rounds == 0) return false;
    if (options.ends_at_doubt && ratio.first_won < ratio.rounds) return true;
    const bool late = seconds_since(begin) > options.most_seconds;
    if (late && options.fewest_if_long > 0 && ratio.rounds >= options.fewest_if_long) return true;
    const bool slower = ratio.second_is_slower(options.share);
    if (is_long && slower && ratio.rounds >= fewest_if_slower) return true;
    if (ratio.rounds < options.fewest) return false;
    return late || slower || ratio.second_is_faster(options.share);
  };
  // Which begins a round follows no period (Thue and Morse's sequence): what disturbs periodically, as a
  // scheduler's turns, hits both.
  for (unsigned round = 0; !enough(); ++round) {
    const bool turned = std::popcount(round) % 2 == 1;
    const auto& outer = turned ? second : first;
    const auto& inner = turned ? first : second;
    if (calls > 1) outer();  // its caches are as warm as the other's will be
    const auto add_pair = [&](double outer_time, double inner_time) {
      turned ? add(inner_time, outer_time) : add(outer_time, inner_time);
    };
    const double outer_before = time_of(outer, calls, options);
    const double inner_before = time_of(inner, calls, options);
    calls_of_pair = is_long ? calls : 2 * calls;
    if (is_long) {
      add_pair(outer_before, inner_before);
      if (enough()) break;
    }
    const double inner_after = time_of(inner, calls, options);
    const double outer_after = time_of(outer, calls, options);
    if (is_long) {
      add_pair(outer_after, inner_after);
    } else {
      add_pair(outer_before + outer_after, inner_before + inner_after);
    }
  }
  return ratio;
}

}  // namespace axrun::runtime
