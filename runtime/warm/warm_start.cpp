#include "runtime/warm/warm_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "ir/error.h"
#include "runtime/cache/location.h"
#include "runtime/optimizer/plan_tree.h"
#include "runtime/warm/algebra_image.h"
#include "runtime/warm/graph_image.h"
#include "runtime/warm/kept_rules.h"
#include "runtime/warm/kept_schedules.h"
#include "runtime/warm/layout_image.h"
#include "runtime/warm/nested_image.h"
#include "runtime/warm/origin.h"
#include "runtime/warm/shapes_image.h"
#include "runtime/warm/warm_keys.h"

namespace axrun::runtime {
namespace {

constexpr uint32_t form = form_of_entries;

void add_bodies(const std::shared_ptr<const ir::Graph>& graph, LibraryImage::Graphs& list) {
  list.push_back(graph);
  for (const ir::Node& node : graph->nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (attribute.graph) add_bodies(attribute.graph, list);
      for (const auto& body : attribute.graphs) add_bodies(body, list);
    }
  }
}

/// Shapes come that no session has met yet.
bool has_open_sizes(const ir::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](ir::ValueId id) {
    const std::optional<ir::Dims>& dims = graph.value(id).dims;
    return !dims || !ir::constant_dims(*dims);
  });
}

}  // namespace

std::string not_stored(const CacheUse& use) {
  std::string text;
  for (const auto& [reason, count] : use.not_stored) {
    // Others who write at the same time, and what is too large, are nothing that can be mended here.
    if (reason == cache::name_of(cache::Stored::busy) || reason == cache::name_of(cache::Stored::too_large))
      continue;
    text += fmt::format("{}{} times {}", text.empty() ? "" : ", ", count, reason);
  }
  return text;
}

std::shared_ptr<cache::Store> open_store(const std::string& folder, std::string& why) {
  cache::Settings settings = cache::settings_of_environment(folder);
  if (settings.directory.empty() && settings.layers.empty()) {
    why = settings.why_none;
    return nullptr;
  }
  settings.generator = generator_text();
  settings.machine = machine_text();
  std::shared_ptr<cache::Store> store = cache::Store::open(std::move(settings));
  if (store->readable() || store->writable()) return store;
  why = fmt::format("{}", fmt::join(store->troubles(), "; "));
  return nullptr;
}

WarmStart::WarmStart(std::shared_ptr<cache::Store> store, std::shared_ptr<const ir::Graph> graph,
                     std::string settings, ThreadPool& pool, bool packs_anew)
    : store_(std::move(store)),
      graph_(std::move(graph)),
      pool_(pool),
      packs_anew_(packs_anew),
      threads_(pool.threads()),
      settings_(std::move(settings)),
      structure_hash_(structure_of(*graph_)),
      structure_(fmt::format("models like {}, {}", cache::to_text(structure_hash_), settings_)) {
  add_bodies(graph_, graphs_);
  // Where there is nothing for any model of this structure, nobody waits for its constants to be read, and no
  // database is opened.
  if (store_->has_file(structure_)) {
    key(pool);
    fetch(pool);
  } else if (store_->is_marked(structure_)) {
    store_->get(cache::Part::code, structure_);  // counts why it is of no use here
  }
}

const std::string& WarmStart::key(ThreadPool& pool) {
  if (key_.empty()) {
    contents_->meet(*graph_, pool);
    identity_ = cache::to_text(identity_of(*graph_, structure_hash_, *contents_));
    key_ = fmt::format("{}{}, {}", prefix_of_plans, identity_, settings_);
  }
  return key_;
}

void WarmStart::fetch(ThreadPool& pool) {
  weights_ = std::make_shared<KeptWeights>(store_, [contents = contents_](const void* address, size_t bytes) {
    const std::optional<cache::Hash> known = contents->known(address, bytes);
    // What plans have made of the model's constants; whoever asks has it.
    return known ? *known : cache::hash_of_bytes(address, bytes);
  });
  weights_complete_ = !store_->writable();
  found_ = store_->get_file(key_);
  if (!found_) return;
  cache::Reader in(found_->text());
  PlansHead head = read_head(in);
  if (in.failed()) {
    store_->reject_file(key_);
    found_ = nullptr;
  } else if (head.weights && !packs_anew_) {
    const bool all = weights_->fetch(head.weights->names, pool);
    weights_complete_ = (all && head.weights->in_time) || weights_complete_;
    kept_weights_ = std::move(head.weights);
  }
}

std::vector<FoldedNode> WarmStart::load(KernelLibrary& library, ChosenLayouts& layouts, PackCache* packs,
                                        const MakeGraph& make) {
  if (key_.empty()) return {};
  if (!packs_anew_) library.prepared().start_from(weights_);
  if (packs != nullptr && !packs_anew_) packs->prepared().start_from(weights_);
  const std::shared_ptr<const cache::MappedFile> found = std::exchange(found_, nullptr);
  if (!found) return {};
  cache::Reader in(found->text());
  const PlansHead head = read_head(in);
  const bool settled = in.get<bool>();
  ShapesMet met = read_shapes(in);
  std::optional<std::vector<ChosenLayouts::Choice>> choices = read_layouts(in.text(longest_layouts), *graph_);
  const auto kept_graph = [&](const cache::Hash& name,
                              const ir::Graph& base) -> std::shared_ptr<const ir::Graph> {
    const std::string key = key_of_graph(name);
    const auto file = store_->get_file(key);
    if (!file) return nullptr;
    const std::shared_ptr<const ir::Graph> graph = read_graph(file->bytes(), file, base);
    if (!graph) store_->reject_file(key);
    return graph;
  };
  std::optional<ReadRewrites> rewrites =
      read_rewrites(in.text(longest_rewrites), *graph_, pool_, make, kept_graph);
  if (choices && rewrites)
    std::move(rewrites->choices.begin(), rewrites->choices.end(), std::back_inserter(*choices));
  LibraryImage::Graphs graphs = graphs_;
  std::shared_ptr<const ir::Graph> planned = graph_;
  for (size_t k = 0; choices && k < choices->size(); ++k) {
    const ChosenLayouts::Choice& choice = (*choices)[k];
    graphs.push_back(choice.graph);
    if (choice.shapes == met.shapes) planned = choice.graph;
  }
  std::optional<std::vector<NestedForm>> nested = read_nested(in.text(longest_nested), *planned);
  if (!choices || !rewrites || !nested ||
      !LibraryImage::read(in, found, library, graphs, !settled || !weights_complete_) || !in.finished()) {
    store_->reject_file(key_);
    return {};
  }
  for (const ChosenLayouts::Choice& choice : *choices) layouts.choose(choice);
  shapes_ = std::move(met.shapes);
  shapes_vary_ = met.vary;
  nested_ = std::move(*nested);
  const std::lock_guard lock(mutex_);
  stored_ = head.plans;
  use_.found = true;
  use_.settled = settled;
  return std::move(rewrites->folded);
}

/// Once they vary they do: a process that happens to meet one of them changes nothing.
void WarmStart::meet(const std::vector<std::vector<ir::Shape>>& shapes) {
  for (const std::vector<ir::Shape>& one : shapes) {
    if (!shapes_vary_ && shapes_.empty()) shapes_ = one;
    shapes_vary_ = shapes_vary_ || shapes_ != one;
  }
  if (shapes_vary_) shapes_.clear();
}

void WarmStart::save(const KernelLibrary& library, const ChosenLayouts& layouts, PlanTable& plans,
                     bool settled) {
  if (!store_->writable()) return;
  try {
    std::set<const jit::KernelCode*> in_force;
    for (const std::shared_ptr<const Plan>& plan : plans.all()) {
      for_new_kernels(*plan, nullptr, [&](const Plan&, const Step& step) { in_force.insert(code_of(step)); });
    }
    cache::Writer out;
    const auto choices = layouts.kept();
    std::vector<std::shared_ptr<const ChosenLayouts::Choice>> laid_out, rewritten;
    for (const auto& choice : choices) (choice->algebra ? rewritten : laid_out).push_back(choice);
    meet(plans.shapes());
    out.put(settled);
    write_shapes(out, {shapes_, shapes_vary_});
    out.put(write_layouts(laid_out)).put(write_rewrites(rewritten));
    const std::shared_ptr<const ir::Graph> planned = layouts.graph_for(shapes_);
    if (const auto plan = plans.current(shapes_); plan && !plan->graph().limits)
      nested_ = nested_forms(*plan);
    if (shapes_vary_) nested_.clear();
    out.put(write_nested(nested_, planned ? *planned : *graph_));
    LibraryImage::Graphs graphs = graphs_;
    for (const auto* list : {&laid_out, &rewritten})
      for (const auto& choice : *list) graphs.push_back(choice->graph);
    // The kernels that served before serve shapes for which nothing was chosen.
    const bool all = !choices.empty() && has_open_sizes(*graph_);
    LibraryImage::write(out, library, graphs, in_force, all);
    keep_kernels(library);
    keep_experience(library);
    const cache::Hash hash = cache::hash_of_bytes(out.text().data(), out.text().size());
    if (hash == stored_) return;                                  // only this thread changes it from now on
    const std::unique_ptr<ThreadPool> own = ThreadPool::make(1);  // of this thread alone
    key(*own);
    if (!put_plans({kept_weights_, hash}, out.text())) return;
    stored_ = hash;
    if (store_->has_file(structure_)) return;
    store_->put(cache::Part::code, structure_, "");
    store_->put_file(structure_, 0, [](auto) {});
    store_->mark(structure_);
  } catch (const std::exception&) {
    // The next session starts from what is there.
  }
}

void WarmStart::rest() {
  try {
    store_->release();
  } catch (const std::exception&) {
    // The next process does more.
  }
}

std::string WarmStart::key_of_graph(const cache::Hash& name) const {
  return fmt::format("graph {} of {}", cache::to_text(name), identity_);
}

void WarmStart::keep_graphs(const ChosenLayouts& layouts) {
  const int64_t most = store_->settings().limit_bytes / 2;
  for (const auto& choice : layouts.kept()) {
    if (!choice->algebra) continue;
    const std::string key = key_of_graph(name_of_rewrite(*choice->algebra, structure_of(*choice->graph)));
    if (store_->has_file(key)) continue;
    const auto image = image_of(*choice->graph, choice->base ? *choice->base->graph : *graph_);
    if (!image || static_cast<int64_t>(image->bytes()) > most) continue;
    store_->put_file(key, image->bytes(), [&](std::span<std::byte> file) { image->write(file); });
  }
}

KeptWeights::HashOf WarmStart::hashes_with(const std::vector<std::shared_ptr<const Plan>>& plans) const {
  const std::unique_ptr<ThreadPool> own = ThreadPool::make(1);  // of this thread alone
  std::vector<ir::Tensor> made;
  for (const auto& plan : plans) {
    for (size_t id = 0; id < plan->graph().values.size(); ++id) {
      const ir::Tensor& constant = plan->fact(static_cast<ir::ValueId>(id)).constant;
      if (constant.defined() && !contents_->known(constant.data(), constant.bytes()))
        made.push_back(constant);
    }
  }
  const auto of_plans = std::make_shared<Contents>();
  of_plans->meet(made, *own);
  return [contents = contents_, of_plans](const void* address, size_t bytes) {
    const std::optional<cache::Hash> known = contents->known(address, bytes);
    return known ? known : of_plans->known(address, bytes);
  };
}

PackedComparison WarmStart::compare_weights(const KernelLibrary& library, PackCache* packs,
                                            PlanTable& plans) {
  const std::vector<std::shared_ptr<const Plan>> held = plans.all();
  const std::unique_ptr<ThreadPool> own = ThreadPool::make(1);  // of this thread alone
  key(*own);
  const KeptWeights weights(store_, hashes_with(held));
  const jit::PreparedStore& generated = library.prepared();
  return packs != nullptr ? weights.compare({&generated, &packs->prepared()}) : weights.compare({&generated});
}

void WarmStart::keep_weights(const KernelLibrary& library, PackCache* packs, const ChosenLayouts& layouts,
                             PlanTable& plans, std::chrono::milliseconds longest) {
  const bool done = kept_weights_ && kept_weights_->in_time && kept_for_ == stored_;
  if (done || !store_->writable() || stored_ == cache::Hash{}) return;
  try {
    keep_graphs(layouts);
    const std::vector<std::shared_ptr<const Plan>> held = plans.all();
    KeptWeights weights(store_, hashes_with(held));
    const jit::PreparedStore& generated = library.prepared();
    KeptWeights::Kept kept = packs != nullptr ? weights.keep({&generated, &packs->prepared()}, longest)
                                              : weights.keep({&generated}, longest);
    kept_for_ = stored_;
    if (kept == kept_weights_) return;
    const std::shared_ptr<const cache::MappedFile> plans = store_->get_file(key_);
    if (!plans) return;
    cache::Reader in(plans->text());
    const PlansHead head = read_head(in);
    // Another process may have others meanwhile, and sees to theirs.
    if (in.failed() || head.plans != stored_) return;
    const std::string_view rest = plans->text().substr(plans->text().size() - in.left());
    if (put_plans({kept, stored_}, rest)) kept_weights_ = std::move(kept);
  } catch (const std::exception&) {
    // Whoever comes next packs.
  }
}

bool WarmStart::put_plans(const PlansHead& head, std::string_view plans) {
  const std::string first = write_head(head);
  return store_->put_file(key_, first.size() + plans.size(), [&](std::span<std::byte> file) {
    std::memcpy(file.data(), first.data(), first.size());
    std::memcpy(file.data() + first.size(), plans.data(), plans.size());
  }) != nullptr;
}

void WarmStart::keep_kernels(const KernelLibrary& library) {
  for (const LibraryImage::Kernel& one : LibraryImage::kernels_of(library)) {
    const std::string key = key_of_kernel(threads_, one.key);
    if (one.record.from_cache || !one.code.code->has_image()) continue;
    if (!stored_kernels_.insert({key, one.code.tested.sizes()}).second) continue;
    cache::Writer out;
    out.put(form);
    LibraryImage::write(out, one);
    store_->put(cache::Part::code, key, out.text());
  }
}

const Experience& WarmStart::experience() {
  const Experience& known = known_experience();
  const std::lock_guard lock(mutex_);
  use_.experience = known.processor;
  return known;
}

const Experience& WarmStart::known_experience() {
  if (experience_) return *experience_;
  experience_.emplace();
  // Whatever processors and threads there are.
  experience_key_ = fmt::format("experience of models like {}", cache::to_text(structure_hash_));
  const std::optional<std::string> found = store_->get(cache::Part::plans, experience_key_);
  if (!found) return *experience_;
  cache::Reader in(*found);
  Experience known;
  if (in.get<uint32_t>() != form || !read(in, *graph_, known) || !in.finished()) {
    store_->reject(cache::Part::plans, experience_key_);
    return *experience_;
  }
  stored_experience_ = cache::hash_of_bytes(found->data(), found->size());
  experience_ = std::move(known);
  return *experience_;
}

void WarmStart::keep_experience(const KernelLibrary& library) {
  Experience known = known_experience();
  LibraryImage::learn(library, *graph_, known);
  if (layouts_ != Experience::Layouts::unknown) known.layouts = layouts_;
  if (known.empty()) return;
  known.processor = processor_text();
  cache::Writer out;
  out.put(form);
  write(out, known);
  const cache::Hash hash = cache::hash_of_bytes(out.text().data(), out.text().size());
  if (hash == stored_experience_) return;
  if (store_->put(cache::Part::plans, experience_key_, out.text()) == cache::Stored::stored)
    stored_experience_ = hash;
}

std::unique_ptr<search::algebra::RuleStore> WarmStart::rules() { return rules_in(store_); }

std::shared_ptr<search::ScheduleStore> WarmStart::schedules() { return schedules_in(store_); }

bool WarmStart::is_examined() {
  return examined_ || store_->get(cache::Part::certificates, key_of_examined(*graph_)).has_value();
}

void WarmStart::note_examined() {
  examined_ = true;
  store_->put(cache::Part::certificates, key_of_examined(*graph_), "");
}

std::optional<WarmStart::KnownKernel> WarmStart::kernel(const std::string& entry) {
  const std::string key = key_of_kernel(threads_, entry);
  std::optional<std::string> found = store_->get(cache::Part::code, key);
  if (!found) return std::nullopt;
  const auto owner = std::make_shared<const std::string>(std::move(*found));
  cache::Reader in(*owner);
  LibraryImage::Kernel known;
  const bool right = in.get<uint32_t>() == form;
  if (right && LibraryImage::read(in, known, owner) && in.finished()) {
    known.record.from_cache = true;
    return KnownKernel{std::move(known.code), std::move(known.record)};
  }
  store_->reject(cache::Part::code, key);
  return std::nullopt;
}

void WarmStart::forget_kernel(const std::string& entry) {
  const std::string key = key_of_kernel(threads_, entry);
  if (store_->writable() && store_->get(cache::Part::code, key)) store_->reject(cache::Part::code, key);
}

CacheUse WarmStart::use() const {
  CacheUse use;
  {
    const std::lock_guard lock(mutex_);
    use = use_;
  }
  const cache::Counters counters = store_->counters();
  use.folder = store_->settings().directory.string();
  use.writable = store_->writable();
  use.hits = counters.hits;
  use.misses = counters.misses;
  use.bytes_read = counters.bytes_read;
  use.bytes_written = counters.bytes_written;
  for (size_t k = 0; k < cache::refusal_count; ++k) {
    if (counters.refused[k] > 0)
      use.refused.emplace_back(cache::name_of(static_cast<cache::Refusal>(k)), counters.refused[k]);
  }
  for (size_t k = 1; k < cache::stored_count; ++k) {
    if (counters.stored[k] > 0)
      use.not_stored.emplace_back(cache::name_of(static_cast<cache::Stored>(k)), counters.stored[k]);
  }
  return use;
}

}  // namespace axrun::runtime
