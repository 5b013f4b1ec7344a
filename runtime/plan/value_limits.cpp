// Graphs that are right for values up to a magnitude only: their plans look at these values as soon as they
// are there, and leave runs in which one is too large to the graph that says what is computed then.
#include "runtime/plan/value_limits.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "runtime/plan/frame.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {
namespace {

/// Of elements that one thread looks at.
constexpr int64_t grain = int64_t{1} << 16;

/// NaN is within no limit.
bool is_within(const float* values, int64_t begin, int64_t end, float most) {
  int beyond = 0;
  for (int64_t k = begin; k < end; ++k) beyond |= std::fabs(values[k]) <= most ? 0 : 1;
  return beyond == 0;
}

}  // namespace

void PlanBuilder::place_limits() {
  if (!graph_->limits) return;
  const auto refuse = [&](ir::ValueId id) {
    throw Error(Fault::unsupported,
                "a limit of the graph's cannot be watched: value '" + graph_->value(id).name + "'");
  };
  for (const auto& [id, most] : graph_->limits->most) {
    const ir::ValueFact& fact = plan_->fact(id);
    const auto shape = fact.dims ? ir::constant_dims(*fact.dims) : std::nullopt;
    if (!shape || fact.type != ir::ElementType::f32) refuse(id);
    const auto holds = [&](ir::ValueId other) { return other != ir::absent && root(other) == root(id); };
    ValueLimit limit{ir::absent, 0, ir::element_count(*shape), most};
    const auto given = std::find_if(live_in_.begin(), live_in_.end(), holds);
    if (given != live_in_.end()) limit.value = *given;
    for (size_t s = 0; s < plan_->steps_.size() && limit.value == ir::absent; ++s) {
      const std::vector<ir::ValueId>& outputs = plan_->steps_[s].outputs;
      const auto found = std::find_if(outputs.begin(), outputs.end(), holds);
      if (found != outputs.end()) limit = {*found, s + 1, limit.count, most};
    }
    if (limit.value == ir::absent) refuse(id);
    const ValuePlace::Kind kind = plan_->places_[static_cast<size_t>(limit.value)].kind;
    if (kind != ValuePlace::Kind::input && kind != ValuePlace::Kind::output &&
        kind != ValuePlace::Kind::arena)
      refuse(id);
    plan_->limits_.push_back(limit);
  }
  std::stable_sort(plan_->limits_.begin(), plan_->limits_.end(),
                   [](const ValueLimit& a, const ValueLimit& b) { return a.steps < b.steps; });
}

bool is_within(const ValueLimit& limit, const Frame& frame, ThreadPool& pool) {
  const auto* values = static_cast<const float*>(frame.pointer(limit.value));
  if (limit.count <= grain) return is_within(values, 0, limit.count, limit.most);
  std::atomic<bool> within{true};
  pool.parallel_for(limit.count, grain, [&](int64_t begin, int64_t end) {
    if (!is_within(values, begin, end, limit.most)) within.store(false, std::memory_order_relaxed);
  });
  return within.load(std::memory_order_relaxed);
}

const Plan& Plan::otherwise() const {
  const std::lock_guard lock(otherwise_mutex_);
  if (!otherwise_) otherwise_ = build_like(*this, graph_->limits->otherwise, recipe_->options.kernels);
  return *otherwise_;
}

}  // namespace axrun::runtime
