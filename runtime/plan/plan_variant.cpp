// Plans at other sizes: what PlanBuilder takes from a plan of the same form, where that holds.
#include "runtime/plan/plan_variant.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/error.h"
#include "runtime/plan/kernel_block.h"
#include "runtime/plan/kernel_source.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueId;

std::vector<PlanVariants::Kept> PlanVariants::all() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void PlanVariants::keep(Kept made) {
  std::vector<Kept> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.variant == made.variant; });
  if (known != kept_.end()) {
    dropped.push_back(std::exchange(*known, std::move(made)));
    made = *known;
  } else {
    kept_.insert(kept_.begin(), made);
    if (kept_.size() > most) {
      dropped.push_back(std::move(kept_.back()));
      kept_.pop_back();
    }
  }
  for (Kept& one : kept_) {
    if (one.told && one.told->version < made.told->version)
      dropped.push_back({nullptr, std::exchange(one.told, nullptr)});
  }
}

namespace {

/// The numbers that a step of these nodes depends on; none where that is more than numbers.
std::optional<std::vector<size_t>> sizes_of(const PlanForm& form, const std::vector<int>& nodes) {
  std::set<size_t> places;
  for (const int n : nodes) {
    const ir::Node& node = form.graph->nodes[static_cast<size_t>(n)];
    const auto& program = form.programs[static_cast<size_t>(n)];
    if (!program) return std::nullopt;
    const std::vector<size_t> own = program->values();
    places.insert(own.begin(), own.end());
    for (size_t k = 0; k < node.inputs.size() + node.outputs.size(); ++k) {
      const bool is_input = k < node.inputs.size();
      const ValueId id = is_input ? node.inputs[k] : node.outputs[k - node.inputs.size()];
      const int32_t place = id == ir::absent ? -1 : (*form.places)[static_cast<size_t>(id)];
      if (place < 0) continue;
      const PlanForm::OpenFact& fact = form.open_facts[static_cast<size_t>(place)];
      // Steps know where constants are, and these are the plan's own.
      const auto& operands = program->program().operands;
      if (!fact.elements.empty() && is_input && k < operands.size() && operands[k] != ir::none)
        return std::nullopt;
      places.insert(fact.dims.begin(), fact.dims.end());
      places.insert(fact.elements.begin(), fact.elements.end());
    }
  }
  return std::vector<size_t>(places.begin(), places.end());
}

}  // namespace

OpenPorts PlanBuilder::ports_of(const StepOutline& outline) const {
  const auto dims_of = [&](ValueId id) {
    OpenPorts::Dims dims;
    if (id == ir::absent) return dims;
    const int32_t place = (*form_->places)[static_cast<size_t>(id)];
    if (place >= 0 && !form_->open_facts[static_cast<size_t>(place)].dims.empty()) {
      for (const size_t number : form_->open_facts[static_cast<size_t>(place)].dims)
        dims.push_back({number, 0});
    } else {
      for (const ir::Dim& dim : *(*form_->facts)[static_cast<size_t>(id)].dims)
        dims.push_back({OpenPorts::Dim::nowhere, dim.value()});
    }
    return dims;
  };
  OpenPorts ports;
  for (const ValueId id : outline.inputs) {
    ports.inputs.push_back(dims_of(id));
    ports.told.push_back(id != ir::absent && told_by_sizes(id));
  }
  for (const ValueId id : outline.outputs) ports.outputs.push_back(dims_of(id));
  return ports;
}

PlanVariant::Made PlanBuilder::made_so_far() const {
  return {plan_->steps_.size(), asks_.size(), plan_->open_steps_};
}

void PlanBuilder::keep_variant() {
  if (!arrangement_ || !version_ || !options_.reuse_buffers || graph_->limits) return;
  if (options_.kernels) form_->arrangements.note(joined_version_, arrangement_);
  auto variant = std::make_shared<PlanVariant>();
  variant->groups = made_;
  variant->views_by_size = views_by_size_;
  variant->concatenated = concatenated_;
  variant->places = plan_->places_;
  variant->asks = std::move(asks_);
  for (PlanVariant::Ask& ask : variant->asks) {
    StepOutline own;
    ask.ports = ports_of(outline_of(ask.group, own));
  }
  for (size_t s = 0; s < plan_->steps_.size(); ++s) {
    const Step& step = plan_->steps_[s];
    PlanVariant::Recipe& recipe = variant->recipes.emplace_back();
    recipe.group = step_groups_[s];
    recipe.work = step.work;
    recipe.ask = step_asks_[s];
    recipe.has_kernel = step.kernel != nullptr;
    if (auto sizes = sizes_of(*form_, recipe.group.nodes)) {
      const auto same = std::find(variant->sizes.begin(), variant->sizes.end(), *sizes);
      recipe.sizes = static_cast<size_t>(same - variant->sizes.begin());
      if (same == variant->sizes.end()) variant->sizes.push_back(std::move(*sizes));
    }
    if (!recipe.has_kernel) continue;
    StepOutline own;
    recipe.ports = ports_of(outline_of(recipe.group, own));
    recipe.fallback = std::make_shared<PlanVariant::Recipe::Fallback>();
    const bool is_generated = recipe.ask >= 0 && variant->asks[static_cast<size_t>(recipe.ask)].has_kernel;
    if (!is_generated)
      std::call_once(recipe.fallback->put, [&] { recipe.fallback->kernel = step.kernel; });
  }
  for (const PlanVariant::Made& made : made_) open_so_far_.push_back(made.open);
  begin_told(*variant, nullptr);
  keep_told(std::move(variant));
}

void PlanBuilder::begin_told(const PlanVariant& variant, const PlanVariant::Told* earlier) {
  told_ = std::make_shared<PlanVariant::Told>();
  told_->version = *version_;
  told_->numbers = numbers_;
  told_->questions.resize(variant.asks.size());
  for (size_t k = 0; k < told_->questions.size(); ++k) {
    const auto known = earlier != nullptr ? earlier->questions[k] : nullptr;
    const bool holds = known && known->is_there.load(std::memory_order_acquire) && known->question &&
                       known->question->holds();
    told_->questions[k] = holds ? known : std::make_shared<PlanVariant::Question>();
  }
}

void PlanBuilder::keep_told(std::shared_ptr<const PlanVariant> variant) {
  told_->steps = plan_->steps_;
  for (Step& step : told_->steps) {
    step.bodies.reset();
    told_->scratch_bytes.push_back(step.kernel ? step.kernel->scratch_bytes() : 0);
  }
  told_->open = std::move(open_so_far_);
  arrangement_->variants.keep({std::move(variant), std::exchange(told_, nullptr)});
}

bool PlanBuilder::take_variant() {
  if (!options_.fuse || !options_.reuse_buffers || graph_->limits) return false;
  version_ = options_.kernels ? options_.kernels->version() : std::optional<uint64_t>(0);
  if (!version_) return false;
  if (options_.kernels) joined_version_ = options_.kernels->joined_version();
  arrangement_ = options_.kernels ? form_->arrangements.of(joined_version_) : form_->plain;
  if (!arrangement_) return false;
  const auto variants = arrangement_->variants.all();
  return std::any_of(variants.begin(), variants.end(), [&](const auto& kept) { return take(kept); });
}

bool PlanBuilder::take(const PlanVariants::Kept& kept) {
  const PlanVariant& variant = *kept.variant;
  const bool is_there = std::all_of(form_->dims.begin(), form_->dims.end(),
                                    [&](size_t number) { return numbers_[number] >= 0; });
  if (!is_there) throw Error(Fault::model, "a size is negative");
  programs_.resize(form_->programs.size());
  const bool is_new = !kept.told || kept.told->version != *version_;
  if (holds(variant)) {
    if (is_new) begin_told(variant, kept.told.get());
    if (take_steps(variant, is_new ? *told_ : *kept.told) && takes_over(*variant.places)) {
      plan_->graph_ = graph_;
      plan_->places_ = variant.places;
      if (is_new) keep_told(kept.variant);
      lay_buffers();
      plan_->facts_ = std::move(facts_);
      return true;
    }
  }
  plan_->steps_.clear();
  plan_->open_steps_ = 0;
  plan_->has_nested_ = false;
  scratch_bytes_ = 0;
  step_groups_.clear();
  step_asks_.clear();
  open_so_far_.clear();
  told_ = nullptr;
  return false;
}

bool PlanBuilder::holds(const PlanVariant& variant) const {
  const PlanPlaces& places = *variant.places;
  const bool same_length =
      std::all_of(places.shared.begin(), places.shared.end(),
                  [&](const PlanPlaces::Shared& one) { return bytes_of(one.from) == bytes_of(one.to); });
  if (!same_length) return false;
  for (const PlanPlaces::Part& part : places.parts) {
    for (const ValueId id : part.before) {
      const size_t bytes = bytes_of(id);
      if (bytes == 0 || bytes % part_alignment != 0) return false;
    }
  }
  return std::all_of(variant.concatenated.begin(), variant.concatenated.end(),
                     [&](int n) { return is_of_one_row(n); }) &&
         std::all_of(variant.views_by_size.begin(), variant.views_by_size.end(),
                     [&](int n) { return viewed_input(n) >= 0; });
}

bool PlanBuilder::takes_over(const PlanPlaces& places) const {
  return std::all_of(places.shared.begin(), places.shared.end(), [&](const PlanPlaces::Shared& one) {
    const auto& kernel = plan_->steps_[one.step].kernel;
    if (kernel == nullptr) return false;
    const std::vector<int> inputs = kernel->in_place();
    return std::find(inputs.begin(), inputs.end(), one.input) != inputs.end();
  });
}

bool PlanBuilder::take_steps(const PlanVariant& variant, const PlanVariant::Told& told) {
  const KernelBlock block;
  note_same_sizes(variant, told);
  plan_->steps_.reserve(variant.recipes.size());
  PlanVariant::Made begin;
  for (size_t g = 0; g < variant.groups.size(); ++g) {
    const PlanVariant::Made& end = variant.groups[g];
    bool same = true;
    for (size_t s = begin.steps; s < end.steps; ++s) same = same && has_same_sizes(variant.recipes[s]);
    if (options_.kernels != nullptr && !same) {
      if (!ask_for_steps(variant, told, begin, end)) return false;
    } else {
      for (size_t s = begin.steps; s < end.steps; ++s) {
        if (!take_step(variant, told, s)) return false;
      }
      if (!told.open.empty()) plan_->open_steps_ += told.open[g] - (g > 0 ? told.open[g - 1] : 0);
    }
    if (told_) open_so_far_.push_back(plan_->open_steps_);
    begin = end;
  }
  return true;
}

KernelSource::Found PlanBuilder::ask(const PlanVariant::Ask& ask, PlanVariant::Question& known) {
  std::call_once(known.put, [&] {
    StepOutline own;
    StepContext context = context_of(outline_of(ask.group, own));
    for (size_t k = 0; k < context.inputs.size(); ++k) {
      if (ask.ports.told[k]) context.inputs[k].constant = nullptr;
    }
    known.question = options_.kernels->ask(*graph_, ask.group.nodes, context);
    known.is_there.store(true, std::memory_order_release);
  });
  if (known.question) return known.question->at({ask.ports, numbers_});
  StepOutline own;
  return options_.kernels->find(*graph_, ask.group.nodes, context_of(outline_of(ask.group, own)));
}

bool PlanBuilder::ask_for_steps(const PlanVariant& variant, const PlanVariant::Told& told,
                                const PlanVariant::Made& begin, const PlanVariant::Made& end) {
  size_t s = begin.steps;
  const auto take_steps_before = [&](int ask) {
    for (; s < end.steps && variant.recipes[s].ask < ask; ++s) {
      if (!take_step(variant, told, s)) return false;
    }
    return true;
  };
  for (size_t k = begin.asks; k < end.asks; ++k) {
    if (!take_steps_before(static_cast<int>(k))) return false;
    const PlanVariant::Ask& own = variant.asks[k];
    KernelSource::Found found = ask(own, *told.questions[k]);
    const bool is_one_step = s < end.steps && variant.recipes[s].ask == static_cast<int>(k);
    // A joined group is one step or several, as the source has it.
    const bool like =
        (found.kernel != nullptr) == own.has_kernel && (!own.group.is_sequence || found.open == own.is_open);
    if (!like && !own.group.parts.empty()) return false;
    if (!is_one_step && found.kernel != nullptr) return false;
    if (own.counts && found.open && (own.group.parts.empty() || own.group.is_sequence || found.beyond))
      ++plan_->open_steps_;
    if (!is_one_step) continue;
    if (found.kernel == nullptr) {
      if (!take_step(variant, told, s++)) return false;
      continue;
    }
    scratch_bytes_ = std::max(scratch_bytes_, found.kernel->scratch_bytes());
    plan_->steps_.push_back({std::move(found.kernel), nullptr, nullptr, variant.recipes[s++].work});
  }
  return take_steps_before(static_cast<int>(end.asks));
}

std::shared_ptr<const Kernel> PlanBuilder::fallback_of(const Group& group) const {
  StepOutline own;
  const StepContext context = context_of(outline_of(group, own));
  return group.is_sequence ? sequence_of(group, context) : make_kernel(context);
}

void PlanBuilder::note_same_sizes(const PlanVariant& variant, const PlanVariant::Told& told) {
  same_sizes_.assign(variant.sizes.size(), 0);
  if (told.steps.empty()) return;
  std::transform(variant.sizes.begin(), variant.sizes.end(), same_sizes_.begin(),
                 [&](const std::vector<size_t>& sizes) {
                   return std::all_of(sizes.begin(), sizes.end(), [&](size_t number) {
                     return numbers_[number] == told.numbers[number];
                   });
                 });
}

bool PlanBuilder::take_step(const PlanVariant& variant, const PlanVariant::Told& told, size_t s) {
  const PlanVariant::Recipe& recipe = variant.recipes[s];
  if (!recipe.has_kernel) {
    make_evaluated_step(recipe.group.nodes.front());
    return true;
  }
  if (has_same_sizes(recipe)) {
    scratch_bytes_ = std::max(scratch_bytes_, told.scratch_bytes[s]);
    plan_->steps_.push_back(told.steps[s]);
    return true;
  }
  std::call_once(recipe.fallback->put, [&] { recipe.fallback->kernel = fallback_of(recipe.group); });
  std::shared_ptr<const Kernel> kernel;
  if (recipe.fallback->kernel) kernel = recipe.fallback->kernel->resized({recipe.ports, numbers_});
  if (kernel == nullptr) kernel = fallback_of(recipe.group);
  if (kernel == nullptr) return false;
  scratch_bytes_ = std::max(scratch_bytes_, kernel->scratch_bytes());
  plan_->steps_.push_back({std::move(kernel), nullptr, nullptr, recipe.work});
  return true;
}

}  // namespace axrun::runtime
