#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "runtime/parallel.h"
#include "runtime/value.h"
#include "tests/operators/random.h"

namespace axrun::tests {

/// A model with what it is fed.
struct GrownModel {
  ir::Model model;
  std::vector<runtime::RuntimeValue> inputs;
  /// Other inputs: of other values, now and then of other sizes where the model names them.
  std::vector<runtime::RuntimeValue> other_inputs;
};

/// What is the same everywhere in a model that grows.
struct Growth {
  runtime::Random random;
  runtime::ThreadPool& pool;
  std::map<std::string, int> opsets;
  int names = 0;        ///< given so far
  int bad_nodes = 0;    ///< kept although their definition refuses them: the last one of the model
  bool strict = false;  ///< ONNX Runtime shall accept it: no kept faults, types that it knows
};

/// A graph that grows node by node, every value of it known: a node is kept when the reference evaluates it.
class Scope {
 public:
  Scope(Growth& growth, Scope* outer) : growth_(growth), outer_(outer) {
    graph_ = std::make_shared<ir::Graph>();
  }

  Growth& growth() { return growth_; }
  const Scope* outer() const { return outer_; }
  runtime::Random& random() { return growth_.random; }
  ir::Graph& graph() { return *graph_; }
  const std::shared_ptr<ir::Graph>& shared() const { return graph_; }
  const runtime::RuntimeValue& known(ir::ValueId id) const { return known_[static_cast<size_t>(id)]; }

  using Wanted = std::function<bool(const runtime::RuntimeValue&)>;
  /// One of the values here or around that are like that; newer ones rather than older ones.
  std::optional<ir::ValueId> find(const Wanted& wanted);
  /// A constant, or an input of the model.
  ir::ValueId leaf(ir::Tensor tensor);
  ir::ValueId constant(ir::Tensor tensor);
  /// An input of this graph, with what it is fed in the first run.
  ir::ValueId input(const runtime::RuntimeValue& value);
  /// Appends the node, with outputs of its own, when the reference evaluates it to something small. `wanted`:
  /// how many outputs.
  bool try_node(ir::Node node, int wanted);
  ir::Node new_node(std::string_view op, std::string_view domain = "");
  /// Any value that has not been read yet, or the newest ones.
  std::vector<ir::ValueId> results(size_t most);

 private:
  ir::ValueId add(const runtime::RuntimeValue& value);
  ir::ValueId captured(ir::ValueId outer);
  std::vector<runtime::RuntimeValue> evaluate(const ir::Node& node);

  Growth& growth_;
  Scope* outer_;
  std::shared_ptr<ir::Graph> graph_;
  std::vector<runtime::RuntimeValue> known_;
  std::map<ir::ValueId, ir::ValueId> captured_;
};

/// Values of small, coarse numbers, texts of one or two letters; now and then what is special to the type.
ir::Tensor draw_tensor(Growth& growth, ir::ElementType type, const ir::Shape& shape);
ir::ElementType draw_type(Growth& growth);
ir::ElementType draw_float(Growth& growth);
ir::ElementType draw_integer(Growth& growth);
ir::Shape draw_shape(Growth& growth);

/// One more node of some kind, or none where what was drawn is refused.
bool grow_by_recipe(Scope& scope);
bool grow_by_body(Scope& scope);
bool grow_by_case(Scope& scope);
/// Up to that many nodes of all kinds; bodies only where `depth` is below 2.
void grow(Scope& scope, int nodes, int depth);

/// The model of a seed, and of a number in it.
GrownModel grow_model(uint64_t seed, uint64_t number, bool strict, runtime::ThreadPool& pool);

}  // namespace axrun::tests
