#include "runtime/warm/library_image.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ir/error.h"
#include "ir/text.h"
#include "runtime/knobs.h"
#include "runtime/optimizer/kernel_entry.h"
#include "runtime/warm/expression_image.h"
#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;

/// What a step takes for granted is small: shapes, and values that told one.
constexpr size_t most_content = size_t{64} << 10;
constexpr uint32_t nobody = ~uint32_t{0};

void put(Writer& out, const SizeValues& sizes) {
  put_count(out, sizes.size());
  for (const auto& [name, value] : sizes) out.put(name).put(value);
}
SizeValues get_sizes(Reader& in) {
  SizeValues sizes;
  const size_t count = in.count(12);
  for (size_t k = 0; k < count; ++k) {
    const std::string name(in.text(longest_name));
    sizes[name] = in.get<int64_t>();
  }
  return sizes;
}

void put(Writer& out, const ir::Tensor& tensor) {
  out.put(tensor.type());
  put_all(out, tensor.shape());
  out.put(std::string_view(tensor.as<char>(), tensor.bytes()));
}
ir::Tensor get_tensor(Reader& in) {
  const auto type = in.get<ir::ElementType>();
  const ir::Shape shape = get_all<int64_t>(in);
  const std::string_view bytes = in.text(most_content);
  if (in.failed() || type == ir::ElementType::undefined || type == ir::ElementType::string) {
    in.fail();
    return {};
  }
  try {
    ir::Tensor tensor = ir::Tensor::allocate(type, shape);
    if (tensor.bytes() == bytes.size()) {
      std::copy(bytes.begin(), bytes.end(), tensor.as<char>());
      return tensor;
    }
  } catch (const Error&) {
  }
  in.fail();
  return {};
}
/// Kernels' programs are read when somebody asks for them, unless everything is to be looked at.
bool validates() {
  const char* knob = knob_value(KnobName::validate);
  return knob != nullptr && std::string_view(knob) == "on";
}
/// Whether it serves nowhere for a reason that says nothing of it: it is tried again where there is a next
/// time.
bool is_undecided(const OptimizedKernel& record) {
  return record.state == OptimizedKernel::State::refused && !record.trials.empty() &&
         record.trials.front().end == TriedKernel::End::not_tried && record.trials.front().gate.empty();
}
bool is_small(const ir::Tensor& tensor) {
  return tensor.defined() && tensor.type() != ir::ElementType::string && tensor.bytes() <= most_content;
}

}  // namespace

void LibraryImage::write(Writer& out, const GeneratedCode& code) {
  const jit::CodeImage image = code.code->image();
  out.put(image.program).put(image.signature).put(image.bytes);
  put_all(out, image.entries);
  put_all(out, code.inputs);
  out.put(code.kind).put(static_cast<uint32_t>(code.rank));
  put_count(out, code.tested.sizes().size());
  for (const SizeValues& sizes : code.tested.sizes()) put(out, sizes);
}

bool LibraryImage::read(Reader& in, GeneratedCode& code, std::shared_ptr<const void> owner) {
  jit::CodeView image;
  image.owner = std::move(owner);
  image.program = in.text(longest_text);
  image.signature = in.text(longest_text);
  image.bytes = in.text(longest_text);
  image.entries = get_all<uint32_t>(in);
  code.inputs = get_all<int>(in);
  code.kind = in.text(longest_name);
  code.rank = in.get<uint32_t>();
  const size_t tested = in.count(4);
  for (size_t k = 0; k < tested && !in.failed(); ++k) code.tested.add(get_sizes(in));
  code.from_cache = true;
  if (in.failed()) return false;
  try {
    code.code = jit::KernelCode::load(std::move(image));
    if (code.inputs.size() != code.code->inputs()) in.fail();
    if (validates()) code.code->program();
  } catch (const Error&) {
    in.fail();
  }
  return !in.failed();
}

void LibraryImage::write(Writer& out, const OptimizedKernel& record) {
  out.put(record.ops)
      .put(record.kind)
      .put(record.state)
      .put(record.reason)
      .put(record.steps)
      .put(record.share);
  out.put(record.sizes).put(record.proof).put(record.gate).put(record.speedup).put(record.code_bytes);
  out.put(record.alternatives)
      .put(record.alternatives_tried)
      .put(record.rank)
      .put(record.alternative_speedup);
  put_count(out, record.nodes.size());
  for (const std::string& node : record.nodes) out.put(node);
  put_count(out, record.trials.size());
  for (const TriedKernel& one : record.trials) {
    out.put(one.rank).put(one.kind).put(one.schedule).put(one.end).put(one.reason).put(one.expected_us);
    out.put(one.own_us).put(one.present_us).put(one.speedup).put(one.rounds).put(one.proof).put(one.gate);
  }
}

void LibraryImage::read(Reader& in, OptimizedKernel& record) {
  const auto text = [&] { return std::string(in.text(longest_text)); };
  record.ops = text();
  record.kind = text();
  record.state = in.get<OptimizedKernel::State>();
  record.reason = text();
  record.steps = in.get<int>();
  record.share = in.get<double>();
  record.sizes = text();
  record.proof = text();
  record.gate = text();
  record.speedup = in.get<double>();
  record.code_bytes = in.get<int64_t>();
  record.alternatives = in.get<int>();
  record.alternatives_tried = in.get<int>();
  record.rank = in.get<int>();
  record.alternative_speedup = in.get<double>();
  record.nodes.resize(in.count(4));
  for (std::string& node : record.nodes) node = text();
  record.trials.resize(in.count(60));
  for (TriedKernel& one : record.trials) {
    one.rank = in.get<int>();
    one.kind = text();
    one.schedule = text();
    one.end = in.get<TriedKernel::End>();
    one.reason = text();
    one.expected_us = in.get<double>();
    one.own_us = in.get<double>();
    one.present_us = in.get<double>();
    one.speedup = in.get<double>();
    one.rounds = in.get<int>();
    one.proof = text();
    one.gate = text();
    const auto end = static_cast<int>(one.end);
    if (end < 0 || end > static_cast<int>(TriedKernel::End::not_tried)) in.fail();
  }
  const auto state = static_cast<int>(record.state);
  if (state < 0 || state > static_cast<int>(OptimizedKernel::State::accepted)) in.fail();
  if (record.alternatives < 0 || record.alternatives_tried < 0 || record.steps < 0) in.fail();
}

std::vector<LibraryImage::Kernel> LibraryImage::kernels_of(const KernelLibrary& library) {
  std::vector<Kernel> kernels;
  const std::lock_guard lock(library.mutex_);
  for (const auto& entry : library.order_) {
    if (entry->generated && entry->generated->rank == 0)
      kernels.push_back(
          {entry->key, *entry->shared_expression, entry->ranges, entry->record, *entry->generated});
  }
  return kernels;
}

void LibraryImage::write(Writer& out, const Kernel& kernel) {
  runtime::write(out, kernel.expression);
  runtime::write(out, kernel.ranges);
  write(out, kernel.record);
  write(out, kernel.code);
}

bool LibraryImage::read(Reader& in, Kernel& kernel, std::shared_ptr<const void> owner) {
  kernel.expression = read_expression(in);
  kernel.ranges = read_ranges(in);
  read(in, kernel.record);
  return read(in, kernel.code, std::move(owner));
}

void LibraryImage::learn(const KernelLibrary& library, const ir::Graph& graph, Experience& experience) {
  const std::lock_guard lock(library.mutex_);
  for (const auto& entry : library.order_) {
    const OptimizedKernel& record = entry->record;
    if (record.state == OptimizedKernel::State::waiting || is_undecided(record)) continue;
    Experience::Trial& trial = experience.trials[cache::hash_of({entry->key})];
    trial.state = record.state;
    trial.end = record.trials.empty() ? TriedKernel::End::not_tried : record.trials.front().end;
    trial.speedup = std::isfinite(record.speedup) ? std::max(0.0, record.speedup) : 0;
    trial.rank = record.rank;
    const double seconds = record.proof_seconds + record.gate_seconds;
    if (std::isfinite(seconds) && seconds > 0) trial.seconds = seconds;
    // What was not tried this time says nothing of what was found before.
    if (record.alternatives_tried > 0) {
      trial.alternatives_tried = record.alternatives_tried;
      trial.alternative_speedup =
          std::isfinite(record.alternative_speedup) ? std::max(0.0, record.alternative_speedup) : 0;
    }
    trial.kind = record.kind;
    trial.reason = record.reason;
  }
  const auto joined = library.joined_.find(&graph);
  if (joined == library.joined_.end()) return;
  for (const std::vector<int>& nodes : joined->second) {
    const auto group = library.groups_.find({&graph, nodes});
    if (group == library.groups_.end()) continue;
    const auto& forms = group->second.forms;
    const bool serves = std::any_of(forms.begin(), forms.end(), [](const auto& form) {
      return form->entry && form->entry->record.state == OptimizedKernel::State::accepted;
    });
    auto& known = experience.joined;
    const auto found = std::find(known.begin(), known.end(), nodes);
    if (serves && found == known.end()) known.push_back(nodes);
    if (!serves && found != known.end()) known.erase(found);
  }
}

void LibraryImage::write(Writer& out, const KernelLibrary& library, const Graphs& graphs,
                         const std::set<const jit::KernelCode*>& in_force, bool all) {
  using Entry = KernelLibrary::Entry;
  std::map<const ir::Graph*, uint32_t> numbers;
  for (size_t k = 0; k < graphs.size(); ++k) numbers.emplace(graphs[k].get(), static_cast<uint32_t>(k));
  const std::lock_guard lock(library.mutex_);
  const auto joined = [&](const KernelLibrary::GroupKey& key) {
    const auto found = library.joined_.find(key.first);
    return found != library.joined_.end() &&
           std::find(found->second.begin(), found->second.end(), key.second) != found->second.end();
  };
  // Forms that a plan may ask for, and what they lead to.
  std::vector<const Entry*> entries;
  std::map<const Entry*, uint32_t> places;
  struct Kept {
    const KernelLibrary::GroupKey* key;
    const KernelLibrary::Form* form;
  };
  std::vector<Kept> forms;
  for (const auto& [key, group] : library.groups_) {
    if (numbers.count(key.first) == 0) continue;
    for (const auto& form : group.forms) {
      const Entry* entry = form->entry.get();
      // A joint that was tried in vain is not tried again; one that nobody has judged, or that may yet be
      // joined, is.
      const bool lost = entry != nullptr && !is_undecided(entry->record) &&
                        (entry->record.state == OptimizedKernel::State::refused ||
                         entry->record.state == OptimizedKernel::State::slower);
      if (entry != nullptr && entry->role == KernelLibrary::Role::joint && !lost && !joined(key)) continue;
      const bool small = std::all_of(form->contents.begin(), form->contents.end(),
                                     [](const auto& content) { return is_small(content.second); });
      if (!small) continue;
      forms.push_back({&key, form.get()});
      if (entry == nullptr || !places.emplace(entry, static_cast<uint32_t>(entries.size())).second) continue;
      entries.push_back(entry);
    }
  }
  const size_t for_steps = entries.size();
  for (size_t k = 0; k < for_steps; ++k) {
    for (const auto& special : entries[k]->specialised) entries.push_back(special.get());
  }
  put_count(out, entries.size());
  for (const Entry* entry : entries) {
    out.put(entry->range == nullptr ? nobody : places.at(entry->range));
    out.put(entry->key).put(entry->role);
    if (entry->range == nullptr) runtime::write(out, *entry->shared_expression);
    runtime::write(out, entry->ranges);
    const bool serves = entry->generated && (all || in_force.count(entry->generated->code.get()) != 0) &&
                        entry->generated->code->has_image();
    OptimizedKernel record = entry->record;
    // A kernel that is about to be used is tried once more, in the model.
    const bool again = (record.state == OptimizedKernel::State::accepted && !serves) || is_undecided(record);
    if (again) record.state = OptimizedKernel::State::waiting;
    write(out, record);
    put_count(out, again ? 0 : entry->verdicts.size());
    if (!again) {
      for (const KernelVerdict& verdict : entry->verdicts) {
        put(out, verdict.sizes);
        out.put(verdict.use).put(verdict.speedup);
      }
    }
    out.put(serves);
    if (serves) write(out, *entry->generated);
  }
  put_count(out, forms.size());
  for (const Kept& one : forms) {
    out.put(numbers.at(one.key->first));
    put_all(out, one.key->second);
    const Entry* entry = one.form->entry.get();
    out.put(entry == nullptr ? nobody : places.at(entry));
    put_count(out, one.form->shapes.size());
    for (const ir::Shape& shape : one.form->shapes) put_all(out, shape);
    out.put(one.form->assumptions);
    put_count(out, one.form->contents.size());
    for (const auto& [id, tensor] : one.form->contents) {
      out.put(id);
      put(out, tensor);
    }
  }
  put_count(out, graphs.size());
  for (const auto& graph : graphs) {
    const auto found = library.joined_.find(graph.get());
    const bool any = found != library.joined_.end();
    put_count(out, any ? found->second.size() : 0);
    for (size_t k = 0; any && k < found->second.size(); ++k) put_all(out, found->second[k]);
  }
}

std::vector<std::shared_ptr<KernelLibrary::Entry>> LibraryImage::read_entries(
    Reader& in, const std::shared_ptr<const void>& owner) {
  using Entry = KernelLibrary::Entry;
  std::vector<std::shared_ptr<Entry>> entries(in.count(40));
  for (auto& entry : entries) {
    entry = std::make_shared<Entry>();
    const auto range = in.get<uint32_t>();
    entry->key = in.text(longest_text);
    entry->role = in.get<KernelLibrary::Role>();
    if (range == nobody) {
      entry->shared_expression = std::make_shared<const StepExpression>(read_expression(in));
    } else if (range < static_cast<size_t>(&entry - entries.data()) && entries[range]->range == nullptr) {
      entry->range = entries[range].get();
      entry->shared_expression = entry->range->shared_expression;
      entries[range]->specialised.push_back(entry);
    } else {
      in.fail();
    }
    entry->ranges = read_ranges(in);
    read(in, entry->record);
    entry->verdicts.resize(in.count(13));
    for (KernelVerdict& verdict : entry->verdicts) {
      verdict.sizes = get_sizes(in);
      verdict.use = in.get<bool>();
      verdict.speedup = in.get<double>();
    }
    if (in.get<bool>() && read(in, entry->generated.emplace(), owner)) {
      const auto operands = entry->shared_expression->program.operands.size();
      for (const int input : entry->generated->inputs) {
        if (input < 0 || static_cast<size_t>(input) >= operands) in.fail();
      }
      if (entry->generated->code->outputs() != entry->shared_expression->output_dims.size()) in.fail();
    }
    entry->record.from_cache = entry->generated.has_value();
    entry->record.code_bytes = entry->generated ? entry->record.code_bytes : 0;
    if (in.failed()) return {};
  }
  return entries;
}

std::optional<std::vector<LibraryImage::Kernel>> LibraryImage::kernels_in(
    Reader& in, const std::shared_ptr<const void>& owner) {
  std::vector<Kernel> kernels;
  for (const auto& entry : read_entries(in, owner)) {
    if (!entry->generated) continue;
    kernels.push_back(
        {entry->key, *entry->shared_expression, entry->ranges, entry->record, *entry->generated});
  }
  if (in.failed()) return std::nullopt;
  return kernels;
}

bool LibraryImage::read(Reader& in, const std::shared_ptr<const void>& owner, KernelLibrary& library,
                        const Graphs& graphs, bool resumes) {
  const std::vector<std::shared_ptr<KernelLibrary::Entry>> entries = read_entries(in, owner);
  if (in.failed()) return false;
  std::map<KernelLibrary::GroupKey, KernelLibrary::Group> forms;
  const size_t form_count = in.count(20);
  for (size_t k = 0; k < form_count; ++k) {
    const auto number = in.get<uint32_t>();
    std::vector<int> nodes = get_all<int>(in);
    if (number >= graphs.size()) in.fail();
    if (in.failed()) return false;
    const ir::Graph* graph = graphs[number].get();
    for (const int node : nodes) {
      if (node < 0 || static_cast<size_t>(node) >= graph->nodes.size()) in.fail();
    }
    auto form = std::make_shared<KernelLibrary::Form>();
    const auto place = in.get<uint32_t>();
    if (place != nobody && (place >= entries.size() || entries[place]->range != nullptr)) in.fail();
    if (in.failed()) return false;
    if (place != nobody) {
      form->entry = entries[place];
      form->expression = form->entry->shared_expression;
    }
    form->shapes.resize(in.count(4));
    for (ir::Shape& shape : form->shapes) shape = get_all<int64_t>(in);
    form->assumptions = in.text(longest_text);
    form->contents.resize(in.count(8));
    for (auto& [id, tensor] : form->contents) {
      id = in.get<ir::ValueId>();
      tensor = get_tensor(in);
    }
    forms[{graph, std::move(nodes)}].forms.push_back(std::move(form));
  }
  std::map<const ir::Graph*, std::vector<std::vector<int>>> joined;
  if (in.count(4) != graphs.size()) in.fail();
  for (const auto& graph : graphs) {
    std::vector<std::vector<int>>& groups = joined[graph.get()];
    groups.resize(in.count(4));
    for (std::vector<int>& nodes : groups) {
      nodes = get_all<int>(in);
      for (const int node : nodes) {
        if (node < 0 || static_cast<size_t>(node) >= graph->nodes.size()) in.fail();
      }
    }
  }
  if (in.failed()) return false;
  KernelLibrary::Change change(library);
  change.of_everything();
  change.of_joined();
  library.groups_.merge(forms);
  for (const auto& entry : entries) {
    if (entry->range == nullptr) library.entries_.emplace(entry->key, entry);
    library.order_.push_back(entry);
  }
  for (auto& [graph, groups] : joined) library.joined_[graph] = std::move(groups);
  library.resumes_ = resumes;
  return true;
}

}  // namespace axrun::runtime
