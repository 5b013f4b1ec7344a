// Products whose second operand lies in the buffer of a state.
#include <algorithm>
#include <map>

#include "ir/operator.h"
#include "ir/view.h"
#include "runtime/operators/moved_operand.h"
#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {
namespace {

using ir::ValueId;

class BufferReads {
 public:
  BufferReads(const FusionInput& input, std::vector<Group>& groups) : input_(input), groups_(groups) {
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].nodes.size() == 1 && groups[g].parts.empty() && !node(groups[g].nodes[0]).outputs.empty())
        alone_[node(groups[g].nodes[0]).outputs[0]] = g;
    }
  }

  void run() {
    for (size_t g = 0; g < groups_.size(); ++g) join(g);
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
  }

 private:
  const ir::Node& node(int n) const { return input_.graph.nodes[static_cast<size_t>(n)]; }

  /// Groups of one node each that only move what the one before gives, from a buffer on; none where there are
  /// no such.
  std::vector<size_t> movers_of(ValueId id) const {
    std::vector<size_t> movers;
    for (;;) {
      const auto made = alone_.find(id);
      if (made == alone_.end() || input_.uses[static_cast<size_t>(id)] != 1) return {};
      const ir::Node& mover = node(groups_[made->second].nodes[0]);
      if (!MovedOperand::moves(mover)) return {};
      movers.insert(movers.begin(), made->second);
      if (mover.domain == ir::state_domain) return movers;
      id = mover.inputs[0];
    }
  }

  void join(size_t g) {
    const Group& product = groups_[g];
    if (product.nodes.empty() || !product.parts.empty()) return;
    const ir::Node& first = node(product.nodes[0]);
    if (first.op != "MatMul" || !first.domain.empty() || first.inputs.size() != 2) return;
    const std::vector<size_t> movers = movers_of(first.inputs[1]);
    if (movers.empty()) return;
    Group joined;
    std::vector<const ir::Node*> nodes;
    std::vector<const ir::Program*> programs;
    for (const size_t mover : movers) {
      const int n = groups_[mover].nodes[0];
      nodes.push_back(&node(n));
      programs.push_back(input_.programs[static_cast<size_t>(n)].get());
      if (programs.back() == nullptr) return;
      joined.nodes.push_back(n);
      joined.parts.push_back(groups_[mover]);
    }
    if (!MovedOperand::of(nodes, programs)) return;
    // In the order of the graph: the product's own nodes come last.
    if (!std::is_sorted(joined.nodes.begin(), joined.nodes.end())) return;
    joined.nodes.insert(joined.nodes.end(), product.nodes.begin(), product.nodes.end());
    joined.parts.push_back(product);
    joined.is_sequence = joined.stays_whole = true;
    for (const size_t mover : movers) groups_[mover] = {};
    groups_[g] = std::move(joined);
  }

  const FusionInput& input_;
  std::vector<Group>& groups_;
  std::map<ValueId, size_t> alone_;  ///< groups of one node, by its first result
};

}  // namespace

void join_buffer_reads(const FusionInput& input, std::vector<Group>& groups) {
  BufferReads(input, groups).run();
}

}  // namespace axrun::runtime
