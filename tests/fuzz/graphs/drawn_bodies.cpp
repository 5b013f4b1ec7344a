// Nodes with bodies, and whole models.
#include <algorithm>

#include "ir/error.h"
#include "tests/fuzz/graphs/bounded_executor.h"
#include "tests/fuzz/graphs/growing.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using runtime::RuntimeValue;

ir::Attribute attribute_of(const Scope& body) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::graph;
  attribute.graph = body.shared();
  return attribute;
}

ir::Attribute integer(int64_t value) {
  ir::Attribute attribute;
  attribute.integer = value;
  return attribute;
}

bool is_tensor(const RuntimeValue& value) { return value.tensor.defined(); }

bool same_form(const RuntimeValue& a, const RuntimeValue& b) {
  return a.kind == b.kind && a.tensor.defined() == b.tensor.defined() &&
         (!a.tensor.defined() || a.tensor.type() == b.tensor.type());
}

/// Results of bodies are what their nodes make: anything else goes through Identity.
std::optional<ValueId> made_here(Scope& body, ValueId id) {
  ir::Node node = body.new_node("Identity");
  node.inputs = {id};
  if (!body.try_node(std::move(node), 1)) return std::nullopt;
  return body.graph().nodes.back().outputs[0];
}

/// A result of the body that looks like `wanted`, so that it may follow it or stand for it.
std::optional<ValueId> result_like(Scope& body, const RuntimeValue& wanted, bool same_shape) {
  const auto fits = [&](const RuntimeValue& value) {
    return same_form(value, wanted) &&
           (!same_shape || !wanted.tensor.defined() || value.tensor.shape() == wanted.tensor.shape());
  };
  auto found = body.find(fits);
  if (!found && wanted.tensor.defined()) {
    found = body.constant(draw_tensor(body.growth(), wanted.tensor.type(), wanted.tensor.shape()));
  }
  return found ? made_here(body, *found) : std::nullopt;
}

ValueId scalar(Scope& scope, ElementType type, int64_t low, int64_t high) {
  const auto fits = [&](const RuntimeValue& value) {
    return value.tensor.defined() && value.tensor.type() == type && value.tensor.size() == 1 &&
           value.tensor.get_int(0) >= low && value.tensor.get_int(0) <= high;
  };
  if (scope.random().chance(60)) {
    if (const auto found = scope.find(fits)) return *found;
  }
  Tensor tensor = Tensor::allocate(type, {});
  tensor.set_int(0, scope.random().integer(low, high));
  return scope.leaf(tensor);
}

bool grow_if(Scope& scope, int depth) {
  runtime::Random& random = scope.random();
  ir::Node node = scope.new_node("If");
  node.inputs = {scalar(scope, ElementType::boolean, 0, 1)};
  Scope yes(scope.growth(), &scope), no(scope.growth(), &scope);
  for (Scope* branch : {&yes, &no}) grow(*branch, static_cast<int>(random.integer(1, 3)), depth + 1);
  std::vector<ValueId> results = yes.results(static_cast<size_t>(random.integer(1, 2)));
  if (results.empty()) return false;
  std::vector<ValueId> others;
  for (const ValueId id : results) {
    const auto other = result_like(no, yes.known(id), random.chance(50));
    if (!other) return false;
    others.push_back(*other);
  }
  yes.graph().outputs = results;
  no.graph().outputs = others;
  const bool swapped = random.chance(50);
  node.attributes["then_branch"] = attribute_of(swapped ? no : yes);
  node.attributes["else_branch"] = attribute_of(swapped ? yes : no);
  return scope.try_node(std::move(node), static_cast<int>(results.size()));
}

bool grow_loop(Scope& scope, int depth) {
  runtime::Random& random = scope.random();
  ir::Node node = scope.new_node("Loop");
  const bool given = random.chance(40);
  node.inputs = {scalar(scope, ElementType::i64, 0, 3),
                 given ? scalar(scope, ElementType::boolean, 0, 1) : ir::absent};
  Scope body(scope.growth(), &scope);
  Tensor zero = Tensor::allocate(ElementType::i64, {}), truth = Tensor::allocate(ElementType::boolean, {});
  truth.set_int(0, 1);
  body.input(RuntimeValue(zero));
  const ValueId condition = body.input(RuntimeValue(truth));
  std::vector<ValueId> carried;
  for (int64_t k = random.integer(0, 2); k > 0; --k) {
    const auto found = scope.find([](const RuntimeValue&) { return true; });
    if (!found) continue;
    node.inputs.push_back(*found);
    carried.push_back(body.input(scope.known(*found)));
  }
  grow(body, static_cast<int>(random.integer(1, 3)), depth + 1);
  const auto goes_on =
      random.chance(80) ? made_here(body, condition) : result_like(body, RuntimeValue(truth), true);
  if (!goes_on) return false;
  std::vector<ValueId> outputs = {*goes_on};
  for (const ValueId id : carried) {
    const auto next = result_like(body, body.known(id), random.chance(70));
    if (!next) return false;
    outputs.push_back(*next);
  }
  for (const ValueId id : body.results(static_cast<size_t>(random.integer(carried.empty() ? 1 : 0, 2)))) {
    const bool is_new = std::find(outputs.begin(), outputs.end(), id) == outputs.end();
    if (is_new && is_tensor(body.known(id))) outputs.push_back(id);
  }
  if (outputs.size() < 2) return false;
  body.graph().outputs = outputs;
  node.attributes["body"] = attribute_of(body);
  return scope.try_node(std::move(node), static_cast<int>(outputs.size()) - 1);
}

bool grow_scan(Scope& scope, int depth) {
  runtime::Random& random = scope.random();
  if (scope.growth().opsets.at("") < 9) return false;
  const auto rows = scope.find([](const RuntimeValue& value) {
    return value.tensor.defined() && value.tensor.rank() > 0 && value.tensor.shape()[0] > 0;
  });
  const auto state = scope.find(is_tensor);
  if (!rows || !state) return false;
  ir::Node node = scope.new_node("Scan");
  node.attributes["num_scan_inputs"] = integer(1);
  node.inputs = {*state, *rows};
  Scope body(scope.growth(), &scope);
  const ValueId inner = body.input(scope.known(*state));
  body.input(RuntimeValue(runtime::take(scope.known(*rows).tensor, 0, 0, false)));
  grow(body, static_cast<int>(random.integer(1, 3)), depth + 1);
  const auto next = result_like(body, body.known(inner), true);
  if (!next) return false;
  std::vector<ValueId> outputs = {*next};
  for (const ValueId id : body.results(1)) {
    const bool is_new = std::find(outputs.begin(), outputs.end(), id) == outputs.end();
    if (is_new && is_tensor(body.known(id))) outputs.push_back(id);
  }
  body.graph().outputs = outputs;
  node.attributes["body"] = attribute_of(body);
  return scope.try_node(std::move(node), static_cast<int>(outputs.size()));
}

bool grow_map(Scope& scope, int depth) {
  if (scope.growth().opsets.at("") < 17) return false;
  const auto items = scope.find([](const RuntimeValue& value) {
    return value.kind == ir::ValueKind::sequence && value.items && !value.items->empty() &&
           is_tensor(value.items->front());
  });
  if (!items) return false;
  ir::Node node = scope.new_node("SequenceMap");
  node.inputs = {*items};
  Scope body(scope.growth(), &scope);
  body.input(scope.known(*items).items->front());
  grow(body, static_cast<int>(scope.random().integer(1, 2)), depth + 1);
  const std::vector<ValueId> outputs = body.results(1);
  if (outputs.empty() || !is_tensor(body.known(outputs[0]))) return false;
  body.graph().outputs = outputs;
  node.attributes["body"] = attribute_of(body);
  return scope.try_node(std::move(node), 1);
}

std::map<std::string, int> draw_opsets(runtime::Random& random) {
  const int newest = random.pick({17, 18, 19, 20, 21, 22, 23});
  return {{"", random.chance(75) ? newest : random.pick({9, 11, 12, 13, 14, 15, 16})},
          {"ai.onnx.ml", random.pick({2, 3, 4})},
          {"com.microsoft", 1}};
}

/// Declares the inputs' sizes: some by number, some by a name which is that of the same size in other places,
/// some by a name of their own.
void declare_sizes(Growth& growth, ir::Graph& graph, const std::vector<RuntimeValue>& inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    ir::Value& value = graph.value(graph.inputs[k]);
    value.dims = ir::to_dims(inputs[k].tensor.shape());
    for (size_t d = 0; d < value.dims->size(); ++d) {
      const int64_t size = inputs[k].tensor.shape()[d];
      if (growth.random.chance(60)) continue;
      (*value.dims)[d] =
          ir::Dim::symbol(growth.random.chance(60) ? "d" + std::to_string(size)
                                                   : "own" + std::to_string(k) + std::to_string(d));
    }
  }
}

std::vector<RuntimeValue> draw_other_inputs(Growth& growth, const ir::Graph& graph,
                                            const std::vector<RuntimeValue>& inputs) {
  std::map<std::string, int64_t> sizes;
  const bool other_sizes = growth.random.chance(50);
  std::vector<RuntimeValue> others;
  for (size_t k = 0; k < inputs.size(); ++k) {
    Shape shape = inputs[k].tensor.shape();
    const ir::Dims& dims = *graph.value(graph.inputs[k]).dims;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (dims[d].is_constant()) continue;
      const auto size =
          sizes.emplace(dims[d].to_string(), other_sizes ? growth.random.integer(0, 5) : shape[d]);
      shape[d] = size.first->second;
    }
    others.emplace_back(draw_tensor(growth, inputs[k].tensor.type(), shape));
  }
  return others;
}

/// Whether a run stays small: numbers of trips and sizes may have become large ones.
bool is_small(Growth& growth, const ir::Graph& graph, const std::vector<RuntimeValue>& inputs) {
  try {
    BoundedExecutor(growth.pool).run(graph, inputs, {});
  } catch (const Error&) {
    // Refused, as both tiers shall.
  } catch (const LargeRun&) {
    return false;
  }
  return true;
}

}  // namespace

bool grow_by_body(Scope& scope) {
  int depth = 0;
  for (const Scope* around = scope.outer(); around != nullptr; around = around->outer()) ++depth;
  switch (scope.random().integer(0, 6)) {
    case 0:
    case 1:
    case 2:
      return grow_if(scope, depth);
    case 3:
    case 4:
      return grow_loop(scope, depth);
    case 5:
      return grow_scan(scope, depth);
    default:
      return grow_map(scope, depth);
  }
}

GrownModel grow_model(uint64_t seed, uint64_t number, bool strict, runtime::ThreadPool& pool) {
  Growth growth{runtime::Random(seed * 0x9E3779B97F4A7C15u + number), pool, {}};
  growth.strict = strict;
  growth.opsets = draw_opsets(growth.random);
  Scope scope(growth, nullptr);
  // What is there to begin with: a text, a few sizes and floats, so that kinds meet early.
  for (int64_t k = growth.random.integer(1, 3); k > 0; --k)
    scope.leaf(draw_tensor(growth, draw_type(growth), draw_shape(growth)));
  grow(scope, static_cast<int>(growth.random.integer(3, 15)), 0);
  GrownModel grown;
  ir::Graph& graph = scope.graph();
  // Nearly always all that nothing reads is a result, and then everything is computed.
  const std::vector<ValueId> all = scope.results(~size_t{0});
  std::vector<bool> read(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes) {
    for (const ValueId id : ir::reads_of(node)) read[static_cast<size_t>(id)] = true;
  }
  for (const ValueId id : all) {
    const bool wanted = read[static_cast<size_t>(id)] ? growth.random.chance(8) : true;
    if (wanted) graph.outputs.push_back(id);
  }
  for (const ValueId id : graph.inputs) grown.inputs.push_back(scope.known(id));
  declare_sizes(growth, graph, grown.inputs);
  grown.other_inputs = draw_other_inputs(growth, graph, grown.inputs);
  if (!is_small(growth, graph, grown.other_inputs)) grown.other_inputs.clear();
  graph.name = "grown";
  grown.model.graph = scope.shared();
  grown.model.ir_version = 10;
  grown.model.opsets = growth.opsets;
  return grown;
}

}  // namespace axrun::tests
