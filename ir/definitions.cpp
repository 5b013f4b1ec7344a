#include "ir/definitions.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "ir/evaluate.h"
#include "ir/lasting.h"

namespace axrun::ir {
namespace {

constexpr size_t most_entries = 8192;
/// Values of more bytes are told apart by where they are.
constexpr size_t most_bytes_compared = 1024;
/// Of one program.
constexpr size_t most_results = 16;

class Hash {
 public:
  void add(size_t part) { state_ = (std::rotl(state_, 7) ^ part) * 0x9e3779b97f4a7c15U; }
  void add(std::string_view part) { add(std::hash<std::string_view>()(part)); }
  size_t get() const { return state_; }

 private:
  size_t state_ = 0;
};

size_t hash_of(const Node& node, const std::vector<OperandInfo>& operands) {
  Hash hash;
  hash.add(node.op);
  for (const auto& [name, attribute] : node.attributes) {
    hash.add(static_cast<size_t>(attribute.integer));
    for (const int64_t value : attribute.integers) hash.add(static_cast<size_t>(value));
  }
  for (const OperandInfo& operand : operands) {
    hash.add(static_cast<size_t>(operand.type));
    if (!operand.dims) continue;
    for (const Dim& dim : *operand.dims) hash.add(static_cast<size_t>(dim.constant().value_or(-1)));
  }
  return hash.get();
}

bool same_value(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.type() == ElementType::string) return a.data() == b.data();
  return a.data() == b.data() ||
         (a.bytes() <= most_bytes_compared && std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

bool same_real(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same(const Attribute& a, const Attribute& b) {
  return a.kind == b.kind && a.integer == b.integer && same_real(a.real, b.real) && a.string == b.string &&
         a.integers == b.integers &&
         std::equal(a.reals.begin(), a.reals.end(), b.reals.begin(), b.reals.end(), same_real) &&
         a.strings == b.strings && same_value(a.tensor, b.tensor) &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same_value);
}

bool has_bodies(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
    return attribute.second.graph != nullptr || !attribute.second.graphs.empty();
  });
}

}  // namespace

struct Definitions::Entry {
  struct Operand {
    bool present = false;
    ElementType type = ElementType::undefined;
    std::optional<Dims> dims;
    bool asked = false;  ///< for its value
    Tensor constant;
    std::optional<Dims> elements;
  };

  Entry(const Node& node, const std::vector<OperandInfo>& given, const Consulted& consulted)
      : domain(node.domain), op(node.op), version(node.version), attributes(node.attributes) {
    if (consulted.name) name = node.name;
    for (const ValueId id : node.outputs) wanted.push_back(id != absent);
    for (size_t k = 0; k < given.size(); ++k) {
      Operand& operand = operands.emplace_back();
      operand.present = given[k].present;
      operand.type = given[k].type;
      operand.dims = given[k].dims;
      operand.asked = consulted.asked(k);
      if (operand.asked && given[k].constant != nullptr) operand.constant = *given[k].constant;
      if (operand.asked && given[k].elements != nullptr) operand.elements = *given[k].elements;
    }
  }

  bool fits(const Operand& operand, const OperandInfo& given) const {
    if (operand.present != given.present || operand.type != given.type || operand.dims != given.dims) {
      return false;
    }
    if (!operand.asked) return true;
    static const Tensor& none = lasting(Tensor());
    if (!same_value(operand.constant, given.constant != nullptr ? *given.constant : none)) return false;
    return operand.elements ? given.elements != nullptr && *given.elements == *operand.elements
                            : given.elements == nullptr;
  }

  bool fits(const Node& node, const std::vector<OperandInfo>& given) const {
    if (op != node.op || domain != node.domain || version != node.version) return false;
    if (name && *name != node.name) return false;
    if (operands.size() != given.size() || wanted.size() != node.outputs.size()) return false;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k] != (node.outputs[k] != absent)) return false;
    }
    for (size_t k = 0; k < given.size(); ++k) {
      if (!fits(operands[k], given[k])) return false;
    }
    return std::equal(
        attributes.begin(), attributes.end(), node.attributes.begin(), node.attributes.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
  }

  std::string domain, op;
  int version;
  std::optional<std::string> name;  ///< where the definition looked at it
  std::map<std::string, Attribute> attributes;
  std::vector<bool> wanted;
  std::vector<Operand> operands;
  std::shared_ptr<const Program> program;  ///< null: more must be known than was
  bool sizes_were_at_hand = false;         ///< then with guards
  std::vector<SizeGuard> guards;
};

std::shared_ptr<const Program> Definitions::define(const Node& node, const std::vector<OperandInfo>& operands,
                                                   SizesAtHand* sizes) {
  // Without sizes at hand, what names leave open is refused or not looked at: no guards speak of it.
  const auto fits = [&](const Entry& entry) {
    return entry.sizes_were_at_hand == (sizes != nullptr) && entry.fits(node, operands) &&
           (sizes == nullptr || sizes->adopt(entry.guards));
  };
  const bool keeps = !closed_ && node.custom == nullptr && !has_bodies(node);
  const size_t hash = keeps ? hash_of(node, operands) : 0;
  if (keeps) {
    std::shared_ptr<const Entry> known;
    {
      const std::lock_guard lock(mutex_);
      const auto [first, last] = entries_.equal_range(hash);
      const auto found = std::find_if(first, last, [&](const auto& entry) { return fits(*entry.second); });
      if (found != last) known = found->second;
    }
    if (known) return known->program;
  }
  Consulted consulted;
  // Guards that are there already are this definition's, too: they are noted apart.
  SizesAtHand own = sizes != nullptr ? sizes->without_guards() : SizesAtHand({});
  if (sizes != nullptr) consulted.sizes = &own;
  std::shared_ptr<const Program> program;
  try {
    program = std::make_shared<const Program>(define_node(node, operands, &consulted));
  } catch (const NotYetKnown&) {
  }
  if (sizes != nullptr) sizes->adopt(own.guards());
  if (!keeps) return program;
  auto entry = std::make_shared<Entry>(node, operands, consulted);
  entry->program = program;
  entry->sizes_were_at_hand = sizes != nullptr;
  entry->guards = own.guards();
  const std::lock_guard lock(mutex_);
  if (!closed_ && entries_.size() < most_entries) {
    if (program) evaluated_.try_emplace(program.get());
    entries_.emplace(hash, std::move(entry));
  }
  return program;
}

std::vector<Tensor> Definitions::evaluate(const Program& program, const std::vector<Tensor>& operands) {
  const bool small = std::all_of(operands.begin(), operands.end(), [](const Tensor& operand) {
    return !operand.defined() ||
           (operand.type() != ElementType::string && operand.bytes() <= most_bytes_compared);
  });
  if (!small || closed_) return ir::evaluate(program, operands);
  {
    const std::lock_guard lock(mutex_);
    const auto known = evaluated_.find(&program);
    if (known != evaluated_.end()) {
      for (const Results& one : known->second.results) {
        if (std::equal(one.operands.begin(), one.operands.end(), operands.begin(), operands.end(),
                       same_value))
          return one.results;
      }
    }
  }
  std::vector<Tensor> results = ir::evaluate(program, operands);
  const std::lock_guard lock(mutex_);
  const auto known = evaluated_.find(&program);
  if (known != evaluated_.end() && known->second.results.size() < most_results)
    known->second.results.push_back({operands, results});
  return results;
}

std::vector<std::optional<Dims>> Definitions::evaluate_symbolic(
    const Program& program, const std::vector<std::optional<Dims>>& operands, int64_t limit,
    SizesAtHand* sizes) {
  if (closed_ || sizes != nullptr) return ir::evaluate_symbolic(program, operands, limit, sizes);
  {
    const std::lock_guard lock(mutex_);
    const auto known = evaluated_.find(&program);
    if (known != evaluated_.end()) {
      for (const SymbolicResults& one : known->second.symbolic) {
        if (one.limit == limit && one.operands == operands) return one.results;
      }
    }
  }
  std::vector<std::optional<Dims>> results = ir::evaluate_symbolic(program, operands, limit);
  const std::lock_guard lock(mutex_);
  const auto known = evaluated_.find(&program);
  if (known != evaluated_.end() && known->second.symbolic.size() < most_results)
    known->second.symbolic.push_back({limit, operands, results});
  return results;
}

void Definitions::close() {
  decltype(entries_) dropped;
  decltype(evaluated_) dropped_results;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(entries_);
  dropped_results.swap(evaluated_);
}

size_t Definitions::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace axrun::ir
