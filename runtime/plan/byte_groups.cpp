// Steps whose operands and results are bytes in memory, although they work on floats: what widens the
// operands and what narrows the result goes with the step that lies between. So does what makes f32 of
// weights of 16 bits: memory gives these in half the time.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/operators/dequantized_convolution.h"
#include "runtime/operators/map_program.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {
namespace {

using ir::ValueId;

class ByteGroups {
 public:
  ByteGroups(const FusionInput& input, std::vector<Group>& groups) : input_(input), groups_(groups) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const int n : groups[g].nodes) {
        for (const ValueId id : node(n).outputs) {
          if (id != ir::absent) made_by_[id] = g;
        }
        const auto& program = input.programs[static_cast<size_t>(n)];
        for (size_t k = 0; k < node(n).inputs.size(); ++k) {
          const bool is_read = !program || (k < program->operands.size() && program->operands[k] != ir::none);
          if (node(n).inputs[k] != ir::absent && is_read) read_by_[node(n).inputs[k]] = g;
        }
      }
    }
  }

  void run() {
    for (size_t n = 0; n < input_.graph.nodes.size(); ++n) {
      const auto& program = input_.programs[n];
      const ir::Node& node = input_.graph.nodes[n];
      if (!program || node.outputs.size() != 1 || varies(node.outputs[0])) continue;
      if (is_elementwise(*program)) weights_[node.outputs[0]] = static_cast<int>(n);
    }
    for (size_t g = 0; g < groups_.size(); ++g) join(g);
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) { return a.nodes.back() < b.nodes.back(); });
  }

 private:
  const ir::Node& node(int n) const { return input_.graph.nodes[static_cast<size_t>(n)]; }
  const ir::ValueFact& fact(ValueId id) const { return input_.facts[static_cast<size_t>(id)]; }
  bool is_byte(ValueId id) const { return ir::is_integer(fact(id).type) && ir::size_of(fact(id).type) == 1; }
  bool is_read_once(ValueId id) const { return input_.uses[static_cast<size_t>(id)] == 1; }
  /// Constants are no steps' work.
  bool varies(ValueId id) const { return id != ir::absent && !fact(id).constant.defined(); }

  bool is_map(const Group& group) const {
    return std::all_of(group.nodes.begin(), group.nodes.end(), [&](int n) {
      const auto& program = input_.programs[static_cast<size_t>(n)];
      return program && is_elementwise(*program);
    });
  }

  /// What an elementwise group of one operand reads, where its result has the same elements; absent
  /// elsewhere.
  ValueId only_operand(const Group& group) const {
    std::vector<ValueId> inside;
    ValueId found = ir::absent;
    for (const int n : group.nodes) {
      for (const ValueId id : node(n).inputs) {
        if (!varies(id) || std::find(inside.begin(), inside.end(), id) != inside.end()) continue;
        if (found != ir::absent && found != id) return ir::absent;
        found = id;
      }
      inside.insert(inside.end(), node(n).outputs.begin(), node(n).outputs.end());
    }
    const ValueId result = node(group.nodes.back()).outputs[0];
    return found != ir::absent && fact(found).dims == fact(result).dims ? found : ir::absent;
  }

  /// The group that makes floats of bytes for this value, and for nothing else; -1: there is none.
  int widening(ValueId id) const {
    const auto made = made_by_.find(id);
    if (made == made_by_.end() || !is_read_once(id) || fact(id).type != ir::ElementType::f32) return -1;
    const Group& group = groups_[made->second];
    if (group.nodes.empty() || !group.parts.empty() || !is_map(group)) return -1;
    const ValueId operand = only_operand(group);
    return operand != ir::absent && is_byte(operand) ? static_cast<int>(made->second) : -1;
  }

  /// The group that makes bytes of the floats of this value, which nothing else reads; -1: there is none.
  int narrowing(ValueId id) const {
    const auto read = read_by_.find(id);
    if (read == read_by_.end() || !is_read_once(id)) return -1;
    const Group& group = groups_[read->second];
    if (group.nodes.empty() || !group.parts.empty() || !is_map(group) || only_operand(group) != id) return -1;
    return is_byte(node(group.nodes.back()).outputs[0]) ? static_cast<int>(read->second) : -1;
  }

  /// Whether one of these nodes reads floats of 16 bits.
  bool has_halves(const std::vector<int>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int n) {
      return std::any_of(node(n).inputs.begin(), node(n).inputs.end(), [&](ValueId id) {
        return id != ir::absent &&
               (fact(id).type == ir::ElementType::f16 || fact(id).type == ir::ElementType::bf16);
      });
    });
  }

  /// Nodes that make floats of weights that are bytes or floats of 16 bits, for this group alone: their
  /// results are constants, but a kernel of the whole may read the bytes.
  std::vector<int> widened_weights(const Group& group) const {
    std::vector<int> found;
    for (const int n : group.nodes) {
      for (const ValueId id : node(n).inputs) {
        const auto made = weights_.find(id);
        if (made != weights_.end() && is_read_once(id)) found.push_back(made->second);
      }
    }
    return found;
  }

  void join(size_t g) {
    const Group group = groups_[g];
    if (group.nodes.empty() || !group.parts.empty() || is_map(group)) return;
    const ir::Node& last = node(group.nodes.back());
    if (last.outputs.size() != 1 || fact(last.outputs[0]).type != ir::ElementType::f32) return;
    // Steps have no place for results whose size only their data tells.
    const auto& dims = fact(last.outputs[0]).dims;
    if (!dims || !ir::constant_dims(*dims)) return;
    std::vector<int> members = {static_cast<int>(g)};
    for (const int n : group.nodes) {
      if (!input_.programs[static_cast<size_t>(n)]) return;
      for (const ValueId id : node(n).inputs) {
        if (id != ir::absent && fact(id).type == ir::ElementType::string) return;
        const int made = varies(id) ? widening(id) : -1;
        if (made >= 0) members.push_back(made);
      }
    }
    const std::vector<int> weights = widened_weights(group);
    if (members.size() < 2 && !has_halves(weights)) return;
    if (const int next = narrowing(last.outputs[0]); next >= 0) members.push_back(next);
    std::sort(members.begin(), members.end());
    Group joined;
    joined.is_sequence = true;
    for (const int m : members) {
      Group& part = groups_[static_cast<size_t>(m)];
      joined.nodes.insert(joined.nodes.end(), part.nodes.begin(), part.nodes.end());
      joined.parts.push_back(std::exchange(part, {}));
    }
    joined.nodes.insert(joined.nodes.end(), weights.begin(), weights.end());
    std::sort(joined.nodes.begin(), joined.nodes.end());
    std::vector<const ir::Node*> nodes;
    for (const int n : joined.nodes) nodes.push_back(&node(n));
    joined.stays_whole = looks_like_dequantized_convolution(nodes);
    groups_[static_cast<size_t>(members.back())] = std::move(joined);
  }

  const FusionInput& input_;
  std::vector<Group>& groups_;
  std::map<ValueId, size_t> made_by_, read_by_;
  std::map<ValueId, int> weights_;  ///< constants and the nodes that give them
};

}  // namespace

void join_byte_groups(const FusionInput& input, std::vector<Group>& groups) {
  ByteGroups(input, groups).run();
}

}  // namespace axrun::runtime
