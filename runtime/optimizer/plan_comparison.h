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

/// How two plans of one model compare in whole runs, on threads of the place's pool and as `threads` will run
/// them: few rounds, ended early once a difference of this share is clear. Frames that this adds are gone
/// afterwards. Throws RunStopped when a stop is requested.
Ratio compare_plans(const Plan& before, const Plan& after, const std::vector<RuntimeValue>& inputs,
                    int threads, double share, const Background::Place& place);

}  // namespace axrun::runtime
