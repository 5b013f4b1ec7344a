#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/node_executor.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"

namespace axrun::runtime {

/// What a step is, without times.
StepProfile describe_step(const Plan& plan, const Step& step);

/// Adds up the time of every step of every plan, bodies and continuations included.
class Profiler final : public StepObserver {
 public:
  void bodies_begin() override;
  void step_done(const Plan& plan, size_t index, double start_us, double elapsed_us) override;
  NodeObserver node_observer();
  std::vector<StepProfile> steps() const;
  void reset();

 private:
  /// A plan's number and the step's; or a node's address and 0 where there is no plan.
  using Key = std::pair<uint64_t, size_t>;
  void add(const Key& key, double start_us, double elapsed_us, double nested_us,
           const std::function<StepProfile()>& describe);
  mutable std::mutex mutex_;
  std::vector<StepProfile> steps_;
  std::map<Key, size_t> index_;
  /// So far, inside of a step whose bodies run.
  struct Inside {
    double steps_us = 0;
    double noting_us = 0;  ///< what this class took, which is nobody's time
  };
  std::map<std::thread::id, std::vector<Inside>> inside_;
};

}  // namespace axrun::runtime
