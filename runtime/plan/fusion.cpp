#include <algorithm>
#include <map>
#include <set>

#include "ir/view.h"
#include "runtime/operators/epilogue.h"
#include "runtime/operators/map_program.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {
namespace {

using ir::ValueId;

/// Larger groups gain nothing more, and their code would no longer fit the block program's registers in
/// cache.
constexpr size_t largest_map_group = 24;

class Fusion {
 public:
  explicit Fusion(const FusionInput& input)
      : input_(input), group_of_(input.graph.nodes.size(), -1), consumers_(input.graph.values.size()) {
    for (int n : input.nodes) {
      for (ValueId id : reads(n)) {
        auto& list = consumers_[static_cast<size_t>(id)];
        if (list.empty() || list.back() != n) list.push_back(n);
      }
      for (ValueId id : node(n).outputs) {
        if (id != ir::absent) producer_[id] = n;
      }
    }
  }

  std::vector<Group> run() {
    for (int n : input_.nodes) attach_epilogue(n);
    for (int n : input_.nodes) join_elementwise(n);
    for (int n : input_.nodes) {
      if (group_of_[static_cast<size_t>(n)] < 0) start_group({n});
    }
    std::vector<Group> groups;
    for (Group& group : groups_) {
      if (group.nodes.empty()) continue;
      std::sort(group.nodes.begin(), group.nodes.end());
      groups.push_back(std::move(group));
    }
    std::sort(groups.begin(), groups.end(),
              [](const Group& a, const Group& b) { return a.nodes.back() < b.nodes.back(); });
    return groups;
  }

 private:
  const ir::Node& node(int n) const { return input_.graph.nodes[static_cast<size_t>(n)]; }
  const ir::ValueFact& fact(ValueId id) const { return input_.facts[static_cast<size_t>(id)]; }
  /// Inputs that the node's expression reads: of some only the type or the shape counts.
  std::vector<ValueId> reads(int n) const {
    const auto& program = input_.programs[static_cast<size_t>(n)];
    std::vector<ValueId> ids;
    for (size_t k = 0; k < node(n).inputs.size(); ++k) {
      const bool is_read = !program || (k < program->operands.size() && program->operands[k] != ir::none);
      if (node(n).inputs[k] != ir::absent && is_read) ids.push_back(node(n).inputs[k]);
    }
    return ids;
  }
  int uses(ValueId id) const { return input_.uses[static_cast<size_t>(id)]; }

  void start_group(std::vector<int> nodes) {
    for (int n : nodes) group_of_[static_cast<size_t>(n)] = static_cast<int>(groups_.size());
    groups_.push_back({std::move(nodes)});
  }

  StepPort port(ValueId id) const {
    StepPort port;
    if (id == ir::absent) return port;
    const ir::ValueFact& known = fact(id);
    const auto shape = known.dims ? ir::constant_dims(*known.dims) : std::nullopt;
    if (!shape) return port;
    port.present = true;
    port.type = known.type;
    port.shape = *shape;
    if (known.constant.defined()) port.constant = &known.constant;
    return port;
  }

  // Contractions take over what follows them
  // ----------------------------------------------------------------------

  static bool is_contraction(const ir::Node& node) {
    return node.domain.empty() && (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MatMul" ||
                                   (node.op == "Gemm" && node.version >= 7));
  }

  /// The nodes that form the next extension of an epilogue whose result so far is `value`; empty when none
  /// do.
  std::vector<int> next_extension(ValueId value) const {
    const std::vector<int>& readers = consumers_[static_cast<size_t>(value)];
    for (int n : readers) {
      if (group_of_[static_cast<size_t>(n)] >= 0) return {};
    }
    if (readers.size() == 1 && uses(value) == 1) return {readers[0]};
    if (readers.size() != 2 || uses(value) != 2) return {};
    const ir::Node& gate = node(readers[0]);
    if (gate.outputs.empty() || gate.outputs[0] == ir::absent || uses(gate.outputs[0]) != 1) return {};
    const std::vector<const ir::Node*> pair = {&gate, &node(readers[1])};
    return extension_length(pair, 0) == 2 ? readers : std::vector<int>{};
  }

  bool is_view_of(int n, ValueId value) const {
    const auto& program = input_.programs[static_cast<size_t>(n)];
    if (!program || node(n).outputs.size() != 1) return false;
    const int operand = ir::viewed_operand(*program);
    return operand >= 0 && node(n).inputs[static_cast<size_t>(operand)] == value;
  }

  void attach_epilogue(int anchor) {
    const ir::Node& first = node(anchor);
    if (!is_contraction(first) || group_of_[static_cast<size_t>(anchor)] >= 0) return;
    const StepPort result = port(first.outputs[0]);
    if (!result.present || result.type != ir::ElementType::f32 || result.rank() < 2) return;
    const bool convolution = first.op == "Conv" || first.op == "ConvTranspose";
    EpiloguePlan plan;
    plan.shape = result.shape;
    plan.channel_axis = convolution ? 1 : result.rank() - 1;
    std::vector<int> members = {anchor};
    ValueId value = first.outputs[0];
    for (;;) {
      // Views in between are taken along only when something follows them that belongs to the epilogue.
      EpiloguePlan extended = plan;
      std::vector<int> passed;
      ValueId reached = value;
      std::vector<int> next = next_extension(reached);
      while (next.size() == 1 && is_view_of(next[0], reached) &&
             follow_view(extended, *input_.programs[static_cast<size_t>(next[0])])) {
        passed.push_back(next[0]);
        reached = node(next[0]).outputs[0];
        next = next_extension(reached);
      }
      if (next.empty()) break;
      std::vector<const ir::Node*> nodes;
      for (int n : next) nodes.push_back(&node(n));
      const ir::Node& last = *nodes.back();
      if (last.outputs.empty() || last.outputs[0] == ir::absent ||
          port(last.outputs[0]).shape != extended.shape)
        break;
      if (!extend_epilogue(extended, nodes, reached, [&](ValueId id) { return port(id); })) break;
      plan = std::move(extended);
      members.insert(members.end(), passed.begin(), passed.end());
      members.insert(members.end(), next.begin(), next.end());
      value = last.outputs[0];
    }
    if (members.size() > 1) start_group(std::move(members));
  }

  // Elementwise nodes share a block program
  // -------------------------------------------------------------------------

  bool is_map(int n) const {
    const auto& program = input_.programs[static_cast<size_t>(n)];
    if (!program || !is_elementwise(*program)) return false;
    const ir::Stage& stage = program->stages[0];
    return program->exprs[static_cast<size_t>(stage.body[0])].op != ir::ScalarOp::load;
  }

  void join_elementwise(int n) {
    if (group_of_[static_cast<size_t>(n)] >= 0 || !is_map(n)) return;
    const ir::Shape shape = port(node(n).outputs[0]).shape;
    std::set<int> producers;
    for (ValueId id : reads(n)) {
      const int group = map_group_of(id);
      if (group >= 0 && port(id).shape == shape && !ends_in_bytes(n, id)) producers.insert(group);
    }
    // All producers at once (x * sigmoid(x) needs both), otherwise one by one.
    std::vector<std::set<int>> attempts = {producers};
    for (int group : producers) attempts.push_back({group});
    for (const std::set<int>& attempt : attempts) {
      if (attempt.empty() || !mergeable(n, attempt)) continue;
      std::vector<int> merged = {n};
      for (int group : attempt) {
        auto& nodes = groups_[static_cast<size_t>(group)].nodes;
        merged.insert(merged.end(), nodes.begin(), nodes.end());
        nodes.clear();
      }
      start_group(std::move(merged));
      map_groups_.insert(static_cast<int>(groups_.size()) - 1);
      return;
    }
    start_group({n});
    map_groups_.insert(static_cast<int>(groups_.size()) - 1);
  }

  /// The bytes of `id` become floats in n for something else than elementwise work, which will rather read
  /// the bytes, or are made of what such work gives, which will rather write them (join_byte_groups).
  bool ends_in_bytes(int n, ValueId id) const {
    const ValueId result = node(n).outputs[0];
    if (!ir::is_integer(port(id).type) || ir::size_of(port(id).type) != 1) return false;
    if (port(result).type != ir::ElementType::f32) return false;
    const ir::Node& narrowing = node(producer_.at(id));
    const ValueId floats = narrowing.inputs.empty() ? ir::absent : narrowing.inputs[0];
    const auto made = producer_.find(floats);
    if (made != producer_.end() && uses(floats) == 1 && !is_map_work(made->second)) return true;
    const std::vector<int>& readers = consumers_[static_cast<size_t>(result)];
    return readers.size() == 1 && uses(result) == 1 && !is_map(readers[0]);
  }

  /// Elementwise, and no part of a contraction's epilogue.
  bool is_map_work(int n) const {
    const int group = group_of_[static_cast<size_t>(n)];
    return is_map(n) && (group < 0 || map_groups_.count(group) > 0);
  }

  int map_group_of(ValueId id) const {
    const auto found = producer_.find(id);
    if (found == producer_.end()) return -1;
    const int group = group_of_[static_cast<size_t>(found->second)];
    return group >= 0 && map_groups_.count(group) > 0 ? group : -1;
  }

  /// Every result inside the merged group must be read inside it only, but for n's own.
  bool mergeable(int n, const std::set<int>& groups) const {
    std::set<int> members = {n};
    for (int group : groups) {
      const auto& nodes = groups_[static_cast<size_t>(group)].nodes;
      members.insert(nodes.begin(), nodes.end());
    }
    if (members.size() > largest_map_group) return false;
    for (int member : members) {
      if (member == n) continue;
      const ValueId result = node(member).outputs[0];
      int inside = 0;
      for (int reader : consumers_[static_cast<size_t>(result)]) {
        if (members.count(reader) == 0) return false;
        const std::vector<ValueId> inputs = reads(reader);
        inside += static_cast<int>(std::count(inputs.begin(), inputs.end(), result));
      }
      if (inside != uses(result)) return false;
    }
    return true;
  }

  const FusionInput& input_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> consumers_;
  std::map<ValueId, int> producer_;
  std::set<int> map_groups_;
};

}  // namespace

std::vector<Group> fuse(const FusionInput& input) { return Fusion(input).run(); }

}  // namespace axrun::runtime
