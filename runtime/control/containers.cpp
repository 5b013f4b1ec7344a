// Sequences and optionals (ONNX operator specification, ai.onnx 11 and later).
#include <fmt/format.h>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {
namespace {

using Values = std::vector<RuntimeValue>;

const Values& items_of(const ir::Node& node, const RuntimeValue& value) {
  if (value.kind != ir::ValueKind::sequence || !value.items) fail_at(node, "the input is not a sequence");
  return *value.items;
}

/// Position in -size..size-1 (one more for insertion) made non-negative.
size_t position_of(const ir::Node& node, const RuntimeValue& value, size_t size, bool insertion) {
  const auto count = static_cast<int64_t>(size);
  const int64_t position = scalar_of(node, value, "the position");
  if (position < -count || position >= count + (insertion ? 1 : 0)) {
    fail_at(node, fmt::format("position {} is out of range for {} elements", position, count));
  }
  return static_cast<size_t>(position < 0 ? position + count : position);
}

const RuntimeValue& input(const ir::Node& node, const Values& inputs, size_t k) {
  if (k >= inputs.size() || !inputs[k].present()) fail_at(node, fmt::format("input {} is missing", k));
  return inputs[k];
}

RuntimeValue split_to_sequence(const ir::Node& node, const Values& inputs) {
  const RuntimeValue& x = input(node, inputs, 0);
  const int axis = normal_axis(node, integer_attribute(node, "axis", 0), x.tensor.rank());
  const int64_t extent = x.tensor.shape()[static_cast<size_t>(axis)];
  const bool has_split = inputs.size() > 1 && inputs[1].present();
  const bool keep = has_split || integer_attribute(node, "keepdims", 1) != 0;
  std::vector<int64_t> sizes;
  if (!has_split) {
    sizes.assign(static_cast<size_t>(extent), 1);
  } else if (inputs[1].tensor.rank() == 0) {
    const int64_t step = scalar_of(node, inputs[1], "split");
    if (step < 1) fail_at(node, "split must be positive");
    for (int64_t done = 0; done < extent; done += step) sizes.push_back(std::min(step, extent - done));
  } else {
    sizes = inputs[1].tensor.to_ints();
  }
  Values parts;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - begin)
      fail_at(node, fmt::format("split sizes do not fit {} elements", extent));
    ir::Tensor part = keep ? slice(x.tensor, axis, begin, begin + size) : take(x.tensor, axis, begin, false);
    parts.emplace_back(std::move(part), x.type);
    begin += size;
  }
  if (begin != extent) fail_at(node, fmt::format("split sizes do not add up to {}", extent));
  return RuntimeValue::sequence(std::move(parts));
}

RuntimeValue concat_from_sequence(const ir::Node& node, const Values& inputs) {
  const Values& items = items_of(node, input(node, inputs, 0));
  if (items.empty()) fail_at(node, "the sequence is empty");
  const bool new_axis = integer_attribute(node, "new_axis", 0) != 0;
  const int rank = items[0].tensor.rank() + (new_axis ? 1 : 0);
  const int axis = normal_axis(node, integer_attribute(node, "axis", 0), rank);
  std::vector<ir::Tensor> parts;
  for (const RuntimeValue& item : items) parts.push_back(item.tensor);
  return {new_axis ? stack(parts, axis) : concatenate(parts, axis), items[0].type};
}

RuntimeValue sequence_map_result(const std::vector<Values>& rows, size_t output) {
  Values column;
  for (const Values& row : rows) column.push_back(row[output]);
  return RuntimeValue::sequence(std::move(column));
}

Values sequence_map(const ir::Node& node, const Values& inputs, const RunBody& run_body) {
  const ir::Graph& body = body_of(node, "body");
  const size_t length = items_of(node, input(node, inputs, 0)).size();
  if (body.inputs.size() != inputs.size()) fail_at(node, "the body's inputs do not match");
  std::vector<Values> rows;
  for (size_t i = 0; i < length; ++i) {
    Values arguments;
    for (const RuntimeValue& value : inputs) {
      if (value.kind != ir::ValueKind::sequence) {
        arguments.push_back(value);
        continue;
      }
      if (value.items->size() != length) fail_at(node, "sequences of different lengths");
      arguments.push_back((*value.items)[i]);
    }
    rows.emplace_back(body.outputs.size());
    run_body(body, arguments, rows.back());
  }
  Values results;
  for (size_t k = 0; k < body.outputs.size(); ++k) results.push_back(sequence_map_result(rows, k));
  return results;
}

}  // namespace

Values run_container_operator(const ir::Node& node, const Values& inputs, const RunBody& run_body) {
  const std::string& op = node.op;
  if (op == "Identity") return {input(node, inputs, 0)};
  if (op == "SequenceEmpty") return {RuntimeValue::sequence({})};
  if (op == "SequenceConstruct") return {RuntimeValue::sequence(inputs)};
  if (op == "SplitToSequence") return {split_to_sequence(node, inputs)};
  if (op == "ConcatFromSequence") return {concat_from_sequence(node, inputs)};
  if (op == "SequenceMap") return sequence_map(node, inputs, run_body);
  if (op == "SequenceLength") {
    const auto size = static_cast<int64_t>(items_of(node, input(node, inputs, 0)).size());
    ir::Tensor length = ir::Tensor::allocate(ir::ElementType::i64, {});
    length.set_int(0, size);
    return {RuntimeValue(std::move(length))};
  }
  if (op == "SequenceAt") {
    const Values& items = items_of(node, input(node, inputs, 0));
    return {items[position_of(node, input(node, inputs, 1), items.size(), false)]};
  }
  if (op == "SequenceErase") {
    Values items = items_of(node, input(node, inputs, 0));
    if (items.empty()) fail_at(node, "the sequence is empty");
    const size_t position = inputs.size() > 1 && inputs[1].present()
                                ? position_of(node, inputs[1], items.size(), false)
                                : items.size() - 1;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(position));
    return {RuntimeValue::sequence(std::move(items))};
  }
  if (op == "SequenceInsert") {
    Values items = items_of(node, input(node, inputs, 0));
    const RuntimeValue& item = input(node, inputs, 1);
    const size_t position = inputs.size() > 2 && inputs[2].present()
                                ? position_of(node, inputs[2], items.size(), true)
                                : items.size();
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(position), item);
    return {RuntimeValue::sequence(std::move(items))};
  }
  if (op == "Optional") {
    return {RuntimeValue::optional(inputs.empty() || !inputs[0].present() ? Values() : Values{inputs[0]})};
  }
  if (op == "OptionalHasElement") {
    const bool given = !inputs.empty() && inputs[0].present();
    const bool has = given && (inputs[0].kind != ir::ValueKind::optional || !inputs[0].items->empty());
    ir::Tensor flag = ir::Tensor::allocate(ir::ElementType::boolean, {});
    flag.set_int(0, has ? 1 : 0);
    return {RuntimeValue(std::move(flag))};
  }
  if (op == "OptionalGetElement") {
    const RuntimeValue& value = input(node, inputs, 0);
    if (value.kind != ir::ValueKind::optional) return {value};
    if (value.items->empty()) fail_at(node, "the optional is empty");
    return {(*value.items)[0]};
  }
  throw Error(Fault::unsupported, fmt::format("{} '{}' is not supported", node.op, node.name));
}

}  // namespace axrun::runtime
