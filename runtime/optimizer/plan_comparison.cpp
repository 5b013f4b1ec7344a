#include "runtime/optimizer/plan_comparison.h"

#include "runtime/optimizer/plan_tree.h"

namespace axrun::runtime {

void run_in_piece(const Plan& plan, const std::vector<RuntimeValue>& inputs, StepObserver& observer,
                  ThreadPool& pool, Background& background) {
  const Background::Piece piece(background);
  std::vector<RuntimeValue> outputs(plan.graph().outputs.size());
  plan.run(inputs, outputs, {pool, &observer});
}

Ratio compare_plans(const Plan& before, const Plan& after, const std::vector<RuntimeValue>& inputs,
                    int threads, double share, const Background::Place& place) {
  const FramesKept frames_before(before, place.background), frames_after(after, place.background);
  RoundOptions options;
  options.fewest = 3;
  options.most = 14;
  options.share = share;
  options.most_seconds = 0.3;
  options.fewest_if_long = 1;
  options.own_time = place.pool.threads() == 1;
  const auto run_once = [&](const Plan& plan, ThreadPool& pool) {
    TreeTimes observer(place.stop);
    run_in_piece(plan, inputs, observer, pool, place.background);
  };
  if (options.own_time) {
    options.factor = threads_factor([&](ThreadPool& pool) { run_once(before, pool); },
                                    [&](ThreadPool& pool) { run_once(after, pool); }, threads, place.stop);
  }
  return paired_rounds([&] { run_once(before, place.pool); }, [&] { run_once(after, place.pool); },
                       place.stop, options);
}

}  // namespace axrun::runtime
