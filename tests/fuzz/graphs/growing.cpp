// Graphs that grow: values, leaves, and nodes that are kept.
#include "tests/fuzz/graphs/growing.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"
#include "tests/fuzz/graphs/bounded_executor.h"

namespace axrun::tests {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using runtime::RuntimeValue;

namespace {

constexpr int64_t most_elements = 1024;
/// Inputs of a model; further leaves are constants.
constexpr size_t most_inputs = 6;

int64_t elements_of(const RuntimeValue& value) {
  int64_t count = value.tensor.defined() ? value.tensor.size() : 0;
  if (value.items) {
    for (const RuntimeValue& item : *value.items) count += 1 + elements_of(item);
  }
  return count;
}

/// The element type that a value has, or that of what it holds.
ElementType type_in(const RuntimeValue& value) {
  if (value.tensor.defined()) return value.tensor.type();
  if (value.items && !value.items->empty()) return type_in(value.items->front());
  return ElementType::undefined;
}

}  // namespace

ValueId Scope::add(const RuntimeValue& value) {
  ir::Value described;
  described.name = "v" + std::to_string(growth_.names++);
  described.kind = value.kind;
  described.type = type_in(value);
  known_.push_back(value);
  return graph_->add_value(described);
}

ValueId Scope::constant(Tensor tensor) {
  const ValueId id = add(RuntimeValue(tensor));
  graph_->value(id).constant = std::move(tensor);
  return id;
}

ValueId Scope::input(const RuntimeValue& value) {
  const ValueId id = add(value);
  graph_->inputs.push_back(id);
  return id;
}

ValueId Scope::captured(ValueId outer) {
  const auto found = captured_.find(outer);
  if (found != captured_.end()) return found->second;
  const ValueId id = add(outer_->known(outer));
  graph_->captures.emplace_back(outer, id);
  captured_.emplace(outer, id);
  return id;
}

ValueId Scope::leaf(Tensor tensor) {
  if (random().chance(outer_ != nullptr ? 70 : 40)) return constant(std::move(tensor));
  if (outer_ != nullptr) return captured(outer_->leaf(std::move(tensor)));
  if (graph_->inputs.size() >= most_inputs) return constant(std::move(tensor));
  return input(RuntimeValue(std::move(tensor)));
}

std::optional<ValueId> Scope::find(const Wanted& wanted) {
  if (outer_ != nullptr && random().chance(30)) {
    if (const auto outer = outer_->find(wanted)) return captured(*outer);
  }
  std::vector<ValueId> found;
  for (size_t id = 0; id < known_.size(); ++id) {
    if (known_[id].present() && wanted(known_[id])) found.push_back(static_cast<ValueId>(id));
  }
  if (found.empty()) {
    if (outer_ == nullptr) return std::nullopt;
    const auto outer = outer_->find(wanted);
    return outer ? std::optional(captured(*outer)) : std::nullopt;
  }
  const auto last = static_cast<int64_t>(found.size()) - 1;
  const int64_t at =
      random().chance(50) ? std::max<int64_t>(0, last - random().integer(0, 2)) : random().integer(0, last);
  return found[static_cast<size_t>(at)];
}

ir::Node Scope::new_node(std::string_view op, std::string_view domain) {
  ir::Node node;
  node.op = op;
  node.domain = domain;
  node.version = growth_.opsets.at(node.domain);
  return node;
}

std::vector<RuntimeValue> Scope::evaluate(const ir::Node& node) {
  std::vector<RuntimeValue> inputs(node.inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (node.inputs[k] != ir::absent) inputs[k] = known(node.inputs[k]);
  }
  BoundedExecutor executor(growth_.pool);
  if (ir::is_graph_operator(node.domain, node.op)) {
    return run_graph_operator(node, inputs,
                              [&](const ir::Graph& body, const std::vector<RuntimeValue>& arguments,
                                  std::vector<RuntimeValue>& results) {
                                std::vector<RuntimeValue> captures;
                                for (const auto& [outer, inner] : body.captures)
                                  captures.push_back(known(outer));
                                results = executor.run(body, arguments, captures);
                              });
  }
  if (node.op == "Identity" && !inputs.empty() && inputs[0].kind != ir::ValueKind::tensor) return {inputs[0]};
  return executor.compute(node, inputs);
}

bool Scope::try_node(ir::Node node, int wanted) {
  node.outputs.assign(static_cast<size_t>(wanted), 0);  // that they are wanted is all that matters yet
  std::vector<RuntimeValue> results;
  bool refused = false;
  try {
    results = evaluate(node);
  } catch (const Error& error) {
    if (error.fault() == Fault::internal) throw;
    refused = true;
  } catch (const LargeRun&) {
    return false;
  }
  if (refused) {
    // One in some models is refused by both tiers in the end.
    if (outer_ != nullptr || growth_.strict || growth_.bad_nodes > 0 || !random().chance(1)) return false;
    ++growth_.bad_nodes;
    results.assign(static_cast<size_t>(wanted), RuntimeValue());
  }
  results.resize(static_cast<size_t>(wanted));
  for (const RuntimeValue& result : results) {
    if (elements_of(result) > most_elements) return false;
  }
  node.name = "n" + std::to_string(growth_.names++);
  for (size_t k = 0; k < results.size(); ++k) {
    const bool left_out = !refused && (!results[k].present() || (k > 0 && random().chance(25)));
    node.outputs[k] = left_out ? ir::absent : add(results[k]);
  }
  graph_->nodes.push_back(std::move(node));
  return true;
}

std::vector<ValueId> Scope::results(size_t most) {
  std::vector<bool> read(graph_->values.size(), false);
  std::vector<ValueId> made;
  for (const ir::Node& node : graph_->nodes) {
    for (const ValueId id : ir::reads_of(node)) read[static_cast<size_t>(id)] = true;
    for (const ValueId id : node.outputs) {
      if (id != ir::absent) made.push_back(id);
    }
  }
  // What nothing reads comes first, and of each the newest.
  std::reverse(made.begin(), made.end());
  std::stable_sort(made.begin(), made.end(), [&](ValueId a, ValueId b) {
    return !read[static_cast<size_t>(a)] && read[static_cast<size_t>(b)];
  });
  if (made.size() > most) made.resize(most);
  return made;
}

ElementType draw_float(Growth& growth) {
  if (growth.random.chance(growth.strict ? 90 : 75)) return ElementType::f32;
  return growth.random.pick({ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::f64});
}

ElementType draw_integer(Growth& growth) {
  if (growth.random.chance(60)) return ElementType::i64;
  return growth.random.pick({ElementType::i32, ElementType::i8, ElementType::u8, ElementType::i32,
                             ElementType::i16, ElementType::u16, ElementType::u32, ElementType::u64});
}

ElementType draw_type(Growth& growth) {
  const int64_t kind = growth.random.integer(0, 9);
  if (kind < 4) return draw_float(growth);
  if (kind < 7) return draw_integer(growth);
  return kind < 8 ? ElementType::boolean : ElementType::string;
}

Shape draw_shape(Growth& growth) {
  Shape shape = growth.random.shape(0, growth.random.chance(30) ? 4 : 2, 4);
  for (int64_t& extent : shape) {
    if (growth.random.chance(4)) extent = 0;
  }
  return shape;
}

Tensor draw_tensor(Growth& growth, ElementType type, const Shape& shape) {
  // Shapes are taken from tensors without elements, too, whose other extents may be large.
  constexpr int64_t largest = 1 << 16;
  if (ir::element_count(shape) > largest) return draw_tensor(growth, type, draw_shape(growth));
  runtime::Random& random = growth.random;
  Tensor tensor = Tensor::allocate(type, shape);
  const bool special = random.chance(6);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (type == ElementType::string) {
      tensor.strings()[i] = random.pick<const char*>({"a", "b", "c", "ab", "", "d", "A b", "ca", "1", "2"});
    } else if (ir::is_float(type)) {
      tensor.set_real(i, 0.25 * static_cast<double>(random.integer(-8, 8)));
      if (special && random.chance(20)) {
        tensor.set_real(i, random.pick({-0.0, 1e-10, 1000.0, -1000.0, HUGE_VAL, -HUGE_VAL, std::nan("")}));
      }
    } else if (type == ElementType::boolean) {
      tensor.set_int(i, random.integer(0, 1));
    } else {
      const bool is_signed = type == ElementType::i64 || type == ElementType::i32 ||
                             type == ElementType::i16 || type == ElementType::i8;
      tensor.set_int(i, random.integer(is_signed ? -3 : 0, 5));
      if (special && random.chance(20)) tensor.set_int(i, random.pick<int64_t>({-1, 127, 255, 1 << 20}));
    }
  }
  return tensor;
}

void grow(Scope& scope, int nodes, int depth) {
  for (int tries = 0; tries < 12 * nodes && static_cast<int>(scope.graph().nodes.size()) < nodes; ++tries) {
    if (scope.growth().bad_nodes > 0) return;
    const int64_t kind = scope.random().integer(0, 99);
    if (kind < 7 && depth < 2) {
      grow_by_body(scope);
    } else if (kind < 10 && depth == 0) {
      grow_by_case(scope);
    } else {
      grow_by_recipe(scope);
    }
  }
}

}  // namespace axrun::tests
