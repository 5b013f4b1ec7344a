#include "jit/x86/interleave.h"

#include <algorithm>
#include <map>
#include <set>

namespace axrun::jit::x86 {

using asmjit::BaseNode;
using asmjit::InstNode;

namespace {

/// Chains of fewer instructions are short enough.
constexpr size_t fewest_instructions = 10;
constexpr size_t most_together = 6;
/// Masks that are made and used; some are held from before.
constexpr int most_masks = 4;

struct Touched {
  uint32_t id;  ///< of a virtual register
  bool written;
  asmjit::RegGroup group;
};

struct Step {
  BaseNode* node;
  size_t owner;  ///< the vector
  std::vector<Touched> touched;
};

/// The registers that an instruction reads and writes; false where it does more than that.
bool describe(const asmjit::x86::Compiler& compiler, BaseNode* node, std::vector<Touched>& touched) {
  if (node->type() != asmjit::NodeType::kInst) return false;
  const InstNode& instruction = *node->as<InstNode>();
  asmjit::InstRWInfo info;
  if (asmjit::InstAPI::queryRWInfo(compiler.arch(), instruction.baseInst(), instruction.operands(),
                                   instruction.opCount(), &info) != asmjit::kErrorOk)
    return false;
  if (info.readFlags() != asmjit::CpuRWFlags::kNone) return false;
  const auto touch = [&](uint32_t id, bool written, asmjit::RegGroup group) {
    if (asmjit::Operand::isVirtId(id)) touched.push_back({id, written, group});
  };
  for (uint32_t k = 0; k < instruction.opCount(); ++k) {
    const asmjit::Operand& operand = instruction.op(k);
    if (operand.isReg()) {
      touch(operand.id(), info.operand(k).isWrite(), operand.as<asmjit::BaseReg>().group());
    } else if (operand.isMem()) {
      const auto& memory = operand.as<asmjit::BaseMem>();
      if (memory.hasBaseReg()) touch(memory.baseId(), false, asmjit::RegGroup::kGp);
      if (memory.hasIndexReg()) touch(memory.indexId(), false, asmjit::RegGroup::kGp);
    }
  }
  if (instruction.hasExtraReg()) touch(instruction.extraReg().id(), false, asmjit::RegGroup::kX86_K);
  return true;
}

/// Registers that several vectors touch, one of them writing: what touches them keeps its order.
class Order {
 public:
  explicit Order(const std::vector<Step>& steps) {
    std::map<uint32_t, std::set<size_t>> owners;
    std::set<uint32_t> written;
    for (const Step& step : steps) {
      for (const Touched& one : step.touched) {
        owners[one.id].insert(step.owner);
        if (one.written) written.insert(one.id);
      }
    }
    for (const Step& step : steps) {
      for (const uint32_t id : registers_of(step)) {
        if (owners[id].size() > 1 && written.count(id) != 0) waiting_[id].push_back(&step);
      }
    }
  }

  bool is_next(const Step& step) const {
    for (const uint32_t id : registers_of(step)) {
      const auto queue = waiting_.find(id);
      if (queue != waiting_.end() && queue->second[next_of(id)] != &step) return false;
    }
    return true;
  }
  void take(const Step& step) {
    for (const uint32_t id : registers_of(step)) {
      if (waiting_.count(id) != 0) ++next_[id];
    }
  }

 private:
  static std::set<uint32_t> registers_of(const Step& step) {
    std::set<uint32_t> ids;
    for (const Touched& one : step.touched) ids.insert(one.id);
    return ids;
  }
  size_t next_of(uint32_t id) const {
    const auto found = next_.find(id);
    return found == next_.end() ? 0 : found->second;
  }

  std::map<uint32_t, std::vector<const Step*>> waiting_;
  std::map<uint32_t, size_t> next_;
};

/// In turns, each vector's steps in their order.
std::vector<const Step*> take_turns(const std::vector<Step>& steps, size_t first_owner, size_t owners) {
  std::vector<std::vector<const Step*>> queues(owners);
  for (const Step& step : steps) queues[step.owner - first_owner].push_back(&step);
  Order order(steps);
  std::vector<size_t> next(owners, 0);
  std::vector<const Step*> result;
  while (result.size() < steps.size()) {
    for (size_t owner = 0; owner < owners; ++owner) {
      if (next[owner] == queues[owner].size()) continue;
      const Step& step = *queues[owner][next[owner]];
      if (!order.is_next(step)) continue;
      order.take(step);
      result.push_back(&step);
      ++next[owner];
    }
  }
  return result;
}

/// How many registers of a kind hold something made here at once, if nothing of it is read later.
int registers_needed(const std::vector<const Step*>& steps, asmjit::RegGroup group) {
  std::map<uint32_t, std::pair<size_t, size_t>> spans;
  std::set<uint32_t> from_before;
  for (size_t k = 0; k < steps.size(); ++k) {
    for (const Touched& one : steps[k]->touched) {
      if (one.group != group) continue;
      const auto [found, fresh] = spans.try_emplace(one.id, k, k);
      if (fresh && !one.written) from_before.insert(one.id);
      found->second.second = k;
    }
  }
  int most = 0;
  for (size_t k = 0; k < steps.size(); ++k) {
    int here = 0;
    for (const auto& [id, span] : spans)
      here += from_before.count(id) == 0 && span.first <= k && k <= span.second;
    most = std::max(most, here);
  }
  return most;
}

}  // namespace

void interleave(asmjit::x86::Compiler& compiler, const std::vector<BaseNode*>& boundaries,
                int free_registers) {
  const size_t owners = boundaries.size() - 1;
  std::vector<std::vector<Step>> steps(owners);
  for (size_t owner = 0; owner < owners; ++owner) {
    for (BaseNode* node = boundaries[owner]; node != boundaries[owner + 1];) {
      node = node->next();
      Step step{node, owner, {}};
      if (!describe(compiler, node, step.touched)) return;
      steps[owner].push_back(step);
    }
    if (steps[owner].size() < fewest_instructions) return;
  }
  BaseNode* after = boundaries[0];
  for (size_t first = 0; first < owners;) {
    size_t count = std::min(owners - first, most_together);
    std::vector<const Step*> order;
    std::vector<Step> together;
    for (; count > 0; --count) {
      together.clear();
      for (size_t k = 0; k < count; ++k)
        together.insert(together.end(), steps[first + k].begin(), steps[first + k].end());
      order = take_turns(together, first, count);
      if (count == 1 || (registers_needed(order, asmjit::RegGroup::kVec) <= free_registers &&
                         registers_needed(order, asmjit::RegGroup::kX86_K) <= most_masks))
        break;
    }
    for (const Step& step : together) compiler.removeNode(step.node);
    for (const Step* step : order) {
      compiler.addAfter(step->node, after);
      after = step->node;
    }
    first += count;
  }
  compiler.setCursor(after);
}

}  // namespace axrun::jit::x86
