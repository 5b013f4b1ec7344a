#include "runtime/plan/lay_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

using ir::Node;
using ir::ValueId;

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
  Layer(const Plan& plan, const std::map<ValueId, ValueLayout>& values)
      : plan_(plan), old_(plan.graph()), values_(values), graph_(std::make_shared<ir::Graph>()) {
    graph_->name = old_.name;
    graph_->values = old_.values;
    graph_->inputs = old_.inputs;
    graph_->outputs = old_.outputs;
    graph_->captures = old_.captures;
  }

  LaidOut run(const std::vector<std::map<ValueId, Layout>>& reads) {
    const std::vector<Step>& steps = plan_.steps();
    result_.steps.resize(steps.size());
    result_.converting_steps.resize(steps.size());
    std::vector<int> owner(old_.nodes.size(), -1);
    for (size_t s = 0; s < steps.size(); ++s) {
      for (const int n : steps[s].nodes) owner[static_cast<size_t>(n)] = static_cast<int>(s);
    }
    for (const ValueId id : plan_.live_in_ids()) copy_value(id);
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      if (owner[n] < 0) {
        graph_->nodes.push_back(old_.nodes[n]);
        continue;
      }
      // A step stands where its last node does: what reads its results comes after that.
      const auto s = static_cast<size_t>(owner[n]);
      if (steps[s].nodes.back() == static_cast<int>(n)) add_step(s, reads[s]);
    }
    result_.graph = graph_;
    return std::move(result_);
  }

 private:
  const ValueLayout* layout_of(ValueId id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? nullptr : &found->second;
  }

  /// Another value of the same dims, or of permuted ones; what is known of it is found anew.
  ValueId twin(ValueId id, const char* what) {
    ir::Value value;
    value.name = fmt::format("{}:{}{}", old_.value(id).name, what, graph_->values.size());
    return graph_->add_value(std::move(value));
  }

  /// `id` is the plain value's number in the old graph.
  void convert(ValueId id, ValueId from, ValueId to, Layout layout, bool back) {
    Node node;
    node.op = "Transpose";
    node.version = 13;
    node.name = fmt::format("{}:layout{}", old_.value(id).name, graph_->nodes.size());
    node.inputs = {from};
    node.outputs = {to};
    ir::Attribute order;
    order.kind = ir::Attribute::Kind::integers;
    order.integers = permutation(layout, static_cast<int64_t>(plan_.fact(id).dims->size()), back);
    node.attributes.emplace("perm", std::move(order));
    graph_->nodes.push_back(std::move(node));
  }

  /// Copies of a plain value in the other layouts in which it has to be there.
  void copy_value(ValueId id) {
    const ValueLayout* layout = layout_of(id);
    if (layout == nullptr || layout->made != Layout::plain) return;
    if (!layout->is_there(Layout::channels_last)) return;
    convert(id, id, stored_[id] = twin(id, "stored"), Layout::channels_last, false);
  }

  void add_step(size_t s, const std::map<ValueId, Layout>& reads) {
    const Step& step = plan_.steps()[s];
    std::map<ValueId, ValueId> renamed;
    std::vector<int>& all = result_.converting_steps[s];
    const auto last = [&] { return static_cast<int>(graph_->nodes.size()) - 1; };
    for (const auto& [id, layout] : reads) {
      if (layout == Layout::plain) continue;
      const auto stored = stored_.find(id);
      AXRUN_ASSERT(stored != stored_.end());
      convert(id, stored->second, renamed[id] = twin(id, "read"), layout, true);
      all.push_back(last());
    }
    std::vector<ValueId> made;
    for (const ValueId id : step.outputs) {
      const ValueLayout* layout = id == ir::absent ? nullptr : layout_of(id);
      if (layout == nullptr || layout->made == Layout::plain) continue;
      made.push_back(id);
      renamed[id] = twin(id, "made");
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
      convert(id, renamed[id], stored_[id] = twin(id, "stored"), layout_of(id)->made, false);
      all.push_back(last());
    }
    // For whatever wants them plain: shapes that nobody computes in a run, too.
    for (const ValueId id : made) convert(id, stored_[id], id, layout_of(id)->made, true);
    for (const ValueId id : step.outputs) {
      if (id != ir::absent) copy_value(id);
    }
  }

  const Plan& plan_;
  const ir::Graph& old_;
  const std::map<ValueId, ValueLayout>& values_;
  std::shared_ptr<ir::Graph> graph_;
  std::map<ValueId, ValueId> stored_;  ///< by plain values: the permuted ones
  LaidOut result_;
};

}  // namespace

LaidOut lay_out(const Plan& plan, const std::map<ValueId, ValueLayout>& values,
                const std::vector<std::map<ValueId, Layout>>& reads) {
  return Layer(plan, values).run(reads);
}

bool has_layouts(const ir::ValueFact& fact) {
  if (!fact.dims || fact.dims->size() < 3 || fact.dims->size() > 5 || fact.constant.defined()) return false;
  const auto shape = ir::constant_dims(*fact.dims);
  if (!shape || (*shape)[1] < 2) return false;
  return std::accumulate(shape->begin() + 2, shape->end(), int64_t{1}, std::multiplies<>()) > 1;
}

}  // namespace axrun::runtime
