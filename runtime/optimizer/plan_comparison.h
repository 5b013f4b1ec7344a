#pragma once

#include <vector>

#include "runtime/optimizer/background.h"
#include "runtime/optimizer/paired_rounds.h"
#include "runtime/plan/plan.h"

// Plans as the optimiser runs them: the model's own inputs, every run a piece of its own.

namespace axrun::runtime {

/// One run of the whole plan; outputs are dropped.
void run_in_piece(const Plan& plan, const std::vector<RuntimeValue>& inputs, StepObserver& observer,
                  ThreadPool& pool, Background& background);

/// How thoroughly plans are compared.
enum class Asked {
  not_slower,  ///< few rounds, which show whether the second one is much slower; of long runs one that says
               ///< no is enough
  faster       ///< as many as it takes to say that it is faster, for up to two seconds
};

/// How two plans of one model compare in whole runs, on threads of the place's pool and as `threads` will run
/// them; rounds end early once a difference of this share is clear. Frames that this adds are gone
/// afterwards. Throws RunStopped when a stop is requested.
Ratio compare_plans(const Plan& before, const Plan& after, const std::vector<RuntimeValue>& inputs,
                    int threads, double share, const Background::Place& place,
                    Asked asked = Asked::not_slower);

}  // namespace axrun::runtime
