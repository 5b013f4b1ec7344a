#include "runtime/warm/nested_image.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/plan/signature.h"
#include "runtime/warm/lists.h"

namespace axrun::runtime {
namespace {

using cache::Reader;
using cache::Writer;

/// Plans of one model, made while it is loaded.
constexpr size_t most_forms = 64;
constexpr size_t longest_key = size_t{64} << 10;
/// In place of a node: the continuation.
constexpr uint32_t no_node = ~uint32_t{0};
/// How many of the runs needed it is kept as a share: of so many, as if these had been.
constexpr uint64_t shares = 8;

uint64_t share_of(const Uses& uses) {
  if (uses.of == 0) return shares;  // nobody has counted
  return std::min(shares, uses.runs * shares / uses.of);
}

/// Where a nested plan hangs.
struct Place {
  uint32_t node = no_node;
  const ir::Graph* within = nullptr;  ///< what it is a plan of; null: there is no such place
  std::vector<ir::ValueId> live_in;
};

/// body: as BodyPlans counts them.
Place place_at(const ir::Graph& graph, uint32_t node, size_t body) {
  Place place{node, nullptr, {}};
  if (node >= graph.nodes.size()) return place;
  std::vector<const ir::Graph*> bodies;
  for (const auto& [name, attribute] : graph.nodes[node].attributes) {
    for (const auto& one : attribute.graphs) bodies.push_back(one.get());
    if (attribute.graph) bodies.push_back(attribute.graph.get());
  }
  if (body >= bodies.size()) return place;
  place.within = bodies[body];
  place.live_in = place.within->inputs;
  for (const auto& capture : place.within->captures) place.live_in.push_back(capture.second);
  return place;
}

Place place_of(const NestedForm& form, const ir::Graph& graph) {
  if (form.node.empty()) return {no_node, &graph, form.live_in};
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].name != form.node) continue;
    Place place = place_at(graph, static_cast<uint32_t>(n), form.body);
    if (place.within != nullptr) return place;
  }
  return {};
}

/// A plan can be made for such a value, as far as the graph says what it is.
bool fits(const Signature& signature, const ir::Value& value) {
  if (signature.kind != value.kind) return false;
  const ir::ValueFact& fact = signature.fact;
  if (fact.type == ir::ElementType::undefined) return true;
  if (value.type != ir::ElementType::undefined && value.type != fact.type) return false;
  return !value.dims || std::equal(value.dims->begin(), value.dims->end(), fact.dims->begin(),
                                   fact.dims->end(), [](const ir::Dim& declared, const ir::Dim& met) {
                                     return !declared.is_constant() || declared == met;
                                   });
}

bool fits(const std::string& key, const Place& place) {
  const auto signatures = signatures_in(key);
  return signatures && std::equal(signatures->begin(), signatures->end(), place.live_in.begin(),
                                  place.live_in.end(), [&](const Signature& signature, ir::ValueId id) {
                                    return id >= 0 && static_cast<size_t>(id) < place.within->values.size() &&
                                           fits(signature, place.within->value(id));
                                  });
}

class Writing {
 public:
  void add(const std::vector<NestedForm>& forms, const ir::Graph& graph) {
    std::vector<std::pair<const NestedForm*, Place>> kept;
    for (const NestedForm& form : forms) {
      const bool often = 2 * share_of(form.uses) >= shares;
      if (!often || form.key.size() > longest_key || left_ == 0) continue;
      Place place = place_of(form, graph);
      if (place.within == nullptr || !fits(form.key, place)) continue;
      --left_;
      kept.emplace_back(&form, std::move(place));
    }
    put_count(out_, kept.size());
    for (const auto& [form, place] : kept) {
      out_.put(place.node).put(static_cast<uint32_t>(form->body));
      put_all(out_, form->live_in);
      out_.put(form->key).put(static_cast<uint8_t>(share_of(form->uses)));
      add(form->inside, *place.within);
    }
  }
  std::string text() && { return std::move(out_).text(); }

 private:
  Writer out_;
  size_t left_ = most_forms;
};

std::vector<NestedForm> read(Reader& in, const ir::Graph& graph, size_t& left) {
  std::vector<NestedForm> forms(in.count(21));
  if (forms.size() > left) in.fail();
  for (NestedForm& form : forms) {
    if (in.failed()) return {};
    --left;
    const auto node = in.get<uint32_t>();
    form.body = in.get<uint32_t>();
    form.live_in = get_all<ir::ValueId>(in);
    form.key = in.text(longest_key);
    form.uses = {in.get<uint8_t>(), shares};
    const Place place = node == no_node ? place_of(form, graph) : place_at(graph, node, form.body);
    const bool often = form.uses.runs <= shares && 2 * form.uses.runs >= shares;
    if (!often || place.within == nullptr || !fits(form.key, place)) in.fail();
    if (in.failed()) return {};
    if (node != no_node) form.node = graph.nodes[node].name;
    form.inside = read(in, *place.within, left);
  }
  return forms;
}

}  // namespace

std::string write_nested(const std::vector<NestedForm>& forms, const ir::Graph& graph) {
  Writing written;
  written.add(forms, graph);
  return std::move(written).text();
}

std::optional<std::vector<NestedForm>> read_nested(std::string_view bytes, const ir::Graph& graph) {
  Reader in(bytes);
  size_t left = most_forms;
  std::vector<NestedForm> forms = read(in, graph, left);
  if (!in.finished()) return std::nullopt;
  return forms;
}

}  // namespace axrun::runtime
