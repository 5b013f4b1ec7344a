#include "runtime/optimizer/plan_comparison.h"

#include "runtime/optimizer/estimating_pool.h"
#include "runtime/optimizer/plan_tree.h"
#include "runtime/optimizer/thread_time.h"

namespace axrun::runtime {
namespace {

/// Runs that take so long stream what they read through the caches.
constexpr double long_run_seconds = 0.04;

}  // namespace

void run_in_piece(const Plan& plan, const std::vector<RuntimeValue>& inputs, StepObserver& observer,
                  ThreadPool& pool, Background& background) {
  const Background::Piece piece(background);
  std::vector<RuntimeValue> outputs(plan.graph().outputs.size());
  plan.run(inputs, outputs, {pool, &observer});
}

Ratio compare_plans(const Plan& before, const Plan& after, const std::vector<RuntimeValue>& inputs,
                    int threads, double share, const Background::Place& place, Asked asked) {
  const FramesKept frames_before(before, place.background), frames_after(after, place.background);
  RoundOptions options;
  options.share = share;
  if (asked == Asked::not_slower) {
    options.fewest = 3;
    options.most = 14;
    options.most_seconds = 0.3;
    options.fewest_if_long = 1;
  } else {
    options.most_seconds = 2;
  }
  options.own_time = place.pool.threads() == 1;
  const auto run_once = [&](const Plan& plan, ThreadPool& pool) {
    TreeTimes observer(place.stop);
    run_in_piece(plan, inputs, observer, pool, place.background);
  };
  if (!options.own_time || threads < 2) {
    return paired_rounds([&] { run_once(before, place.pool); }, [&] { run_once(after, place.pool); },
                         place.stop, options);
  }
  EstimatingPool estimating(threads);
  const double start = seconds_of_thread();
  run_once(before, estimating);
  if (seconds_of_thread() - start > long_run_seconds) {
    // What the threads spare shows in every run, and caches hold next to nothing of one until the next: the
    // first runs count.
    estimating.take_spared();
    estimating.take_looking();
    options.spared = [&] { return estimating.take_spared() + estimating.take_looking(); };
    options.warm = true;
    // Blame lasts, and one run may have been disturbed: several must agree. Praise needs no such care.
    options.ends_at_doubt = asked == Asked::not_slower;
    options.fewest_if_long = 0;
    return paired_rounds([&] { run_once(before, estimating); }, [&] { run_once(after, estimating); },
                         place.stop, options);
  }
  options.factor = threads_factor([&](ThreadPool& pool) { run_once(before, pool); },
                                  [&](ThreadPool& pool) { run_once(after, pool); }, threads, place.stop);
  return paired_rounds([&] { run_once(before, place.pool); }, [&] { run_once(after, place.pool); },
                       place.stop, options);
}

}  // namespace axrun::runtime
