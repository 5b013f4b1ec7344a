#include "runtime/profiler.h"

#include <algorithm>
#include <chrono>

#include "runtime/optimizer/jit_kernel.h"

namespace axrun::runtime {
namespace {

double bytes_of(const ir::ValueFact& fact) {
  if (!fact.dims) return 0;
  const auto shape = ir::constant_dims(*fact.dims);
  return shape ? static_cast<double>(ir::element_count(*shape)) * static_cast<double>(ir::size_of(fact.type))
               : 0;
}

}  // namespace

StepProfile describe_step(const Plan& plan, const Step& step) {
  StepProfile profile;
  profile.name = step.work->node->name;
  profile.op = step.work->ops;
  profile.kernel = step.kernel ? step.kernel->describe() : step.bodies ? "control flow" : "interpreter";
  if (step.kernel) profile.flops = step.kernel->flops();
  if (const auto* const jit = dynamic_cast<const JitKernel*>(step.kernel.get()))
    profile.proof = JitKernel::proof(jit->parts().from_cache);
  for (size_t k = 0; k < step.work->outputs.size(); ++k) {
    if (step.work->outputs[k] == ir::absent) continue;
    const ir::ValueFact& fact = plan.fact(step.work->outputs[k]);
    if (profile.shape.empty() && fact.dims) profile.shape = ir::to_string(*fact.dims);
    profile.result_bytes += bytes_of(fact);
  }
  profile.bytes = profile.result_bytes;
  for (ir::ValueId id : step.work->inputs) {
    if (id == ir::absent) continue;
    const ir::ValueFact& fact = plan.fact(id);
    profile.bytes += bytes_of(fact);
    if (fact.constant.defined()) profile.constant_bytes += bytes_of(fact);
  }
  return profile;
}

void Profiler::add(const Key& key, double start_us, double elapsed_us, double nested_us,
                   const std::function<StepProfile()>& describe) {
  const auto [found, fresh] = index_.emplace(key, steps_.size());
  if (fresh) steps_.push_back(describe());
  StepProfile& profile = steps_[found->second];
  ++profile.runs;
  profile.total_us += elapsed_us;
  profile.nested_us += nested_us;
  profile.start_us = start_us;
  profile.last_us = elapsed_us;
}

void Profiler::bodies_begin() {
  const std::lock_guard lock(mutex_);
  inside_[std::this_thread::get_id()].push_back({});
}

void Profiler::step_done(const Plan& plan, size_t index, double start_us, double elapsed_us) {
  const auto begin = std::chrono::steady_clock::now();
  const Step& step = plan.steps()[index];
  const std::lock_guard lock(mutex_);
  std::vector<Inside>& around = inside_[std::this_thread::get_id()];
  Inside inside;
  if (step.bodies && !around.empty()) {
    inside = around.back();
    around.pop_back();
    elapsed_us = std::max(elapsed_us - inside.noting_us, inside.steps_us);
  }
  add({plan.id(), index}, start_us, elapsed_us, inside.steps_us, [&] { return describe_step(plan, step); });
  if (around.empty()) return;
  const std::chrono::duration<double, std::micro> noting = std::chrono::steady_clock::now() - begin;
  around.back().steps_us += elapsed_us;
  around.back().noting_us += inside.noting_us + noting.count();
}

NodeObserver Profiler::node_observer() {
  return [this, clock = 0.0](const ir::Graph&, const ir::Node& node, const std::vector<RuntimeValue>& outputs,
                             double elapsed_us) mutable {
    const std::lock_guard lock(mutex_);
    add({reinterpret_cast<uintptr_t>(&node), 0}, clock, elapsed_us, 0, [&] {
      StepProfile profile;
      profile.name = node.name;
      profile.op = node.op;
      profile.kernel = "reference";
      if (!outputs.empty() && outputs[0].tensor.defined())
        profile.shape = ir::to_string(outputs[0].tensor.shape());
      return profile;
    });
    clock += elapsed_us;
  };
}

std::vector<StepProfile> Profiler::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

void Profiler::reset() {
  const std::lock_guard lock(mutex_);
  steps_.clear();
  index_.clear();
  inside_.clear();
}

}  // namespace axrun::runtime
