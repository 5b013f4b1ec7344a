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
  for (const auto& [id, most] : graph_->limits->most) {
    const ir::ValueFact& known = fact(id);
    const auto shape = known.dims ? ir::constant_dims(*known.dims) : std::nullopt;
    // It is given, or a step writes it, or several write its parts where it will be read. Roots are those of
    // views so far: later on what is written in place of it has the same one.
    const auto is_part = [&](ir::ValueId other) {
      for (auto found = parts_.find(root(other)); found != parts_.end();
           found = parts_.find(root(found->second.part)))
        if (root(found->second.part) == root(id)) return true;
      return false;
    };
    bool is_there = std::any_of(live_in_.begin(), live_in_.end(),
                                [&](ir::ValueId given) { return root(given) == root(id); });
    ValueLimit limit{id, 0, shape ? ir::element_count(*shape) : 0, most};
    for (size_t s = 0; s < plan_->steps_.size() && !is_there; ++s) {
      for (const ir::ValueId output : plan_->steps_[s].work->outputs) {
        if (output == ir::absent) continue;
        is_there = is_there || root(output) == root(id);
        if (is_there || is_part(output)) limit.steps = s + 1;
      }
    }
    const bool has_place = !slot_[static_cast<size_t>(root(id))] && !is_constant(root(id));
    if (!shape || known.type != ir::ElementType::f32 || !has_place || (!is_there && limit.steps == 0)) {
      throw Error(Fault::unsupported,
                  "a limit of the graph's cannot be watched: value '" + graph_->value(id).name + "'");
    }
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

float bilinear_limit(double room, const ir::Tensor& transformed) {
  const ir::Shape& shape = transformed.shape();
  const auto* weights = transformed.as<float>();
  double largest_row = 1;
  for (int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < shape[2]; ++c) sum += std::fabs(static_cast<double>(*weights++));
    if (!std::isfinite(sum)) return 0;
    largest_row = std::max(largest_row, sum);
  }
  // Any partial sum, in any order, is below the sum of magnitudes; rounding adds less than as much again.
  return static_cast<float>(room / largest_row);
}

const Plan& Plan::otherwise() const {
  const std::lock_guard lock(otherwise_mutex_);
  if (!otherwise_) otherwise_ = build_like(*this, graph_->limits->otherwise, recipe_->options.kernels);
  return *otherwise_;
}

}  // namespace axrun::runtime
