#include "runtime/optimizer/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/error.h"
#include "ir/operation_count.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_lookup.h"
#include "runtime/optimizer/kernel_sizes.h"

namespace axrun::runtime {
namespace {

/// Expressions at fixed shapes that one step may have beside those for open sizes, and of these.
constexpr std::ptrdiff_t most_fixed_forms = 4, most_open_forms = 12;
/// Entries for single sizes that an entry for a range may have.
constexpr size_t most_specialised = 4;

std::string product_text(const ir::Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

double flops_at(const StepExpression& expression, const SizeValues& sizes) {
  ir::Program program = expression.whole_program();
  std::map<std::string, ir::Dim> values;
  for (const auto& [name, value] : sizes) values.emplace(name, ir::Dim(value));
  for (ir::TensorDecl& tensor : program.tensors) {
    for (ir::Dim& dim : tensor.dims) dim = dim.substitute(values);
  }
  for (ir::Expr& expr : program.exprs) expr.dim = expr.dim.substitute(values);
  for (ir::Stage& stage : program.stages) {
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (ir::Axis& axis : *axes) axis.extent = axis.extent.substitute(values);
    }
  }
  return ir::count_operations(program, expression.constant).floating();
}

bool same_content(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  return a.data() == b.data() || a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Values that the nodes of a step read and that are constant in this plan, not in the graph: shapes of this
/// plan, or small values that a continuation was made for.
std::vector<std::pair<ir::ValueId, ir::Tensor>> contents_of(const Plan& plan, const Step& step) {
  std::vector<std::pair<ir::ValueId, ir::Tensor>> contents;
  for (const int n : step.work->nodes) {
    for (const ir::ValueId id : plan.graph().nodes[static_cast<size_t>(n)].inputs) {
      if (id == ir::absent || plan.graph().value(id).constant.defined()) continue;
      if (plan.fact(id).constant.defined()) contents.emplace_back(id, plan.fact(id).constant);
    }
  }
  return contents;
}

std::vector<bool> are_known(const std::vector<const void*>& constants) {
  std::vector<bool> known;
  for (const void* constant : constants) known.push_back(constant != nullptr);
  return known;
}

OpenPorts::Dims dims_at(const ir::Shape& shape) {
  OpenPorts::Dims dims;
  for (const int64_t extent : shape) dims.push_back({OpenPorts::Dim::nowhere, extent});
  return dims;
}

OpenPorts ports_at(const StepContext& context) {
  OpenPorts ports;
  for (const StepPort& port : context.inputs) ports.inputs.push_back(dims_at(port.shape));
  for (const StepPort& port : context.outputs) ports.outputs.push_back(dims_at(port.shape));
  return ports;
}

bool has_shapes(const PortSizes& inputs, const std::vector<ir::Shape>& shapes) {
  if (shapes.size() != inputs.inputs()) return false;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (shapes[k].size() != inputs.rank_of_input(k)) return false;
    for (size_t d = 0; d < shapes[k].size(); ++d) {
      if (shapes[k][d] != inputs.dim_of_input(k, d)) return false;
    }
  }
  return true;
}

std::vector<ir::Shape> input_shapes(const Plan& plan, const Step& step) {
  std::vector<ir::Shape> shapes(step.work->inputs.size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (step.work->inputs[k] != ir::absent)
      shapes[k] = *ir::constant_dims(*plan.fact(step.work->inputs[k]).dims);
  }
  return shapes;
}

/// Of those that are there.
std::vector<ir::Shape> output_shapes(const Plan& plan, const Step& step) {
  std::vector<ir::Shape> shapes;
  for (const ir::ValueId id : step.work->outputs) {
    if (id != ir::absent) shapes.push_back(*ir::constant_dims(*plan.fact(id).dims));
  }
  return shapes;
}

}  // namespace

bool KernelLibrary::has_fixed_room(const GroupKey& key) const {
  const auto group = groups_.find(key);
  if (group == groups_.end()) return true;
  const auto& forms = group->second.forms;
  return std::count_if(forms.begin(), forms.end(),
                       [](const auto& form) { return form->assumptions.empty(); }) < most_fixed_forms;
}

bool KernelLibrary::has_open_room(const GroupKey& key, std::string_view assumptions) const {
  if (assumptions.empty()) return false;
  const auto group = groups_.find(key);
  if (group == groups_.end()) return true;
  std::ptrdiff_t count = 0;
  for (const std::shared_ptr<Form>& form : group->second.forms) {
    if (!form->entry && form->assumptions == assumptions) return false;
    count += form->assumptions.empty() ? 0 : 1;
  }
  return count < most_open_forms;
}

std::vector<std::shared_ptr<KernelLibrary::Form>> KernelLibrary::forms_of(const GroupKey& key,
                                                                          std::string_view assumptions,
                                                                          const ConstantOf& constant) const {
  std::vector<std::shared_ptr<Form>> granted;
  const auto group = groups_.find(key);
  if (group == groups_.end()) return granted;
  for (const std::shared_ptr<Form>& form : group->second.forms) {
    if (!form->assumptions.empty() && form->assumptions != assumptions) continue;
    if (!form->entry && !form->assumptions.empty()) continue;  // it says so of no shapes in particular
    const bool same = std::all_of(form->contents.begin(), form->contents.end(), [&](const auto& content) {
      const ir::Tensor* found = constant(content.first);
      return found != nullptr && same_content(*found, content.second);
    });
    if (same) granted.push_back(form);
  }
  return granted;
}

bool KernelLibrary::is_for(const Form& form, const PortSizes& ports, const std::vector<int>& outputs,
                           SizeValues& sizes) {
  if (!form.entry) return has_shapes(ports, form.shapes);
  auto found = sizes_for(*form.expression, ports, outputs);
  if (!found || !covers(form.entry->ranges, *found)) return false;
  sizes = *std::move(found);
  return true;
}

KernelLibrary::Choice KernelLibrary::choose(const Entry& entry, const SizeValues& sizes) const {
  using State = OptimizedKernel::State;
  // Also code that was accepted before, and then differed from the present kernel.
  if (entry.record.state == State::refused) return {};
  if (!entry.generated) return {false, entry.record.state == State::waiting};
  if (!entry.generated->tested.cover(sizes)) {
    const bool may_be = entry.stays_within.empty();
    return {false, may_be, may_be && (options_.always || entry.record.state == State::accepted)};
  }
  if (options_.always) return {true, false};
  const KernelVerdict* nearest = nullptr;
  for (const KernelVerdict& verdict : entry.verdicts) {
    if (options_.exact_sizes && verdict.sizes != sizes) continue;
    if (nearest == nullptr || distance(sizes, verdict.sizes) < distance(sizes, nearest->sizes))
      nearest = &verdict;
  }
  return {nearest != nullptr && nearest->use, nearest == nullptr || !alike(sizes, nearest->sizes)};
}

std::shared_ptr<KernelLibrary::Entry> KernelLibrary::specialised_at(
    const std::vector<std::shared_ptr<Entry>>& entries, const SizeValues& sizes) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const std::shared_ptr<Entry>& one) {
    return covers(one->ranges, sizes);
  });
  return found == entries.end() ? nullptr : *found;
}

std::shared_ptr<KernelLibrary::Entry> KernelLibrary::specialised(Entry& entry, const SizeValues& sizes) {
  Change change(*this);
  const bool open = std::any_of(entry.ranges.begin(), entry.ranges.end(),
                                [](const ir::loop::Size& range) { return range.low != range.high; });
  // Without a kind there is no schedule, whatever the sizes are.
  const bool tried = entry.record.state != OptimizedKernel::State::waiting && !entry.record.kind.empty();
  if (!open || !tried || choose(entry, sizes).use) return nullptr;
  if (auto known = specialised_at(entry.specialised, sizes)) return known;
  change.of(entry);
  if (entry.specialised.size() == most_specialised) {
    const auto oldest = std::min_element(entry.specialised.begin(), entry.specialised.end(),
                                         [](const auto& a, const auto& b) { return a->used < b->used; });
    std::erase(order_, *oldest);
    entry.specialised.erase(oldest);
  }
  auto made = std::make_shared<Entry>();
  made->shared_expression = entry.shared_expression;
  for (const ir::loop::Size& range : entry.ranges) {
    const int64_t value = sizes.at(range.name);
    made->ranges.push_back({range.name, value, value, 1});
  }
  made->key = entry.key + " " + text_of(made->ranges);
  made->range = &entry;
  made->role = entry.role;
  made->used = ++uses_;
  made->record.ops = entry.record.ops;
  made->record.nodes = entry.record.nodes;
  made->record.sizes = text_of(made->ranges);
  entry.specialised.push_back(made);
  order_.push_back(made);
  return made;
}

void KernelLibrary::Change::of(Entry& entry) {
  (entry.range != nullptr ? *entry.range : entry).changed = version_;
}

void KernelLibrary::add_form(const GroupKey& key, std::shared_ptr<Form> form) {
  Change change(*this);
  Group& group = groups_[key];
  group.forms.push_back(std::move(form));
  change.of(group);
}

uint64_t KernelLibrary::next_version() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

KernelSource::Found KernelLibrary::find(const ir::Graph& graph, const std::vector<int>& nodes,
                                        const StepContext& context) {
  {
    // The first answer waits for nothing: there is nothing to look up yet.
    const std::lock_guard lock(mutex_);
    if (groups_.empty()) return {nullptr, true};
  }
  const OpenPorts ports = ports_at(context);
  return StepQuestion(*this, graph, nodes, context).at({ports, {}});
}

std::shared_ptr<const KernelSource::Question> KernelLibrary::ask(const ir::Graph& graph,
                                                                 const std::vector<int>& nodes,
                                                                 const StepContext& context) {
  return std::make_shared<const StepQuestion>(*this, graph, nodes, context);
}

std::shared_ptr<const JitKernelParts> KernelLibrary::parts_of(const Entry& entry,
                                                              const ServingCode& generated,
                                                              const std::vector<bool>& known,
                                                              const std::vector<int>& outputs,
                                                              const ir::Node& node, int threads) {
  auto parts = std::make_shared<JitKernelParts>();
  parts->code = generated.code;
  parts->inputs = generated.inputs;
  parts->outputs = outputs;
  parts->place = node.op + " '" + node.name + "'";
  parts->threads = threads;
  parts->from_cache = generated.from_cache;
  parts->symbols = entry.shared_expression->symbols;
  parts->work = [code = generated.code.get(), known](const SizeValues& at, const jit::Target& target) {
    return jit::count_work(code->program(), at, known, target);
  };
  parts->flops = [expression = entry.shared_expression](const SizeValues& at) {
    return flops_at(*expression, at);
  };
  parts->description = [kind = generated.kind, expression = entry.shared_expression,
                        from = generated.from_cache](const SizeValues& at) {
    std::string open;
    for (const auto& [name, value] : at)
      open += fmt::format("{}{}={}", open.empty() ? " (" : ", ", name, value);
    return fmt::format("jit {} {}{} [{}]", kind, product_text(output_shapes(*expression, at).front()),
                       open.empty() ? "" : open + ")", JitKernel::proof(from));
  };
  return parts;
}

std::shared_ptr<const jit::BoundKernel> KernelLibrary::bind(const ServingCode& generated,
                                                            const SizeValues& sizes,
                                                            const Constants& constants) {
  BoundKey key{generated.code.get(), constants, {}};
  const bool has_constants = std::any_of(constants.begin(), constants.end(),
                                         [](const void* constant) { return constant != nullptr; });
  std::vector<std::shared_ptr<const jit::BoundKernel>> relatives;
  {
    const std::lock_guard lock(mutex_);
    auto one = has_constants ? bound_.lower_bound(key) : bound_.end();
    for (const auto& [name, value] : sizes) key.sizes.push_back(value);
    const auto found = bound_.find(key);
    if (found != bound_.end()) {
      if (auto kernel = found->second.lock()) return kernel;
    }
    // A few are enough: other sizes mostly ask for the same packed weights.
    constexpr size_t few = 4;
    for (; one != bound_.end() && one->first.code == key.code && one->first.constants == constants &&
           relatives.size() < few;
         ++one) {
      if (auto kernel = one->second.lock()) relatives.push_back(std::move(kernel));
    }
  }
  auto made = std::make_shared<jit::BoundKernel>(generated.code, sizes, are_known(constants));
  if (has_constants) {
    bool shared = false;
    for (const auto& relative : relatives) shared = shared || made->share_prepared(*relative);
    if (!shared) made->prepare(constants.data(), jit::inline_workers(), &prepared_);
  }
  const std::lock_guard lock(mutex_);
  // Of sizes that are gone nothing is kept for long.
  if (bound_.size() >= bound_swept_at_) {
    std::erase_if(bound_, [](const auto& known) { return known.second.expired(); });
    bound_swept_at_ = 2 * bound_.size() + 64;
  }
  auto& slot = bound_[std::move(key)];
  if (auto kernel = slot.lock()) return kernel;  // another plan was faster
  slot = made;
  return made;
}

std::optional<KernelLibrary::Place> KernelLibrary::known_place(const Plan& plan, const Step& step) const {
  OpenPorts ports;
  for (const ir::Shape& shape : input_shapes(plan, step)) ports.inputs.push_back(dims_at(shape));
  std::vector<int> outputs;
  for (const ir::Shape& shape : output_shapes(plan, step)) {
    outputs.push_back(static_cast<int>(outputs.size()));
    ports.outputs.push_back(dims_at(shape));
  }
  const auto constant = [&](ir::ValueId id) {
    const ir::Tensor& known = plan.fact(id).constant;
    return known.defined() ? &known : nullptr;
  };
  const std::lock_guard lock(mutex_);
  Place place;
  const auto forms = forms_of({&plan.graph(), step.work->nodes}, plan.assumptions(), constant);
  const auto form = std::find_if(forms.begin(), forms.end(), [&](const auto& one) {
    return is_for(*one, {ports, {}}, outputs, place.sizes);
  });
  if (form == forms.end()) return std::nullopt;
  place.entry = (*form)->entry;
  place.reason = (*form)->reason;
  return place;
}

KernelLibrary::Place KernelLibrary::place_for(const ir::Inference& symbolic, const ir::Inference& concrete,
                                              const Plan& plan, const Step& step, Role role) {
  if (std::optional<Place> known = known_place(plan, step)) return *std::move(known);
  Place place;
  const std::vector<ir::Shape> shapes = input_shapes(plan, step), wanted = output_shapes(plan, step);
  const GroupKey key(&plan.graph(), step.work->nodes);
  bool fixed_room = false, open_room = false;
  {
    const std::lock_guard lock(mutex_);
    fixed_room = has_fixed_room(key);
    open_room = plan.form() != nullptr && has_open_room(key, plan.assumptions());
  }
  // An expression for open sizes must be one of this very step: sizes that suit its inputs, and its outputs.
  std::optional<StepExpression> expression;
  std::optional<SizeValues> sizes;
  const auto take = [&](std::optional<StepExpression> open) {
    sizes = open ? sizes_for(*open, shapes, wanted) : std::nullopt;
    if (sizes) expression = std::move(open);
  };
  std::string assumptions;
  std::vector<std::pair<ir::ValueId, ir::Tensor>> contents;
  if (fixed_room) take(express(symbolic, step, place.reason));
  if (!sizes && open_room) {
    take(express(*plan.form(), step, place.reason));
    if (sizes) {
      assumptions = plan.assumptions();
    } else {
      auto none = std::make_shared<Form>();
      none->assumptions = plan.assumptions();
      add_form(key, std::move(none));
    }
  }
  if (!sizes && !fixed_room) {
    place.reason = "it has met too many shapes";
    return place;
  }
  if (!sizes) {
    contents = contents_of(plan, step);
    expression = express(concrete, step, place.reason);
    sizes = expression ? sizes_for(*expression, shapes, wanted) : std::nullopt;
  }
  if (!sizes) {
    auto closed = std::make_shared<Form>();
    closed->shapes = shapes;
    closed->contents = std::move(contents);
    closed->reason = place.reason;
    add_form(key, std::move(closed));
    return place;
  }
  auto form = std::make_shared<Form>();
  form->expression = std::make_shared<const StepExpression>(std::move(*expression));
  form->contents = std::move(contents);
  form->assumptions = std::move(assumptions);
  place.sizes = *sizes;
  const search::Sizes ranges = ranges_around(*form->expression, *sizes);
  std::string entry_key = form->expression->text;
  for (const bool constant : form->expression->constant) entry_key += constant ? 'c' : '-';
  entry_key += text_of(ranges);

  Change change(*this);
  std::shared_ptr<Entry>& entry = entries_[entry_key];
  if (!entry) {
    entry = std::make_shared<Entry>();
    entry->key = entry_key;
    entry->shared_expression = form->expression;
    entry->ranges = ranges;
    entry->record.ops = step.work->ops;
    entry->record.sizes = text_of(ranges);
    entry->role = role;
    order_.push_back(entry);
  }
  form->entry = entry;
  place.entry = entry;
  Group& group = groups_[key];
  group.forms.push_back(std::move(form));
  change.of(group);
  return place;
}

std::shared_ptr<const Kernel> KernelLibrary::kernel_for(const Entry& entry, const SizeValues& sizes,
                                                        const Plan& plan, const Step& step, int threads,
                                                        const GeneratedCode* instead) {
  if (instead == nullptr && !entry.generated) return nullptr;
  const GeneratedCode& generated = instead != nullptr ? *instead : *entry.generated;
  // Whoever asks, and whatever was measured: no code runs where it was not tested.
  if (!generated.tested.cover(sizes)) return nullptr;
  Constants constants;
  for (const int input : generated.inputs) {
    const auto at = static_cast<size_t>(input);
    if (!entry.shared_expression->constant[at]) {
      constants.push_back(nullptr);
      continue;
    }
    const ir::Tensor& constant = plan.fact(step.work->inputs[at]).constant;
    if (!constant.defined()) return nullptr;
    constants.push_back(constant.data());
  }
  std::vector<int> positions;
  for (size_t k = 0; k < step.work->outputs.size(); ++k) {
    if (step.work->outputs[k] != ir::absent) positions.push_back(static_cast<int>(k));
  }
  if (output_shapes(*entry.shared_expression, sizes) != output_shapes(plan, step)) return nullptr;
  return std::make_shared<JitKernel>(
      parts_of(entry, generated, are_known(constants), positions, *step.work->node, threads),
      bind(generated, sizes, constants), in_order(*entry.shared_expression, sizes));
}

}  // namespace axrun::runtime
