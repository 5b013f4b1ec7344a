// Reductions by parts, found in models: the few operators that are needed for one to read another along the
// same axis, the fold that follows from them, and the rules that it rests on.
#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/scanner.h"
#include "search/algebra/definition_steps.h"
#include "search/algebra/discovery.h"
#include "search/algebra/split_form.h"

namespace axrun::search::algebra {
namespace {

constexpr int most_layers = 7;
constexpr size_t most_operations = 14;

size_t reductions_of(const Terms& terms, TermId id) {
  const auto& stages = terms[id].program->stages;
  return static_cast<size_t>(std::count_if(stages.begin(), stages.end(), [](const ir::Stage& stage) {
    return stage.kind == ir::StageKind::reduce;
  }));
}

/// Operators that may stand between one reduction and another that reads it.
bool leads_on(Terms& scratch, const Terms& terms, TermId id) {
  const std::string& name = terms.name(id);
  if (name == "MatMul" || is_index_map(terms.operation(terms[id].operation))) return name == "Reshape";
  if (reductions_of(terms, id) == 0) return true;
  // Reductions that have steps: no convolutions and the like.
  const Site alone = site_of(terms, {id}, 1, true);
  const std::vector<TermId> root = alone.build(scratch);
  if (root.empty()) return false;
  const TermId steps = in_steps(scratch, root[0]);
  return steps != no_term && (steps != root[0] || scratch.name(steps).starts_with("Reduce"));
}

/// The term for people, with variables named in order of appearance.
std::string left_of(const Terms& terms, TermId id) {
  const std::string text = equation(canonical(terms, {id}, {id}));
  return text.substr(0, text.find(" = "));
}

/// What is left of it for the last one where a term is a leaf.
std::vector<TermId> without(const Terms& terms, const std::vector<TermId>& inner, TermId gone) {
  std::set<TermId> reached;
  const auto visit = [&](const auto& self, TermId id) -> void {
    if (id == gone || std::find(inner.begin(), inner.end(), id) == inner.end() || !reached.insert(id).second)
      return;
    for (const TermId child : terms[id].children) self(self, child);
  };
  visit(visit, inner.back());
  return {reached.begin(), reached.end()};
}

/// How many elements are combined, as text; empty for what is no reduction.
std::string extent_of(const Terms& terms, TermId id) {
  const std::string& name = terms.name(id);
  if (name == "MatMul") return terms[terms[id].children[0]].facts.dims.back().to_string();
  if (!name.starts_with("Reduce")) return "";
  const auto axes = terms.operation(terms[id].operation).attributes.find("axes");
  if (axes == terms.operation(terms[id].operation).attributes.end() || axes->second.integers.size() != 1)
    return "";
  const ir::Dims& dims = terms[terms[id].children[0]].facts.dims;
  const int64_t axis = axes->second.integers[0];
  return axis < 0 || axis >= static_cast<int64_t>(dims.size()) ? ""
                                                               : dims[static_cast<size_t>(axis)].to_string();
}

/// Whether one reduction reads another of as many elements: cheap, and true of all that has a split.
bool may_split(const Terms& model, const std::vector<TermId>& inner) {
  size_t count = 0;
  for (const TermId id : inner) count += reductions_of(model, id);
  if (count < 2) return false;
  Terms terms;
  const std::vector<TermId> roots = site_of(model, inner, 1, true).build(terms);
  const TermId steps = roots.size() == 1 ? in_steps(terms, roots[0]) : no_term;
  if (steps == no_term) return false;
  for (const TermId id : reached_from(terms, {steps})) {
    const std::string extent = extent_of(terms, id);
    if (extent.empty()) continue;
    for (const TermId below : reached_from(terms, terms[id].children))
      if (extent_of(terms, below) == extent) return true;
  }
  return false;
}

bool has_split(const Terms& model, const std::vector<TermId>& inner) {
  Terms terms;
  const std::vector<TermId> roots = generalise(site_of(model, inner, 1, true)).build(terms);
  return roots.size() == 1 && !split_forms(terms, roots[0]).empty();
}

}  // namespace

std::string Discovery::keep_part(const Terms& terms, TermId left, TermId right, const Site& where,
                                 const std::string& origin, DiscoveryCounts& counts) {
  ++counts.proposals;
  ++counts.survived;
  try {
    // What cannot be read back would spoil the store.
    const std::string text = print(canonical(terms, {left}, {right}));
    ir::text::Scanner in(text);
    parse_rule(in);
  } catch (const Error&) {
    return "";
  }
  const auto rule = keep(terms, {left}, {right}, where, origin, counts, true);
  return rule == nullptr ? "" : rule->id;
}

bool Discovery::keep_split(const Site& general, const Site& where, const std::string& origin,
                           DiscoveryCounts& counts) {
  Terms terms;
  const std::vector<TermId> roots = general.build(terms);
  if (roots.size() != 1) return false;
  bool found = false;
  for (const SplitForm& form : split_forms(terms, roots[0])) {
    Split split;
    bool proved = true;
    for (const SplitForm::Component& component : form.state) {
      const std::string init = keep_part(terms, component.single, component.first, where, origin, counts);
      const std::string combine =
          keep_part(terms, component.joined, component.combined, where, origin, counts);
      proved = proved && !init.empty() && !combine.empty();
      split.state.push_back({init, combine});
      if (!proved) break;
    }
    if (!proved) continue;
    if (form.finished != form.root) {
      // The same operators, written in another way, are no step.
      if (left_of(terms, form.root) != left_of(terms, form.finished)) {
        split.finish = keep_part(terms, form.root, form.finished, where, origin, counts);
        if (split.finish.empty()) continue;
      }
    }
    split.id = id_of(split);
    split.of = left_of(terms, form.root);
    split.origin = origin;
    const SplitStanding standing = rules_.standing(split);
    if (!standing.proved) continue;
    found = true;
    if (!rules_.add(split)) continue;
    counts.splits += standing.usable ? 1 : 0;
    if (options_.split) options_.split(split);
  }
  return found;
}

bool Discovery::examine_split(const Terms& model, std::vector<TermId> inner, const std::string& origin,
                              DiscoveryCounts& counts) {
  // No more of it than is needed.
  for (bool again = true; again;) {
    again = false;
    for (const TermId id : std::vector<TermId>(inner.begin(), inner.end() - 1)) {
      const std::vector<TermId> fewer = without(model, inner, id);
      if (fewer.size() >= inner.size() || !has_split(model, fewer)) continue;
      inner = fewer;
      again = true;
      break;
    }
  }
  bool found = false;
  for (const bool keep_numbers : {false, true}) {
    const Site site = site_of(model, inner, 1, keep_numbers);
    if (!seen_.insert("split " + site.text()).second) return true;
    ++counts.different;
    found = keep_split(generalise(site), site, origin, counts);
    if (found) break;
  }
  return found;
}

void Discovery::split_reductions(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                                 DiscoveryCounts& counts) {
  Terms scratch;
  for (TermId id = 0; id < model.size(); ++id) {
    if (!is_sought(model, id) || reductions_of(model, id) == 0) continue;
    std::vector<TermId> inner{id};
    int tries = 0;  // what is missing when one reduction reads another is one layer more at most
    for (int layer = 0; layer < most_layers && inner.size() <= most_operations; ++layer) {
      if (!go_on()) return;
      ++counts.sites;
      const Site site = site_of(model, inner, 1, true);
      const std::string text = site.text();
      if (seen_.count("with a split " + text) != 0) break;
      const bool may = may_split(model, inner);
      if (may && seen_.insert("without a split " + text).second && has_split(model, inner)) {
        seen_.insert("with a split " + text);
        examine_split(model, inner, place(id), counts);
        break;
      }
      tries += may ? 1 : 0;
      if (tries > 1) break;
      std::set<TermId> more(inner.begin(), inner.end());
      for (const TermId one : inner)
        for (const TermId child : model[one].children)
          if (is_sought(model, child) && leads_on(scratch, model, child)) more.insert(child);
      if (more.size() == inner.size()) break;
      inner.assign(more.begin(), more.end());
    }
  }
}

}  // namespace axrun::search::algebra
