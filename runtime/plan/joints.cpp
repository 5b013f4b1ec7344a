#include "runtime/plan/joints.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/view.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {

using ir::ValueId;

namespace {

/// Programs of more nodes are not looked for.
constexpr size_t most_nodes = 48;
/// Nor programs that read more values: what reads hundreds of results could be joined with each of them, and
/// the expression of every such pair would be as long as its own.
constexpr size_t most_inputs = 64;

bool has(const std::vector<int>& nodes, int n) { return std::binary_search(nodes.begin(), nodes.end(), n); }

}  // namespace

bool PlanBuilder::read_outside(ValueId id, const std::vector<int>& nodes) const {
  int64_t inside = 0;
  for (const int n : nodes) {
    const std::vector<ValueId> reads = reads_of_node(n);
    inside += std::count(reads.begin(), reads.end(), id);
  }
  return uses_[static_cast<size_t>(id)] > inside;
}

void PlanBuilder::find_consumers() {
  if (!consumers_.empty()) return;
  consumers_.resize(graph_->values.size());
  for (const int n : scheduled_) {
    for (const ValueId id : reads_of_node(n)) consumers_[static_cast<size_t>(id)].push_back(n);
  }
}

bool PlanBuilder::joinable(const std::vector<int>& nodes) const {
  for (const int n : nodes) {
    if (structure_of(n) == nullptr) return false;
    for (const ValueId id : graph_->nodes[static_cast<size_t>(n)].outputs) {
      if (id == ir::absent) continue;
      for (const int reader : consumers_[static_cast<size_t>(id)]) {
        if (reader < nodes.back() && !has(nodes, reader)) return false;
      }
    }
  }
  return true;
}

void PlanBuilder::join_groups(const std::vector<std::vector<int>>& sets) {
  if (sets.empty()) return;
  find_consumers();
  std::vector<int> group_of(graph_->nodes.size(), -1);
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (const int n : groups_[g].nodes) group_of[static_cast<size_t>(n)] = static_cast<int>(g);
  }
  for (const std::vector<int>& nodes : sets) {
    std::set<int> members;  // in order of their last nodes, as groups are
    for (const int n : nodes) members.insert(group_of[static_cast<size_t>(n)]);
    if (members.size() < 2 || *members.begin() < 0) continue;
    size_t covered = 0;
    for (const int g : members) covered += groups_[static_cast<size_t>(g)].nodes.size();
    if (covered != nodes.size() || !joinable(nodes)) continue;
    Group joined{nodes};
    for (const int g : members) {
      joined.parts.push_back(std::exchange(groups_[static_cast<size_t>(g)], {}));
    }
    for (const int n : nodes) group_of[static_cast<size_t>(n)] = *members.rbegin();
    groups_[static_cast<size_t>(*members.rbegin())] = std::move(joined);
  }
  std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
}

std::vector<Joint> PlanBuilder::joints(const Plan& plan, size_t count) {
  infer_nodes();
  find_needed();
  find_consumers();
  std::map<ValueId, int> producer;
  std::vector<int> owner(graph_->nodes.size(), -1);
  for (const int n : scheduled_) {
    for (const ValueId id : graph_->nodes[static_cast<size_t>(n)].outputs) producer.emplace(id, n);
  }
  const std::vector<Step>& steps = plan.steps();
  for (size_t s = 0; s < steps.size(); ++s) {
    for (const int n : steps[s].work->nodes) owner[static_cast<size_t>(n)] = static_cast<int>(s);
  }
  /// The step whose result is read as `id`; the views on the way are appended.
  const auto source_of = [&](ValueId id, std::vector<int>& views) {
    for (;;) {
      const auto found = producer.find(id);
      if (id == ir::absent || found == producer.end() || is_constant(id)) return -1;
      const int n = found->second;
      if (owner[static_cast<size_t>(n)] >= 0) return owner[static_cast<size_t>(n)];
      const int operand = viewed_input(n);
      if (operand < 0 || uses_[static_cast<size_t>(id)] != 1) return -1;
      views.push_back(n);
      id = graph_->nodes[static_cast<size_t>(n)].inputs[static_cast<size_t>(operand)];
    }
  };
  // Of every step, those that it reads, and the views in between.
  std::vector<std::map<size_t, std::vector<int>>> sources(steps.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].kernel) continue;
    for (const ValueId id : steps[s].work->inputs) {
      std::vector<int> views;
      const int source = source_of(id, views);
      if (source < 0 || !steps[static_cast<size_t>(source)].kernel) continue;
      std::vector<int>& all = sources[s][static_cast<size_t>(source)];
      all.insert(all.end(), views.begin(), views.end());
    }
  }
  std::vector<Joint> joints;
  const auto add = [&](const std::vector<size_t>& chain, std::vector<int> nodes) {
    for (const size_t s : chain)
      nodes.insert(nodes.end(), steps[s].work->nodes.begin(), steps[s].work->nodes.end());
    std::sort(nodes.begin(), nodes.end());
    if (nodes.size() > most_nodes || nodes.back() != steps[chain.back()].work->nodes.back() ||
        !joinable(nodes))
      return;
    StepWork work;
    work.node = &graph_->nodes[static_cast<size_t>(nodes.front())];
    for (const int n : nodes) {
      work.ops += (n == nodes.front() ? "" : "+") + graph_->nodes[static_cast<size_t>(n)].op;
    }
    find_ports(nodes, work.inputs, work.outputs);
    if (work.inputs.size() > most_inputs) return;
    work.nodes = std::move(nodes);
    Joint joint{chain, {}};
    joint.step.work = std::make_shared<const StepWork>(std::move(work));
    joints.push_back(std::move(joint));
  };
  for (size_t last = 0; last < steps.size(); ++last) {
    for (const auto& [middle, views] : sources[last]) {
      if (count == 2) {
        add({middle, last}, views);
        continue;
      }
      for (const auto& [first, more] : sources[middle]) {
        std::vector<int> all = views;
        all.insert(all.end(), more.begin(), more.end());
        add({first, middle, last}, std::move(all));
      }
    }
  }
  return joints;
}

std::vector<Joint> joints_of(const Plan& plan, size_t count) {
  return builder_like(plan).joints(plan, count);
}

}  // namespace axrun::runtime
