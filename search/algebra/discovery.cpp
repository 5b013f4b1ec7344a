#include "search/algebra/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ir/error.h"
#include "search/algebra/affine_form.h"
#include "search/algebra/matching.h"
#include "search/algebra/proposals.h"
#include "search/algebra/trials.h"

namespace axrun::search::algebra {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool contains(const Terms& terms, TermId whole, TermId part) {
  const std::vector<TermId> reached = reached_from(terms, {whole});
  return std::find(reached.begin(), reached.end(), part) != reached.end();
}

/// Between a model and the value in it where a rule was found and may be applied.
constexpr const char* at_value = " at ";

/// Whether a side of the rule is found at the place that it was made for, of these very sizes.
bool fires_at(const Rule& rule, const Site& where) {
  EGraph graph;
  if (where.build(graph.terms()).empty()) return false;
  graph.take_in();
  graph.rebuild();
  return !find_matches(graph, rule, true, 1).empty() || !find_matches(graph, rule, false, 1).empty();
}

}  // namespace

bool Discovery::is_sought(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  if (term.operation < 0 || term.facts.constant || !ir::is_float(term.facts.type)) return false;
  if (term.children.size() > 6 || term.facts.dims.size() > 6) return false;
  return std::all_of(term.program->stages.begin(), term.program->stages.end(), [](const ir::Stage& stage) {
    return stage.kind == ir::StageKind::map || stage.kind == ir::StageKind::reduce;
  });
}

DiscoveryCounts& DiscoveryCounts::operator+=(const DiscoveryCounts& other) {
  sites += other.sites;
  different += other.different;
  proposals += other.proposals;
  survived += other.survived;
  rules += other.rules;
  proved += other.proved;
  safe += other.safe;
  refuted += other.refuted;
  unknown += other.unknown;
  splits += other.splits;
  seconds += other.seconds;
  proving += other.proving;
  splitting += other.splitting;
  complete = complete && other.complete;
  return *this;
}

std::shared_ptr<const Rule> Discovery::keep(const Terms& terms, const std::vector<TermId>& left,
                                            const std::vector<TermId>& right, const Site& where,
                                            const std::string& origin, DiscoveryCounts& counts,
                                            bool of_parts) {
  std::shared_ptr<Rule> rule;
  try {
    rule = std::make_shared<Rule>(canonical(terms, left, right));
  } catch (const Error&) {
    return nullptr;
  }
  rule->of_parts = of_parts;
  if (const auto known = rules_.find(rule->id)) {
    rules_.add(rule);
    if (!known->established) establish(*known, options_.prover);
    return known->equality.verdict == verify::Verdict::proved ? known : nullptr;
  }
  const double start = now();
  establish(*rule, options_.prover);
  counts.proving += now() - start;
  if (!rule->established) {
    counts.complete = false;
    return nullptr;
  }
  rule->origin = fires_at(*rule, where) ? origin : origin.substr(0, origin.rfind(at_value));
  ++counts.rules;
  const bool proved = rule->equality.verdict == verify::Verdict::proved;
  counts.proved += proved ? 1 : 0;
  counts.safe += rule->usable() ? 1 : 0;
  counts.refuted += rule->equality.verdict == verify::Verdict::refuted ? 1 : 0;
  counts.unknown += rule->equality.verdict == verify::Verdict::unknown ? 1 : 0;
  rules_.add(rule);
  if (options_.found) options_.found(*rule);
  return proved ? rule : nullptr;
}

bool Discovery::propose(const Site& site, const Site& where, const std::string& origin,
                        DiscoveryCounts& counts) {
  Terms terms;
  const std::vector<TermId> roots = site.build(terms);
  if (roots.size() != 1) return false;
  const TermId root = roots[0];
  if (terms[root].operation < 0) return false;
  Trials trials(terms);
  if (!trials.meaningful(root)) return false;
  std::vector<TermId> producers;
  for (const TermId child : terms[root].children)
    if (terms[child].operation >= 0 &&
        std::find(producers.begin(), producers.end(), child) == producers.end())
      producers.push_back(child);
  if (producers.empty()) producers.push_back(root);
  std::vector<TermId> same;
  for (const TermId producer : producers) {
    for (const TermId id : propagate(terms, root, producer, options_.most_proposals)) {
      ++counts.proposals;
      if (contains(terms, id, root) || !trials.same(root, id)) continue;
      if (std::find(same.begin(), same.end(), id) == same.end()) same.push_back(id);
    }
  }
  counts.survived += static_cast<int64_t>(same.size());
  std::stable_sort(same.begin(), same.end(),
                   [&](TermId a, TermId b) { return operations_in(terms, {a}) < operations_in(terms, {b}); });
  bool found = false;
  for (size_t k = 0; k < std::min(same.size(), options_.most_identities); ++k)
    found = keep(terms, {root}, {same[k]}, where, origin, counts) != nullptr || found;
  return found;
}

bool Discovery::examine(const Site& site, const std::string& origin, DiscoveryCounts& counts) {
  ++counts.sites;
  if (!seen_.insert(site.text()).second) return false;
  const Site general = generalise(site);
  if (!seen_.insert("general " + general.text()).second) return false;
  ++counts.different;
  return propose(general, site, origin, counts);
}

/// Two products with one operand and different others: one product with those joined, and its parts.
bool Discovery::merge_siblings(const Terms& model, const Place& place, DiscoveryCounts& counts) {
  std::map<std::pair<int, TermId>, std::vector<TermId>> siblings;
  for (TermId id = 0; id < model.size(); ++id) {
    const Term& term = model[id];
    if (!is_sought(model, id) || term.children.size() < 2 || !term.parameters.empty()) continue;
    if (is_sum_or_product(model.operation(term.operation)) || is_index_map(model.operation(term.operation)))
      continue;
    siblings[{term.operation, term.children[0]}].push_back(id);
  }
  bool found = false;
  for (const auto& [key, list] : siblings) {
    for (size_t k = 1; k < list.size(); ++k) {
      counts.complete = counts.complete && (!options_.go_on || options_.go_on());
      if (!counts.complete) return found;
      const Site site = site_of(model, {list[0], list[k]}, 2, false);
      ++counts.sites;
      if (!seen_.insert(site.text()).second) continue;
      const Site general = generalise(site);
      if (!seen_.insert("general " + general.text()).second) continue;
      ++counts.different;
      Terms terms;
      const std::vector<TermId> roots = general.build(terms);
      if (roots.size() != 2) continue;
      const Term &a = terms[roots[0]], &b = terms[roots[1]];
      if (a.children.size() != b.children.size()) continue;
      const auto ranks = [&](TermId id) { return static_cast<int64_t>(terms[id].facts.dims.size()); };
      Trials trials(terms);
      const int64_t result_rank = ranks(roots[0]);
      bool done = false;
      for (int64_t axis = 0; axis < 4 && !done; ++axis) {
        // The same axis of all that differ, but what has just one.
        std::vector<TermId> children{a.children[0]};
        for (size_t n = 1; n < a.children.size(); ++n)
          children.push_back(a.children[n] == b.children[n] ? a.children[n]
                             : axis < ranks(a.children[n])
                                 ? terms.concat({a.children[n], b.children[n]}, axis)
                                 : terms.concat({a.children[n], b.children[n]}, ranks(a.children[n]) - 1));
        const TermId whole = terms.make(a.operation, a.parameters, children);
        if (whole == no_term) continue;
        for (int64_t result = 0; result < result_rank && !done; ++result) {
          const auto d = static_cast<size_t>(result);
          ir::Dims begin(static_cast<size_t>(result_rank), ir::Dim(0));
          if (terms[whole].facts.dims.size() != begin.size()) continue;
          const TermId first = terms.slice(whole, begin, a.facts.dims);
          begin[d] = a.facts.dims[d];
          const TermId second = terms.slice(whole, begin, b.facts.dims);
          ++counts.proposals;
          if (first == no_term || second == no_term || first == whole) continue;
          if (terms[first].facts.dims != a.facts.dims || terms[second].facts.dims != b.facts.dims) continue;
          if (!trials.same(roots[0], first) || !trials.same(roots[1], second)) continue;
          ++counts.survived;
          done = keep(terms, roots, {first, second}, site, place(list[0]), counts) != nullptr;
        }
      }
      found = found || done;
    }
  }
  return found;
}

void Discovery::examine_around(const std::vector<TermId>& inner, const Terms& model,
                               const std::string& origin, DiscoveryCounts& counts) {
  // With numbers as anything, then as what they are.
  if (examine(site_of(model, inner, 1, false), origin, counts)) return;
  const Site numbers = site_of(model, inner, 1, true);
  if (std::any_of(numbers.leaves.begin(), numbers.leaves.end(),
                  [](const auto& leaf) { return leaf.literal; }))
    examine(numbers, origin, counts);
}

void Discovery::examine_pairs(const Terms& model, const Place& place, const std::function<bool()>& go_on,
                              DiscoveryCounts& counts) {
  for (TermId id = 0; id < model.size(); ++id) {
    if (!is_sought(model, id)) continue;
    if (!go_on()) return;
    const std::vector<TermId> children = model[id].children;
    std::vector<TermId> producers;
    for (const TermId child : children)
      if (is_sought(model, child) && std::find(producers.begin(), producers.end(), child) == producers.end())
        producers.push_back(child);
    const auto look = [&](std::vector<TermId> inner) {
      inner.push_back(id);
      examine_around(inner, model, place(id), counts);
    };
    look({});
    for (const TermId producer : producers) look({producer});
    if (producers.size() > 1) {
      const bool alike = std::all_of(producers.begin(), producers.end(), [&](TermId producer) {
        return model[producer].operation == model[producers[0]].operation;
      });
      if (alike) look(producers);
    }
  }
}

DiscoveryCounts Discovery::examine(const Terms& model, const std::string& origin,
                                   const std::function<std::string(TermId)>& name) {
  DiscoveryCounts counts;
  const double start = now();
  const auto go_on = [&] {
    counts.complete = counts.complete && now() - start < options_.seconds;
    counts.complete = counts.complete && (!options_.go_on || options_.go_on());
    return counts.complete;
  };
  const Place place = [&](TermId id) { return name ? origin + at_value + name(id) : origin; };
  examine_pairs(model, place, go_on, counts);
  if (counts.complete) {
    const TakenApart apart = taken_apart(model);
    const Place within = [&](TermId id) {
      const auto found = apart.origins.find(id);
      return found == apart.origins.end() ? origin : place(found->second);
    };
    examine_pairs(apart.terms, within, go_on, counts);
  }
  if (counts.complete) examine_chains(model, place, go_on, counts);
  if (counts.complete) examine_sums(model, place, go_on, counts);
  if (counts.complete) examine_selections(model, place, go_on, counts);
  if (counts.complete) merge_siblings(model, place, counts);
  const double splitting = now();
  if (counts.complete) split_reductions(model, place, go_on, counts);
  counts.seconds = now() - start;
  counts.splitting = now() - splitting;
  return counts;
}

}  // namespace axrun::search::algebra
