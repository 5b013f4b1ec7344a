// Operators of ai.onnx.ml on maps: ZipMap, CastMap, DictVectorizer (ONNX-ML operator specification).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {
namespace {

using Values = std::vector<RuntimeValue>;

/// Scores [N, classes] or [classes] to a sequence of maps from label to score.
RuntimeValue zip_map(const ir::Node& node, const RuntimeValue& scores) {
  const auto strings = node.attributes.find("classlabels_strings");
  const auto integers = node.attributes.find("classlabels_int64s");
  ir::Tensor keys;
  if (strings != node.attributes.end() && !strings->second.strings.empty()) {
    const auto& labels = strings->second.strings;
    keys = ir::Tensor::from_strings({static_cast<int64_t>(labels.size())}, labels);
  } else if (integers != node.attributes.end()) {
    keys = ir::Tensor::from_i64(integers->second.integers);
  } else {
    fail_at(node, "class labels are missing");
  }
  const int rank = scores.tensor.rank();
  if (rank < 1 || rank > 2 || scores.tensor.shape().back() != keys.size()) {
    fail_at(node,
            fmt::format("scores {} do not fit {} labels", ir::to_string(scores.tensor.shape()), keys.size()));
  }
  Values maps;
  const int64_t rows = rank == 2 ? scores.tensor.shape()[0] : 1;
  maps.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    maps.push_back(RuntimeValue::map(keys, rank == 2 ? take(scores.tensor, 0, row, false) : scores.tensor));
  }
  return RuntimeValue::sequence(std::move(maps));
}

const ir::Tensor& keys_of(const RuntimeValue& map) { return (*map.items)[0].tensor; }
const ir::Tensor& values_of(const RuntimeValue& map) { return (*map.items)[1].tensor; }

std::string string_attribute(const ir::Node& node, const std::string& name, const std::string& otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.string;
}

/// One element of `from` as element `to` of a tensor of floats, integers or strings.
void cast_element(const ir::Node& node, const ir::Tensor& from, int64_t k, ir::Tensor& result, int64_t to) {
  const bool text = from.type() == ir::ElementType::string;
  if (result.type() == ir::ElementType::string) {
    result.strings()[to] = text ? from.strings()[k] : fmt::format("{}", from.get_real(k));
    return;
  }
  double value = 0;
  if (text) {
    const std::string& s = from.strings()[k];
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc() || end != s.data() + s.size())
      fail_at(node, fmt::format("'{}' is no number", s));
  } else {
    value = from.get_real(k);
  }
  if (ir::is_float(result.type())) {
    result.set_real(to, value);
  } else {
    constexpr double beyond = 0x1p63;
    if (!(value >= -beyond && value < beyond)) fail_at(node, fmt::format("{} is no 64-bit integer", value));
    result.set_int(to, static_cast<int64_t>(value));
  }
}

/// The values of a map in the order of its keys, [1, count]; sparse: at the places that the keys name, others
/// 0 or empty.
RuntimeValue cast_map(const ir::Node& node, const RuntimeValue& map) {
  const ir::Tensor& keys = keys_of(map);
  if (keys.type() == ir::ElementType::string) fail_at(node, "the keys must be integers");
  const std::string target = string_attribute(node, "cast_to", "TO_FLOAT");
  const std::string form = string_attribute(node, "map_form", "DENSE");
  if (form != "DENSE" && form != "SPARSE") fail_at(node, fmt::format("map_form '{}' is unknown", form));
  const auto type = target == "TO_FLOAT"    ? ir::ElementType::f32
                    : target == "TO_INT64"  ? ir::ElementType::i64
                    : target == "TO_STRING" ? ir::ElementType::string
                                            : ir::ElementType::undefined;
  if (type == ir::ElementType::undefined) fail_at(node, fmt::format("cast_to '{}' is unknown", target));
  const bool sparse = form == "SPARSE";
  const int64_t size = sparse ? integer_attribute(node, "max_map", 1) : keys.size();
  constexpr int64_t most = int64_t{1} << 28;
  if (size < 0 || size > most) fail_at(node, fmt::format("max_map is {}", size));
  ir::Tensor result = ir::Tensor::allocate(type, {1, size});
  std::vector<int64_t> order(static_cast<size_t>(keys.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys.get_int(a) < keys.get_int(b); });
  for (size_t k = 0; k < order.size(); ++k) {
    const int64_t place = sparse ? keys.get_int(order[k]) : static_cast<int64_t>(k);
    if (place < 0 || place >= size) fail_at(node, fmt::format("key {} is not below {}", place, size));
    cast_element(node, values_of(map), order[k], result, place);
  }
  return RuntimeValue(std::move(result));
}

/// The values of a map at the places that its keys have in the vocabulary; 0 or empty elsewhere.
RuntimeValue dict_vectorizer(const ir::Node& node, const RuntimeValue& map) {
  const ir::Tensor& keys = keys_of(map);
  const ir::Tensor& values = values_of(map);
  const bool text = keys.type() == ir::ElementType::string;
  const auto vocabulary = node.attributes.find(text ? "string_vocabulary" : "int64_vocabulary");
  if (vocabulary == node.attributes.end()) fail_at(node, "there is no vocabulary of the keys' type");
  const auto& strings = vocabulary->second.strings;
  const auto& integers = vocabulary->second.integers;
  const auto size = static_cast<int64_t>(text ? strings.size() : integers.size());
  ir::Tensor result = ir::Tensor::allocate(values.type(), {1, size});
  for (int64_t place = 0; place < size; ++place) {
    for (int64_t k = 0; k < keys.size(); ++k) {
      const auto at = static_cast<size_t>(place);
      if (text ? keys.strings()[k] != strings[at] : keys.get_int(k) != integers[at]) continue;
      if (values.type() == ir::ElementType::string) {
        result.strings()[place] = values.strings()[k];
      } else if (ir::is_float(values.type())) {
        result.set_real(place, values.get_real(k));
      } else {
        result.set_int(place, values.get_int(k));
      }
    }
  }
  return RuntimeValue(std::move(result));
}

}  // namespace

Values run_map_operator(const ir::Node& node, const Values& inputs) {
  if (inputs.size() != 1 || !inputs[0].present()) fail_at(node, "the input is missing");
  if (node.op == "ZipMap") return {zip_map(node, inputs[0])};
  if (inputs[0].kind != ir::ValueKind::map || !inputs[0].items || inputs[0].items->size() != 2) {
    fail_at(node, "the input is not a map");
  }
  return {node.op == "CastMap" ? cast_map(node, inputs[0]) : dict_vectorizer(node, inputs[0])};
}

}  // namespace axrun::runtime
