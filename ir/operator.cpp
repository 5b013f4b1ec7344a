#include "ir/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/custom_operator.h"
#include "ir/error_place.h"
#include "ir/graph_operators.h"
#include "ir/lasting.h"
#include "ir/sizes_at_hand.h"

namespace axrun::ir {
namespace {

using Key = std::pair<std::string_view, std::string_view>;
struct KeyHash {
  size_t operator()(const Key& key) const {
    return std::hash<std::string_view>()(key.first) * 31 + std::hash<std::string_view>()(key.second);
  }
};
using Table = std::unordered_map<Key, std::vector<OperatorEntry>, KeyHash>;

std::vector<OperatorEntry> list_operators() {
  std::vector<OperatorEntry> list;
  elementwise_operators(list);
  movement_operators(list);
  indexing_operators(list);
  reduction_operators(list);
  normalization_operators(list);
  contraction_operators(list);
  convolution_operators(list);
  pooling_operators(list);
  resize_operators(list);
  recurrent_operators(list);
  quantization_operators(list);
  generator_operators(list);
  machine_learning_operators(list);
  microsoft_operators(list);
  signal_operators(list);
  loss_operators(list);
  opaque_operators(list);
  random_operators(list);
  legacy_operators(list);
  state_operators(list);
  return list;
}

const Table& table() {
  static const Table& table = lasting([] {
    Table built;
    for (const OperatorEntry& entry : list_operators()) built[{entry.domain, entry.name}].push_back(entry);
    for (auto& [key, rows] : built) {
      std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.since < b.since; });
    }
    return built;
  }());
  return table;
}

constexpr GraphOperator graph_operator_table[] = {
    {"", "If", 1},
    {"", "Loop", 1},
    {"", "Scan", 8},
    {"", "SequenceMap", 17},
    {"", "SequenceEmpty", 11},
    {"", "SequenceConstruct", 11},
    {"", "SequenceAt", 11},
    {"", "SequenceErase", 11},
    {"", "SequenceInsert", 11},
    {"", "SequenceLength", 11},
    {"", "SplitToSequence", 11},
    {"", "ConcatFromSequence", 11},
    {"", "Optional", 15},
    {"", "OptionalGetElement", 15},
    {"", "OptionalHasElement", 15},
    {"ai.onnx.ml", "ZipMap", 1},
    {"ai.onnx.ml", "CastMap", 1},
    {"ai.onnx.ml", "DictVectorizer", 1},
    {"com.microsoft", "GreedySearch", 1},
    {"com.microsoft", "Sampling", 1},
    {"com.microsoft", "BeamSearch", 1},
    {"com.microsoft", "WhisperBeamSearch", 1},
    {"ai.onnx.preview.training", "Gradient", 1},  // ordinary nodes once a file has been read
};

}  // namespace

const OperatorEntry* find_operator(std::string_view domain, std::string_view name, int version) {
  const auto found = table().find({domain, name});
  if (found == table().end()) return nullptr;
  const OperatorEntry* best = nullptr;
  for (const OperatorEntry& row : found->second) {
    if (row.since <= version) best = &row;
  }
  return best;
}

std::vector<OperatorEntry> all_operators() { return list_operators(); }

std::span<const GraphOperator> graph_operators() { return graph_operator_table; }

bool is_graph_operator(std::string_view domain, std::string_view name) {
  return std::any_of(std::begin(graph_operator_table), std::end(graph_operator_table),
                     [&](const GraphOperator& row) { return row.name == name && row.domain == domain; });
}

Program define_node(const Node& node, const std::vector<OperandInfo>& operands, Consulted* consulted) {
  const OperatorContext context(node, operands, consulted);
  if (node.custom != nullptr) return node.custom->define(context);
  const OperatorEntry* entry = find_operator(node.domain, node.op, node.version);
  if (entry == nullptr) context.unsupported(fmt::format("no definition at opset {}", node.version));
  Builder builder(node.op);
  entry->define(context, builder);
  return builder.finish();
}

TensorRef operand(Builder& b, const OperatorContext& context, int k) {
  return b.operand(k, context.type(k), context.dims(k));
}

Scalar broadcast_load(const OperatorContext& context, const TensorRef& x, const Indices& indices,
                      const Dims& result) {
  const size_t rank = x.dims().size();
  AXRUN_ASSERT(rank <= indices.size() && indices.size() == result.size());
  const size_t skipped = indices.size() - rank;
  Indices at;
  at.reserve(rank);
  for (size_t d = 0; d < rank; ++d) {
    const Scalar& index = indices[skipped + d];
    const bool spread = x.dims()[d] != result[skipped + d] && context.is_one(x.dims()[d]);
    at.push_back(spread ? index.builder().integer(0) : index);
  }
  return x(at);
}

// Context
// ---------------------------------------------------------------------------------------------------------

const std::string& OperatorContext::name() const {
  if (consulted_ != nullptr) consulted_->name = true;
  return node_.name;
}

const OperandInfo& OperatorContext::info(int k) const {
  if (!has(k)) fail(fmt::format("input {} is missing", k));
  return operands_[static_cast<size_t>(k)];
}

const OperandInfo& OperatorContext::operand(int k) const {
  if (consulted_ != nullptr && k >= 0) consulted_->values |= Consulted::bit(static_cast<size_t>(k));
  return info(k);
}

ElementType OperatorContext::type(int k) const {
  const ElementType type = info(k).type;
  if (type == ElementType::undefined) throw NotYetKnown{fmt::format("type of input {}", k)};
  return type;
}

const Dims& OperatorContext::dims(int k) const {
  const std::optional<Dims>& dims = info(k).dims;
  if (!dims) throw NotYetKnown{fmt::format("rank of input {}", k)};
  return *dims;
}

Dims OperatorContext::elements(int k) const {
  const OperandInfo& info = operand(k);
  if (info.elements != nullptr) return *info.elements;
  if (info.constant == nullptr) throw NotYetKnown{fmt::format("value of input {}", k)};
  if (!is_integer(info.constant->type()) && info.constant->type() != ElementType::boolean) {
    fail(fmt::format("input {} must hold integers", k));
  }
  check(info.constant->size() <= (int64_t{1} << 24), fmt::format("input {} is too long", k));
  return to_dims(info.constant->to_ints());
}

std::vector<int64_t> OperatorContext::integers(int k) const {
  std::vector<int64_t> values;
  for (const Dim& element : elements(k)) values.push_back(fixed(element));
  return values;
}

std::optional<int64_t> OperatorContext::number(const Dim& dim) const {
  if (dim.is_constant() || sizes() == nullptr) return dim.constant();
  return sizes()->fix(dim);
}

int64_t OperatorContext::fixed(const Dim& dim) const {
  if (const auto value = number(dim)) return *value;
  throw NotYetKnown{fmt::format("the size {}", dim.to_string())};
}

const Tensor& OperatorContext::constant(int k) const {
  const OperandInfo& info = operand(k);
  if (info.constant == nullptr) throw NotYetKnown{fmt::format("value of input {}", k)};
  return *info.constant;
}

const Attribute* OperatorContext::find(std::string_view name) const {
  const auto found = node_.attributes.find(std::string(name));
  return found == node_.attributes.end() ? nullptr : &found->second;
}

bool OperatorContext::has_attribute(std::string_view name) const { return find(name) != nullptr; }

namespace {

/// The attribute, or nullptr when it is absent; refuses another kind.
const Attribute* of_kind(const OperatorContext& context, const Attribute* attribute, std::string_view name,
                         Attribute::Kind kind, std::string_view wanted) {
  if (attribute != nullptr && attribute->kind != kind) {
    context.fail(fmt::format("attribute '{}' must be {}", name, wanted));
  }
  return attribute;
}

}  // namespace

int64_t OperatorContext::integer(std::string_view name, int64_t otherwise) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::integer, "an integer");
  return a != nullptr ? a->integer : otherwise;
}

double OperatorContext::real(std::string_view name, double otherwise) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::real, "a float");
  return a != nullptr ? a->real : otherwise;
}

std::string OperatorContext::string(std::string_view name, std::string_view otherwise) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::string, "a string");
  return a != nullptr ? a->string : std::string(otherwise);
}

std::vector<int64_t> OperatorContext::integers(std::string_view name,
                                               const std::vector<int64_t>& otherwise) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::integers, "a list of integers");
  return a != nullptr ? a->integers : otherwise;
}

std::vector<double> OperatorContext::reals(std::string_view name) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::reals, "a list of floats");
  return a != nullptr ? a->reals : std::vector<double>();
}

std::vector<std::string> OperatorContext::strings(std::string_view name) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::strings, "a list of strings");
  return a != nullptr ? a->strings : std::vector<std::string>();
}

const Tensor* OperatorContext::tensor(std::string_view name) const {
  const Attribute* a = of_kind(*this, find(name), name, Attribute::Kind::tensor, "a tensor");
  return a != nullptr ? &a->tensor : nullptr;
}

int OperatorContext::axis(int64_t value, int rank) const {
  if (value < -rank || value >= rank) fail(fmt::format("axis {} is out of range for rank {}", value, rank));
  return static_cast<int>(value < 0 ? value + rank : value);
}

std::vector<int> OperatorContext::axes(const std::vector<int64_t>& values, int rank) const {
  std::vector<int> result;
  for (int64_t value : values) {
    const int normal = axis(value, rank);
    if (std::find(result.begin(), result.end(), normal) != result.end())
      fail(fmt::format("axis {} is given twice", value));
    result.push_back(normal);
  }
  return result;
}

void OperatorContext::fail(const std::string& text) const {
  throw PlacedError(Fault::model, fmt::format("{} '{}': {}", node_.op, node_.name, text),
                    ErrorPlace::of_node(node_.name, node_.op));
}

void OperatorContext::unsupported(const std::string& text) const {
  throw PlacedError(Fault::unsupported, fmt::format("{} '{}': {}", node_.op, node_.name, text),
                    ErrorPlace::of_node(node_.name, node_.op));
}

bool OperatorContext::equal(const Dim& a, const Dim& b) const {
  if (a == b) return true;
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.value() == 0;
  if (sizes() != nullptr) {
    if (const auto here = sizes()->equal(a, b)) return *here;
  }
  throw NotYetKnown{fmt::format("whether {} equals {}", a.to_string(), b.to_string())};
}

bool OperatorContext::less(const Dim& a, const Dim& b) const {
  const Dim difference = b - a;
  if (difference.is_constant()) return difference.value() > 0;
  // Sizes are non-negative, which max() knows.
  if (max(difference, Dim(0)) == Dim(0)) return false;
  if (max(difference - Dim(1), Dim(0)) == difference - Dim(1)) return true;
  if (sizes() != nullptr) {
    if (const auto here = sizes()->at_least(a, b)) return !*here;
  }
  throw NotYetKnown{fmt::format("whether {} is less than {}", a.to_string(), b.to_string())};
}

bool OperatorContext::is(const Dim& dim, int64_t number) const {
  if (dim.is_constant()) return dim.value() == number;
  const Dim wanted(number);
  if (max(dim, wanted + 1) == dim || max(dim, wanted - 1) == wanted - 1) return false;
  return sizes() != nullptr && sizes()->equal(dim, wanted).value_or(false);
}

bool OperatorContext::may_be_at_least(const Dim& a, const Dim& b) const {
  const Dim difference = a - b;
  if (difference.is_constant()) return difference.value() >= 0;
  if (max(difference, Dim(0)) == difference) return true;
  return sizes() == nullptr || sizes()->at_least(a, b).value_or(true);
}

Dims OperatorContext::broadcast(const std::vector<Dims>& shapes) const {
  size_t rank = 0;
  for (const Dims& shape : shapes) rank = std::max(rank, shape.size());
  const auto refuse = [&] {
    std::string list;
    for (const Dims& s : shapes) list += (list.empty() ? "" : ", ") + to_string(s);
    fail(fmt::format("shapes {} cannot be broadcast together", list));
  };
  Dims result(rank, Dim(1));
  for (size_t d = 0; d < rank; ++d) {
    // Dimension d counted from the right. A constant other than 1 decides; otherwise all symbols must agree.
    Dim chosen(1);
    for (const Dims& shape : shapes) {
      if (d >= shape.size()) continue;
      const Dim& dim = shape[shape.size() - 1 - d];
      if (dim == chosen || dim == Dim(1)) continue;
      if (chosen == Dim(1)) {
        chosen = dim;
      } else if (dim.is_constant() && chosen.is_constant()) {
        refuse();
      } else if (sizes() == nullptr) {
        throw NotYetKnown{fmt::format("whether {} equals {}", dim.to_string(), chosen.to_string())};
      } else if (!equal(dim, chosen) && !is_one(dim)) {
        if (!is_one(chosen)) refuse();
        chosen = dim;
      } else if (dim.is_constant()) {
        chosen = dim;
      }
    }
    result[rank - 1 - d] = chosen;
  }
  return result;
}

bool OperatorContext::broadcasts_to(const Dims& shape, const Dims& whole) const {
  if (shape.size() > whole.size()) return false;
  const size_t skipped = whole.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim& dim = shape[d];
    if (dim != whole[skipped + d] && !is(dim, 1) && !equal(dim, whole[skipped + d])) return false;
  }
  return true;
}

Dim OperatorContext::unknown_dim(int output, int dimension) const {
  return Dim::symbol(fmt::format("{}/out{}/dim{}", name(), output, dimension));
}

}  // namespace axrun::ir
