#include "runtime/optimizer/plan_tree.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/operation_count.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/optimizer/thread_time.h"

namespace axrun::runtime {
namespace {

const NestedPlan* find_place(const std::vector<NestedPlan>& plans, const NestedPlan& place) {
  const auto found =
      std::find_if(plans.begin(), plans.end(), [&](const NestedPlan& one) { return one.same_place(place); });
  return found == plans.end() ? nullptr : &*found;
}

}  // namespace

std::vector<double>& TreeTimes::times_of(const Plan& plan) {
  const auto [found, fresh] = index_.emplace(&plan, plans_.size());
  if (fresh) plans_.push_back({plan.shared_from_this(), std::vector<double>(plan.steps().size(), 0)});
  return plans_[found->second].microseconds;
}

void TreeTimes::step_reads(const Plan& plan, const Step& step, const std::vector<const void*>& inputs) {
  constexpr size_t most_bytes = 1 << 16;
  if (own_time_) own_start_ = seconds_of_thread();
  for (size_t k = 0; k < step.work->inputs.size() && integers_ != nullptr; ++k) {
    if (step.work->inputs[k] == ir::absent || inputs[k] == nullptr) continue;
    const ir::ValueFact& fact = plan.fact(step.work->inputs[k]);
    const bool integer = ir::is_signed_integer(fact.type) || ir::is_unsigned_integer(fact.type);
    const auto shape = fact.dims ? ir::constant_dims(*fact.dims) : std::nullopt;
    if (!integer || fact.constant.defined() || !shape) continue;
    const auto [found, fresh] = integers_->try_emplace({&plan, step.work->inputs[k]});
    if (!fresh) continue;
    if (static_cast<size_t>(ir::element_count(*shape)) * ir::size_of(fact.type) > most_bytes) continue;
    found->second = ir::Tensor::allocate(fact.type, *shape);
    std::memcpy(found->second.data(), inputs[k], found->second.bytes());
  }
}

void TreeTimes::step_done(const Plan& plan, size_t index, double, double elapsed_us) {
  // Of others a look at the processor's clock would be a part.
  constexpr double long_microseconds = 100;
  if (stop_.requested()) throw RunStopped();
  const bool look = own_time_ && elapsed_us > long_microseconds && plan.steps()[index].kernel;
  const double own_us = look ? (seconds_of_thread() - own_start_) * 1e6 : elapsed_us;
  const Clock::time_point begin = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double, std::micro>(elapsed_us));
  double inside = 0;
  while (plan.steps()[index].bodies && !done_.empty() && done_.back().first >= begin) {
    inside += done_.back().second;
    done_.pop_back();
  }
  times_of(plan)[index] += std::max(0.0, std::min(own_us, elapsed_us - inside));
  done_.emplace_back(begin, elapsed_us);
}

std::vector<double> TreeTimes::own_times(const Plan& plan) const {
  for (const Times& one : plans_) {
    if (one.plan.get() == &plan) return one.microseconds;
  }
  return std::vector<double>(plan.steps().size(), 0);
}

double TreeTimes::total() const {
  double total = 1e-9;
  for (const Times& one : plans_)
    total = std::accumulate(one.microseconds.begin(), one.microseconds.end(), total);
  return total;
}

void TreeTimes::keep_least(const TreeTimes& other) {
  for (const Times& times : other.plans_) {
    const bool known = index_.count(times.plan.get()) != 0;
    std::vector<double>& own = times_of(*times.plan);
    for (size_t s = 0; s < own.size(); ++s) {
      own[s] = known ? std::min(own[s], times.microseconds[s]) : times.microseconds[s];
    }
  }
}

void TreeTimes::set_expected() {
  constexpr double operations_per_microsecond = 3e4, bytes_per_microsecond = 1e4, call = 0.1;
  for (Times& times : plans_) {
    const ir::Inference facts = facts_of(*times.plan);
    const ir::Graph& graph = times.plan->graph();
    for (size_t s = 0; s < times.microseconds.size(); ++s) {
      const Step& step = times.plan->steps()[s];
      double operations = 0, bytes = 0;
      for (const int n : step.work->nodes) {
        const ir::Node& node = graph.nodes[static_cast<size_t>(n)];
        if (const auto program = facts.define(node))
          operations += ir::count_operations(*program, std::vector<bool>(node.inputs.size())).floating();
      }
      const auto count = [&](ir::ValueId id) {
        if (id == ir::absent) return;
        const ir::ValueFact& fact = times.plan->fact(id);
        const auto shape = fact.dims ? ir::constant_dims(*fact.dims) : std::nullopt;
        if (!shape || fact.type == ir::ElementType::undefined || fact.type == ir::ElementType::string) return;
        bytes += static_cast<double>(ir::element_count(*shape)) * static_cast<double>(ir::size_of(fact.type));
      };
      for (const ir::ValueId id : step.work->inputs) count(id);
      for (const ir::ValueId id : step.work->outputs) count(id);
      times.microseconds[s] = call + operations / operations_per_microsecond + bytes / bytes_per_microsecond;
    }
  }
}

bool is_generated(const Step& step) { return dynamic_cast<const JitKernel*>(step.kernel.get()) != nullptr; }

const jit::KernelCode* code_of(const Step& step) {
  const auto* kernel = dynamic_cast<const JitKernel*>(step.kernel.get());
  return kernel != nullptr ? kernel->parts().code.get() : nullptr;
}

std::vector<NestedPlan> latest_nested(const Plan& plan) {
  std::vector<NestedPlan> latest;
  for (NestedPlan& one : plan.nested()) {
    const bool other = latest.empty() || latest.back().node != one.node || latest.back().body != one.body;
    if (other) latest.push_back(std::move(one));
  }
  return latest;
}

StepCount count_steps(const Plan& plan) {
  StepCount count;
  for (const Step& step : plan.steps()) {
    count.kernels += step.kernel ? 1 : 0;
    count.generated += is_generated(step) ? 1 : 0;
  }
  for (const NestedPlan& nested : latest_nested(plan)) {
    const StepCount inside = count_steps(*nested.plan);
    count.kernels += inside.kernels;
    count.generated += inside.generated;
  }
  return count;
}

int generated_steps(const Plan& plan) { return count_steps(plan).generated; }
int kernel_steps(const Plan& plan) { return count_steps(plan).kernels; }

bool same_kernels(const Plan& a, const Plan& b) {
  const auto same = [](const Step& x, const Step& y) {
    return x.work->nodes == y.work->nodes && code_of(x) == code_of(y);
  };
  if (!std::equal(a.steps().begin(), a.steps().end(), b.steps().begin(), b.steps().end(), same)) return false;
  const std::vector<NestedPlan> others = b.nested();
  for (const NestedPlan& nested : a.nested()) {
    const NestedPlan* other = find_place(others, nested);
    if (other != nullptr && !same_kernels(*nested.plan, *other->plan)) return false;
  }
  return true;
}

void for_new_kernels(const Plan& now, const Plan* before,
                     const std::function<void(const Plan& plan, const Step& step)>& call) {
  for (const Step& step : now.steps()) {
    if (!is_generated(step)) continue;
    const bool was_there = before != nullptr &&
                           std::any_of(before->steps().begin(), before->steps().end(), [&](const Step& one) {
                             return one.work->nodes == step.work->nodes && code_of(one) == code_of(step);
                           });
    if (!was_there) call(now, step);
  }
  const std::vector<NestedPlan> others = before != nullptr ? before->nested() : std::vector<NestedPlan>();
  for (const NestedPlan& nested : now.nested()) {
    const NestedPlan* other = find_place(others, nested);
    for_new_kernels(*nested.plan, other != nullptr ? other->plan.get() : nullptr, call);
  }
}

FramesKept::FramesKept(const Plan& plan, Background& background) : background_(background) {
  const Background::Piece piece(background_);
  keep(plan);
}

void FramesKept::keep(const Plan& plan) {
  counts_.emplace_back(plan.shared_from_this(), plan.frames());
  for (const NestedPlan& nested : plan.nested()) keep(*nested.plan);
}

FramesKept::~FramesKept() {
  const Background::Piece piece(background_);
  for (const auto& [plan, count] : counts_) plan->keep_frames(count);
}

}  // namespace axrun::runtime
