#include "runtime/plan/lay_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

using ir::Node;
using ir::ValueId;

/// Of values that have channels, and more than one place in each.
constexpr int least_rank = 3, most_rank = 5;

/// Of the names of values that others are stored as.
constexpr std::string_view stored_suffix = ":stored";

/// Dims of a permuted value, by those of the plain one; or the other way round.
std::vector<int64_t> permutation(Layout layout, int64_t rank, bool back) {
  AXRUN_ASSERT(layout == Layout::channels_last);
  std::vector<int64_t> order{0};
  if (back) order.push_back(rank - 1);
  for (int64_t d = back ? 1 : 2; d < (back ? rank - 1 : rank); ++d) order.push_back(d);
  if (!back) order.push_back(1);
  return order;
}

class Layer {
 public:
  Layer(const ir::Graph& graph, const LayoutRecipe& recipe)
      : old_(graph), recipe_(recipe), graph_(std::make_shared<ir::Graph>()) {
    AXRUN_ASSERT(!old_.limits);  // of values that would not be there
    graph_->name = old_.name;
    graph_->values = old_.values;
    graph_->inputs = old_.inputs;
    graph_->outputs = old_.outputs;
    graph_->captures = old_.captures;
  }

  LaidOut run() {
    const std::vector<LayoutRecipe::Step>& steps = recipe_.steps;
    result_.steps.resize(steps.size());
    result_.converting_steps.resize(steps.size());
    std::vector<int> owner(old_.nodes.size(), -1);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const int n : steps[s].nodes) owner[static_cast<size_t>(n)] = static_cast<int>(s);
    }
    for (const ValueId id : old_.inputs) copy_value(id);
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      if (owner[n] < 0) {
        graph_->nodes.push_back(old_.nodes[n]);
        continue;
      }
      // A step stands where its last node does: what reads its results comes after that.
      const auto s = static_cast<size_t>(owner[n]);
      if (steps[s].nodes.back() == static_cast<int>(n)) add_step(s);
    }
    result_.graph = graph_;
    return std::move(result_);
  }

 private:
  const ValueLayout* layout_of(ValueId id) const {
    const auto found = recipe_.values.find(id);
    return found == recipe_.values.end() ? nullptr : &found->second.layout;
  }

  /// Another value of the same dims, or of permuted ones; what is known of it is found anew.
  ValueId twin(ValueId id, std::string_view what) {
    ir::Value value;
    value.name = fmt::format("{}{}{}", old_.value(id).name, what, graph_->values.size());
    return graph_->add_value(std::move(value));
  }

  std::string name_of_conversion(ValueId id) const {
    return fmt::format("{}:layout{}", old_.value(id).name, graph_->nodes.size());
  }

  /// `id` is the plain value's number in the old graph.
  void convert(ValueId id, ValueId from, ValueId to, Layout layout, bool back, std::string name) {
    Node node;
    node.op = "Transpose";
    node.version = 13;
    node.name = std::move(name);
    node.inputs = {from};
    node.outputs = {to};
    ir::Attribute order;
    order.kind = ir::Attribute::Kind::integers;
    order.integers = permutation(layout, recipe_.values.at(id).rank, back);
    node.attributes.emplace("perm", std::move(order));
    graph_->nodes.push_back(std::move(node));
  }

  /// Copies of a plain value in the other layouts in which it has to be there.
  void copy_value(ValueId id) {
    const ValueLayout* layout = layout_of(id);
    if (layout == nullptr || layout->made != Layout::plain) return;
    if (!layout->is_there(Layout::channels_last)) return;
    convert(id, id, stored_[id] = twin(id, stored_suffix), Layout::channels_last, false,
            name_of_conversion(id));
  }

  void add_step(size_t s) {
    const LayoutRecipe::Step& step = recipe_.steps[s];
    std::map<ValueId, ValueId> renamed;
    std::vector<int>& all = result_.converting_steps[s];
    const auto last = [&] { return static_cast<int>(graph_->nodes.size()) - 1; };
    // Steps are told by their first node: by the model's name of it, whatever it reads.
    const std::string& name = old_.nodes[static_cast<size_t>(step.nodes.front())].name;
    for (const auto& [id, layout] : step.reads) {
      if (layout == Layout::plain) continue;
      const auto stored = stored_.find(id);
      if (stored == stored_.end())
        throw Error(Fault::internal, fmt::format("value {} is read before it is stored", id));
      convert(id, stored->second, renamed[id] = twin(id, ":read"), layout, true, name);
      all.push_back(last());
    }
    std::vector<ValueId> made;
    for (const ValueId id : step.outputs) {
      const ValueLayout* layout = id == ir::absent ? nullptr : layout_of(id);
      if (layout == nullptr || layout->made == Layout::plain) continue;
      made.push_back(id);
      renamed[id] = twin(id, ":made");
    }
    for (const int n : step.nodes) {
      Node node = old_.nodes[static_cast<size_t>(n)];
      for (auto* ids : {&node.inputs, &node.outputs}) {
        for (ValueId& id : *ids) {
          const auto other = renamed.find(id);
          if (other != renamed.end()) id = other->second;
        }
      }
      graph_->nodes.push_back(std::move(node));
      result_.steps[s].push_back(last());
      all.push_back(last());
    }
    for (const ValueId id : made) {
      convert(id, renamed[id], stored_[id] = twin(id, stored_suffix), layout_of(id)->made, false,
              name_of_conversion(id));
      all.push_back(last());
    }
    // For whatever wants them plain: shapes that nobody computes in a run, too.
    for (const ValueId id : made)
      convert(id, stored_[id], id, layout_of(id)->made, true, name_of_conversion(id));
    for (const ValueId id : step.outputs) {
      if (id != ir::absent) copy_value(id);
    }
  }

  const ir::Graph& old_;
  const LayoutRecipe& recipe_;
  std::shared_ptr<ir::Graph> graph_;
  std::map<ValueId, ValueId> stored_;  ///< by plain values: the permuted ones
  LaidOut result_;
};

/// Everything that Layer takes for granted of a recipe, but for what it finds by itself.
bool fits(const ir::Graph& graph, const LayoutRecipe& recipe) {
  const auto is_value = [&](ValueId id) { return id >= 0 && static_cast<size_t>(id) < graph.values.size(); };
  std::vector<bool> owned(graph.nodes.size(), false);
  for (const LayoutRecipe::Step& step : recipe.steps) {
    std::set<ValueId> made;
    for (const int n : step.nodes) {
      if (n < 0 || static_cast<size_t>(n) >= graph.nodes.size() || owned[static_cast<size_t>(n)])
        return false;
      owned[static_cast<size_t>(n)] = true;
      const std::vector<ValueId>& outputs = graph.nodes[static_cast<size_t>(n)].outputs;
      made.insert(outputs.begin(), outputs.end());
    }
    if (!std::is_sorted(step.nodes.begin(), step.nodes.end())) return false;
    for (const ValueId id : step.outputs) {
      if (id != ir::absent && made.count(id) == 0) return false;
    }
    for (const auto& [id, layout] : step.reads) {
      if (!is_value(id) || static_cast<int>(layout) >= layout_count || recipe.values.count(id) == 0)
        return false;
    }
  }
  return std::all_of(recipe.values.begin(), recipe.values.end(), [&](const auto& value) {
    const auto& [id, stored] = value;
    return is_value(id) && static_cast<int>(stored.layout.made) < layout_count &&
           stored.layout.is_there(stored.layout.made) && stored.layout.there >> layout_count == 0 &&
           stored.rank >= least_rank && stored.rank <= most_rank;
  });
}

/// Every value is made once, and before it is read.
bool is_in_order(const ir::Graph& graph) {
  std::vector<bool> there(graph.values.size(), false);
  for (size_t id = 0; id < there.size(); ++id) there[id] = graph.values[id].constant.defined();
  for (const ValueId id : graph.inputs) there[static_cast<size_t>(id)] = true;
  for (const auto& [outer, inner] : graph.captures) there[static_cast<size_t>(inner)] = true;
  std::vector<bool> made(there.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : ir::reads_of(node)) {
      if (!there[static_cast<size_t>(id)]) return false;
    }
    for (const ValueId id : node.outputs) {
      if (id == ir::absent) continue;
      if (made[static_cast<size_t>(id)]) return false;
      made[static_cast<size_t>(id)] = there[static_cast<size_t>(id)] = true;
    }
  }
  return true;
}

}  // namespace

LaidOut lay_out(const Plan& plan, const std::map<ValueId, ValueLayout>& values,
                const std::vector<std::map<ValueId, Layout>>& reads) {
  LayoutRecipe recipe;
  for (size_t s = 0; s < plan.steps().size(); ++s)
    recipe.steps.push_back({plan.steps()[s].work->nodes, plan.steps()[s].work->outputs, reads[s]});
  for (const auto& [id, layout] : values)
    recipe.values[id] = {layout, static_cast<int64_t>(plan.fact(id).dims->size())};
  LaidOut laid_out = Layer(plan.graph(), recipe).run();
  laid_out.recipe = std::move(recipe);
  return laid_out;
}

std::shared_ptr<const ir::Graph> lay_out(const ir::Graph& graph, const LayoutRecipe& recipe) {
  if (!fits(graph, recipe)) return nullptr;
  try {
    std::shared_ptr<const ir::Graph> made = Layer(graph, recipe).run().graph;
    return is_in_order(*made) ? made : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

bool is_stored_otherwise(const ir::Value& value) {
  const size_t at = value.name.rfind(stored_suffix);
  if (at == std::string::npos || at + stored_suffix.size() == value.name.size()) return false;
  return value.name.find_first_not_of("0123456789", at + stored_suffix.size()) == std::string::npos;
}

bool has_layouts(const ir::ValueFact& fact) {
  if (!fact.dims || fact.dims->size() < least_rank || fact.dims->size() > most_rank ||
      fact.constant.defined())
    return false;
  const auto shape = ir::constant_dims(*fact.dims);
  if (!shape || (*shape)[1] < 2) return false;
  return std::accumulate(shape->begin() + 2, shape->end(), int64_t{1}, std::multiplies<>()) > 1;
}

}  // namespace axrun::runtime
