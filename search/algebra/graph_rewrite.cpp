#include "search/algebra/graph_rewrite.h"

#include <algorithm>
#include <map>

#include "search/algebra/graph_writer.h"
#include "search/algebra/site.h"

namespace axrun::search::algebra {
namespace {

struct Weighed {
  Window window;
  std::vector<ir::ValueId> values;
  std::string text;  ///< equal for windows of which the same is made: layers are alike
  double weight = 1;
  bool selects = false;  ///< of selection_windows
};

/// Terms that something reads which is no term itself.
std::vector<TermId> needed_terms(const ir::Graph& graph, const ModelTerms& terms) {
  std::vector<TermId> needed = terms.outputs();
  std::set<TermId> known(needed.begin(), needed.end());
  const auto need = [&](ir::ValueId id) {
    if (id == ir::absent) return;
    if (const TermId term = terms.term_of(id); term != no_term && known.insert(term).second)
      needed.push_back(term);
  };
  for (const ir::Node& node : graph.nodes) {
    const bool computed = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
      const TermId term = id == ir::absent ? no_term : terms.term_of(id);
      return id == ir::absent || (term != no_term && terms.terms()[term].operation >= 0);
    });
    if (computed) continue;
    for (const ir::ValueId id : ir::reads_of(node)) need(id);
  }
  return needed;
}

std::string text_of(const Terms& terms, const Window& window) {
  const Site site = site_of(terms, window.inner, window.roots.size(), true);
  std::string text = site.text();
  for (const Site::Leaf& leaf : site.leaves) text += leaf.facts.constant ? 'c' : 'v';
  for (const TermId id : window.inner) {
    const bool is_root = std::find(window.roots.begin(), window.roots.end(), id) != window.roots.end();
    text += is_root ? 'r' : 'i';
  }
  return text;
}

std::vector<Weighed> weighed_windows(const ir::Graph& graph, const ModelTerms& terms,
                                     const GraphWriter& writer, const GraphRewriteOptions& options) {
  const std::vector<TermId> needed = needed_terms(graph, terms);
  std::vector<Window> windows = selection_windows(terms.terms(), needed);
  const size_t selections = windows.size();
  for (auto& more : {sibling_windows(terms.terms(), needed), sum_windows(terms.terms(), needed),
                     windows_of(terms.terms(), needed, options.most_operations)})
    windows.insert(windows.end(), more.begin(), more.end());
  std::vector<Weighed> list;
  std::map<std::string, double> together;
  for (size_t k = 0; k < windows.size(); ++k) {
    Window& window = windows[k];
    Weighed one;
    one.selects = k < selections;
    one.text = (one.selects ? "selection " : "") + text_of(terms.terms(), window);
    for (const TermId id : window.inner) {
      const std::vector<ir::ValueId>& values = writer.values_of(id);
      one.values.insert(one.values.end(), values.begin(), values.end());
    }
    one.window = std::move(window);
    if (options.weight) one.weight = options.weight(one.values);
    together[one.text] += one.weight;
    if (one.weight > 0) list.push_back(std::move(one));
  }
  std::erase_if(list, [&](const Weighed& one) { return together[one.text] < options.least_weight; });
  std::stable_sort(list.begin(), list.end(),
                   [](const Weighed& a, const Weighed& b) { return a.weight > b.weight; });
  return list;
}

/// What was found for one window as what is to be done with another of the same text: both have their
/// operations, and these their operands, in the same order.
Improvement moved(const Improvement& improvement, const Terms& terms, const Window& from, const Window& to) {
  Improvement moved = improvement;
  moved.copies.clear();
  const auto place = [&](TermId there, TermId here) {
    const auto copy = improvement.copies.find(there);
    if (copy != improvement.copies.end()) moved.copies.emplace(here, copy->second);
  };
  for (size_t k = 0; k < from.inner.size(); ++k) {
    place(from.inner[k], to.inner[k]);
    const std::vector<TermId>&there = terms[from.inner[k]].children, &here = terms[to.inner[k]].children;
    for (size_t n = 0; n < there.size(); ++n) place(there[n], here[n]);
  }
  return moved;
}

/// One window of each text, and what would be better; nothing where that is no better by enough.
struct Looked {
  const Window* window = nullptr;
  std::optional<Improvement> improvement;
};

}  // namespace

GraphRewrite rewrite_graph(const ir::Inference& facts, const std::vector<std::shared_ptr<const Rule>>& rules,
                           const GraphRewriteOptions& options) {
  GraphRewrite result;
  const ModelTerms terms(facts, options.apart, options.content);
  GraphWriter writer(facts.graph(), terms);
  const std::vector<Weighed> windows = weighed_windows(facts.graph(), terms, writer, options);
  std::map<std::string, Looked> looked;
  for (const Weighed& one : windows) {
    if (looked.count(one.text) != 0) continue;
    if (options.go_on && !options.go_on()) break;
    ++result.looked_at;
    auto improvement = improve(terms.terms(), one.window, rules, options.cost,
                               one.selects ? moving_selections(options.saturation) : options.saturation);
    if (improvement && improvement->before - improvement->after < options.least_gain * improvement->before)
      improvement.reset();
    looked.emplace(one.text, Looked{&one.window, std::move(improvement)});
  }
  // What promises to save most of the model's time first; the others have what it leaves.
  std::vector<std::pair<double, const Weighed*>> promising;
  for (const Weighed& one : windows) {
    const auto found = looked.find(one.text);
    if (found == looked.end() || !found->second.improvement) continue;
    const Improvement& improvement = *found->second.improvement;
    const double saved = improvement.before - improvement.after;
    promising.emplace_back(options.weight ? one.weight * saved / improvement.before : saved, &one);
  }
  std::stable_sort(promising.begin(), promising.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::set<TermId> taken;  // of windows that were replaced
  for (const auto& [saving, one] : promising) {
    const Window& window = one->window;
    const auto is_taken = [&](TermId id) { return taken.count(id) != 0; };
    if (std::any_of(window.inner.begin(), window.inner.end(), is_taken)) continue;
    const Looked& alike = looked.at(one->text);
    const Improvement improvement = moved(*alike.improvement, terms.terms(), *alike.window, window);
    if (!writer.replace(window, improvement)) continue;
    taken.insert(window.inner.begin(), window.inner.end());
    RewrittenWindow done{improvement.text,       improvement.uses, improvement.before, improvement.after, {},
                         writer.recipes().back()};
    for (size_t k = 0; k < window.roots.size(); ++k) {
      if (improvement.from[k] != improvement.to[k])
        done.values.push_back(writer.values_of(window.roots[k]).front());
    }
    result.windows.push_back(std::move(done));
  }
  // As it is made again of what was kept.
  if (!result.windows.empty()) result.graph = rewritten(facts.graph(), writer.recipes());
  return result;
}

}  // namespace axrun::search::algebra
