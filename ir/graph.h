#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/api.h"
#include "ir/dim.h"
#include "ir/tensor.h"

namespace axrun::ir {

struct Graph;
class CustomOperator;
using ValueId = int32_t;
inline constexpr ValueId absent = -1;  ///< an optional input or output that a node leaves out

/// What a value is besides a dense tensor.
enum class ValueKind : uint8_t { tensor, sequence, optional, map };

/// One named value of a graph: an input, an initializer, or the output of a node.
struct Value {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::undefined;  ///< undefined while unknown
  std::optional<Dims> dims;                   ///< empty while the rank is unknown
  Tensor constant;                            ///< defined when the value is known before any run
  /// Small integer tensors whose elements are known as expressions of named sizes (Shape and what follows
  /// it).
  std::optional<Dims> elements;
};

struct Attribute {
  enum class Kind : uint8_t {
    integer,
    real,
    string,
    integers,
    reals,
    strings,
    tensor,
    tensors,
    graph,
    graphs
  };
  Kind kind = Kind::integer;
  int64_t integer = 0;
  double real = 0;
  std::string string;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  Tensor tensor;
  std::vector<Tensor> tensors;
  std::shared_ptr<Graph> graph;
  std::vector<std::shared_ptr<Graph>> graphs;
};

struct Node {
  std::string name;    ///< unique within its graph; made up from operator and output where the file has none
  std::string domain;  ///< "" for ai.onnx
  std::string op;
  int version = 0;  ///< the imported opset version of the domain
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;
  /// What the node means, where axrun has no such operator.
  std::shared_ptr<const CustomOperator> custom = {};
  bool rewritten = false;  ///< not of the model, but for nodes of it, with the name of one of them
};

/// Up to where a graph computes what another one does.
struct GraphLimits {
  /// No element of these values may have a larger magnitude, or be no number.
  std::map<ValueId, float> most;
  /// Says what is computed where one has, from the same inputs. Values of both have the same numbers.
  std::shared_ptr<const Graph> otherwise;
};

/// A graph in single-assignment form, its nodes in topological order. A body of If, Loop or Scan is a Graph
/// of its own, held by an attribute of its node; what it uses of the enclosing graph is listed in `captures`,
/// through every level of nesting, so that no name is ever looked up outwards.
struct AXRUN_API Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId>
      inputs;  ///< without those that have an initializer, unless the file's IR version makes it a default
  std::vector<ValueId> outputs;
  std::vector<std::pair<ValueId, ValueId>> captures;  ///< (value of the enclosing graph, value here)
  std::shared_ptr<const GraphLimits> limits;          ///< null: there are none

  ValueId add_value(Value value);
  /// Known before any run.
  ValueId add_constant(std::string name, Tensor tensor);
  Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
};

/// The bodies a node holds, in attribute order.
AXRUN_API std::vector<Graph*> bodies_of(Node& node);
AXRUN_API std::vector<const Graph*> bodies_of(const Node& node);
/// Every value a node reads: its inputs, then what its bodies capture. Without `absent`.
AXRUN_API std::vector<ValueId> reads_of(const Node& node);
/// Whether what is read is there before that, and everything is made once.
bool is_whole(const Graph& graph);

struct Model {
  std::shared_ptr<Graph> graph;
  int64_t ir_version = 0;
  std::map<std::string, int> opsets;  ///< domain to version, "" for ai.onnx
  std::string producer;
};

}  // namespace axrun::ir
