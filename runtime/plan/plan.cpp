#include "runtime/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ir/error_place.h"
#include "ir/evaluate.h"
#include "runtime/plan/frame.h"
#include "runtime/plan/nested_plans.h"
#include "runtime/plan/value_limits.h"
#include "runtime/run_control.h"

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Gives a graph output a value that lives elsewhere. What is borrowed is copied: results are the caller's
/// own.
void deliver(const RuntimeValue& value, RuntimeValue& result) {
  if (value.kind != ir::ValueKind::tensor || value.type == ir::ElementType::string) {
    result = value;
    return;
  }
  const bool fits = result.kind == ir::ValueKind::tensor && result.tensor.type() == value.tensor.type() &&
                    result.tensor.shape() == value.tensor.shape();
  if (!fits) {
    result = RuntimeValue(value.tensor.clone());
  } else if (value.tensor.bytes() > 0 && result.tensor.data() != value.tensor.data()) {
    std::memmove(result.tensor.data(), value.tensor.data(), value.tensor.bytes());
  }
}

bool borrows(const RuntimeValue& value) {
  if (value.tensor.defined() && !value.tensor.keeps_buffer()) return true;
  return value.items && std::any_of(value.items->begin(), value.items->end(), borrows);
}

/// The value without loans from the frame's arena, whose bytes soon mean something else.
RuntimeValue kept(RuntimeValue value) {
  if (!borrows(value)) return value;
  if (value.items) {
    std::vector<RuntimeValue> items;
    for (const RuntimeValue& item : *value.items) items.push_back(kept(item));
    value.items = std::make_shared<const std::vector<RuntimeValue>>(std::move(items));
  }
  if (value.tensor.defined() && !value.tensor.keeps_buffer()) value.tensor = value.tensor.clone();
  return value;
}

/// Texts name the node that met bad data; of those that a step computes together, that one is meant.
[[noreturn]] void throw_at(const ir::Graph& graph, const Step& step, const Error& error) {
  const std::string text = error.what();
  const ir::Node* met = step.work->node;
  for (const int n : step.work->nodes) {
    const ir::Node& node = graph.nodes[static_cast<size_t>(n)];
    if (text.find(fmt::format("{} '{}'", node.op, node.name)) != std::string::npos) met = &node;
  }
  throw_as(error, text, met != nullptr ? ErrorPlace::of_node(met->name, met->op) : ErrorPlace());
}

}  // namespace

Plan::Plan() {
  static std::atomic<uint64_t> made{0};
  id_ = ++made;
}

Plan::~Plan() = default;

const FactTable& Plan::facts() const {
  std::call_once(facts_once_, [this] {
    // The form has let the numbers through before.
    if (facts_.size() == 0) facts_ = *recipe_->form->facts_at(recipe_->numbers);
  });
  return facts_;
}

std::vector<NestedPlan> Plan::nested() const {
  std::vector<NestedPlan> found;
  for (const Step& step : steps_) {
    if (step.bodies) step.bodies->list(found);
  }
  if (continuation_) continuation_->list(found);
  return found;
}

void Plan::prepare_nested(const std::vector<NestedForm>& forms) const {
  // What was used last is made last.
  for (auto form = forms.rbegin(); form != forms.rend(); ++form) {
    try {
      if (form->node.empty()) {
        if (continuation_) continuation_->prepare(*this, *form);
        continue;
      }
      const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step& one) {
        return one.bodies && one.work->node->name == form->node;
      });
      if (step != steps_.end()) step->bodies->prepare(*form);
    } catch (const Error&) {
      // A run that needs it will say why it cannot be built.
    }
  }
}

void Plan::prepare_nested(const Plan& like) const { prepare_nested(nested_forms(like)); }

int Plan::open_steps() const {
  int open = open_steps_;
  for (const Step& step : steps_) {
    if (step.bodies) open += step.bodies->open_steps();
  }
  return continuation_ ? open + continuation_->open_steps() : open;
}

size_t Plan::frames() const { return places_->frames->count(id_); }

int64_t Plan::waiting_bytes(std::set<const FramePool*>& counted) const {
  const FramePool& pool = *places_->frames;
  int64_t bytes = counted.insert(&pool).second ? static_cast<int64_t>(pool.bytes()) : 0;
  for (const NestedPlan& one : nested()) bytes += one.plan->waiting_bytes(counted);
  return bytes;
}

void Plan::keep_frames(size_t count) const { places_->frames->keep(id_, count); }

void Plan::prepare_frame() const {
  constexpr size_t page = 4096;
  std::unique_ptr<Frame> frame = places_->frames->take(*this);
  auto* const arena = static_cast<volatile char*>(frame->arena.data());
  for (size_t at = 0; at < frame->arena.size(); at += page) arena[at] = 0;
  places_->frames->give(std::move(frame));
}

void Plan::prepare_frames(size_t most_nested_bytes) const {
  prepare_frame();
  std::vector<NestedPlan> waiting = nested();
  while (!waiting.empty()) {
    const std::shared_ptr<const Plan> plan = std::move(waiting.back().plan);
    waiting.pop_back();
    for (NestedPlan& one : plan->nested()) waiting.push_back(std::move(one));
    if (plan->arena_bytes() > most_nested_bytes) continue;
    most_nested_bytes -= plan->arena_bytes();
    plan->prepare_frame();
  }
}

void Plan::run(const std::vector<RuntimeValue>& live_in, std::vector<RuntimeValue>& outputs,
               const RunContext& context) const {
  std::unique_ptr<Frame> frame = places_->frames->take(*this);
  frame->bind(*this, live_in, outputs);
  const bool is_right = execute(*frame, context, nullptr);
  frame->release(*this);
  places_->frames->give(std::move(frame));
  if (!is_right) otherwise().run(live_in, outputs, context);
}

void Plan::run_inspected(const std::vector<RuntimeValue>& live_in, std::vector<RuntimeValue>& outputs,
                         const RunContext& context, const Inspector& inspector) const {
  std::unique_ptr<Frame> frame = places_->frames->take(*this);
  frame->bind(*this, live_in, outputs);
  const bool is_right = execute(*frame, context, &inspector);
  frame->release(*this);
  if (!is_right) otherwise().run_inspected(live_in, outputs, context, inspector);
}

bool Plan::execute(Frame& frame, const RunContext& context, const Inspector* inspector) const {
  const Clock::time_point begin = context.observer != nullptr ? Clock::now() : Clock::time_point();
  auto limit = limits_.begin();
  const auto within_limits = [&](size_t steps) {
    for (; limit != limits_.end() && limit->steps == steps; ++limit)
      if (!is_within(*limit, frame, context.pool)) return false;
    return true;
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (context.control != nullptr) context.control->check();
    if (!within_limits(s)) return false;
    const Clock::time_point start = context.observer != nullptr ? Clock::now() : Clock::time_point();
    if (context.observer != nullptr && step.bodies) context.observer->bodies_begin();
    try {
      run_step(frame, step, context);
    } catch (const RunEnded&) {
      throw;
    } catch (const Error& error) {
      throw_at(*graph_, step, error);
    }
    if (context.observer != nullptr) {
      context.observer->step_done(*this, s, microseconds(start - begin), microseconds(Clock::now() - start));
    }
    if (inspector == nullptr) continue;
    for (size_t k = 0; k < step.work->outputs.size(); ++k) {
      if (step.work->outputs[k] == ir::absent) continue;
      const RuntimeValue value = frame.value(*this, step.work->outputs[k]);
      if (value.kind == ir::ValueKind::tensor && value.tensor.defined()) (*inspector)(step, k, value.tensor);
    }
  }
  if (!within_limits(steps_.size())) return false;
  for (const PlanPlaces::OutputCopy& copy : places_->copies)
    deliver(frame.value(*this, copy.value), (*frame.outputs)[copy.output]);
  if (continuation_) continuation_->run(*this, frame, *frame.outputs, context);
  return true;
}

void Plan::run_step(Frame& frame, const Step& step, const RunContext& context) const {
  if (step.kernel) {
    for (size_t k = 0; k < step.work->inputs.size(); ++k) {
      frame.call_inputs[k] =
          step.work->inputs[k] == ir::absent ? nullptr : frame.pointer(step.work->inputs[k]);
    }
    for (size_t k = 0; k < step.work->outputs.size(); ++k) {
      frame.call_outputs[k] =
          step.work->outputs[k] == ir::absent ? nullptr : frame.pointer(step.work->outputs[k]);
    }
    if (context.observer != nullptr) context.observer->step_reads(*this, step, frame.call_inputs);
    step.kernel->run({frame.call_inputs.data(), frame.call_outputs.data(),
                      static_cast<char*>(frame.arena.data()) + scratch_offset_, context.pool});
    return;
  }
  std::vector<RuntimeValue> inputs(step.work->inputs.size());
  for (size_t k = 0; k < step.work->inputs.size(); ++k) {
    if (step.work->inputs[k] != ir::absent) inputs[k] = frame.value(*this, step.work->inputs[k]);
  }
  std::vector<RuntimeValue> results;
  if (step.bodies) {
    results = step.bodies->run(
        inputs, [&](ir::ValueId id, RuntimeValue& to) { frame.read(*this, id, to); }, context);
  } else {
    std::vector<ir::Tensor> operands(step.program->operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (step.program->operands[k] != ir::none) operands[k] = inputs[k].tensor;
    }
    for (ir::Tensor& tensor : ir::evaluate(*step.program, operands)) results.emplace_back(std::move(tensor));
  }
  for (size_t k = 0; k < step.work->outputs.size() && k < results.size(); ++k) {
    if (step.work->outputs[k] != ir::absent)
      frame.put(*this, step.work->outputs[k], kept(std::move(results[k])));
  }
}

}  // namespace axrun::runtime
