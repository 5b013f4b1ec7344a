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
  std::vector<Window> windows = sibling_windows(terms.terms(), needed);
  for (Window& window : windows_of(terms.terms(), needed, options.most_operations))
    windows.push_back(std::move(window));
  std::vector<Weighed> list;
  std::map<std::string, double> together;
  for (Window& window : windows) {
    Weighed one;
    one.text = text_of(terms.terms(), window);
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

}  // namespace

GraphRewrite rewrite_graph(const ir::Inference& facts, const std::vector<std::shared_ptr<const Rule>>& rules,
                           const GraphRewriteOptions& options) {
  GraphRewrite result;
  const ModelTerms terms(facts, options.apart);
  GraphWriter writer(facts.graph(), terms);
  std::set<TermId> taken;            // of windows that were replaced
  std::set<std::string> unimproved;  // windows, as text
  for (const Weighed& one : weighed_windows(facts.graph(), terms, writer, options)) {
    if (options.go_on && !options.go_on()) break;
    const Window& window = one.window;
    const auto is_taken = [&](TermId id) { return taken.count(id) != 0; };
    if (std::any_of(window.inner.begin(), window.inner.end(), is_taken)) continue;
    if (unimproved.count(one.text) != 0) continue;
    ++result.looked_at;
    const auto improvement = improve(terms.terms(), window, rules, options.cost, options.saturation);
    if (!improvement || improvement->before - improvement->after < options.least_gain * improvement->before) {
      unimproved.insert(one.text);
      continue;
    }
    if (!writer.replace(window, *improvement)) continue;
    taken.insert(window.inner.begin(), window.inner.end());
    RewrittenWindow done{
        improvement->text,      improvement->uses, improvement->before, improvement->after, {},
        writer.recipes().back()};
    for (size_t k = 0; k < window.roots.size(); ++k) {
      if (improvement->from[k] != improvement->to[k])
        done.values.push_back(writer.values_of(window.roots[k]).front());
    }
    result.windows.push_back(std::move(done));
  }
  // As it is made again of what was kept.
  if (!result.windows.empty()) result.graph = rewritten(facts.graph(), writer.recipes());
  return result;
}

}  // namespace axrun::search::algebra
