#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "onnx_import/scope.h"

namespace axrun::onnx_import::gradient {

class Writer;
using Attributes = std::map<std::string, ir::Attribute>;

ir::Attribute integer(int64_t value);
ir::Attribute integers(std::vector<int64_t> values);
ir::Attribute text(std::string value);

/// A value of the graph that is being written, so that derivatives read like formulas. Arithmetic broadcasts.
struct Var {
  Writer* writer = nullptr;
  ir::ValueId id = ir::absent;

  bool present() const { return id != ir::absent; }
};

Var operator+(Var a, Var b);
Var operator-(Var a, Var b);
Var operator*(Var a, Var b);
Var operator/(Var a, Var b);
Var operator-(Var a);
Var operator+(Var a, double b);
Var operator-(double a, Var b);
Var operator*(Var a, double b);
Var operator/(double a, Var b);
Var operator<(Var a, double b);
Var operator>(Var a, double b);

/// Appends ordinary nodes to a graph and knows types and shapes where they can be known before a run.
class Writer {
 public:
  /// The version of ai.onnx that the nodes written here are of.
  static constexpr int version = 21;

  /// Refuses to write more than `most_nodes`.
  Writer(GraphDraft& draft, int64_t most_nodes);

  ir::Graph& graph() { return *draft_.graph; }
  const ir::ValueFact& fact(ir::ValueId id) const { return facts_.at(static_cast<size_t>(id)); }
  std::vector<ir::OperandInfo> operands_of(const ir::Node& node) const;
  Var var(ir::ValueId id) { return {this, id}; }
  Var none() { return {this, ir::absent}; }

  /// The only output of a new node.
  Var node(const std::string& op, const std::vector<Var>& inputs, Attributes attributes = {});
  std::vector<Var> nodes(const std::string& op, const std::vector<Var>& inputs, Attributes attributes,
                         size_t outputs);
  /// A copy of `node`, of its own version, with other inputs and outputs of its own.
  std::vector<Var> copy(const ir::Node& node, const std::vector<ir::ValueId>& inputs, size_t outputs);

  Var constant(ir::Tensor tensor);
  Var constant(const std::vector<int64_t>& integers) { return constant(ir::Tensor::from_i64(integers)); }
  /// A scalar of the type of `like`.
  Var number(double value, Var like);
  Var shape(Var x);                    ///< a constant where it can be
  Var length(Var x, int64_t axis);     ///< of one element
  Var filled(double value, Var like);  ///< of the type and shape of `like`
  Var reshape(Var x, Var shape);
  Var where(Var condition, Var x, Var y) { return node("Where", {condition, x, y}); }
  Var cast_like(Var x, Var like) { return node("CastLike", {x, like}); }
  /// The sum of what broadcasting x to the shape of g has repeated, in the shape of x.
  Var reduced_to(Var g, Var x);
  /// 0, 1, ... in the shape of x.
  Var positions(Var x);
  /// In the shape of x: the sum of all g whose position is an element's. One past the last is thrown away.
  Var added_at(Var g, Var positions, Var x);
  /// Records that `value` has the type and shape of `like`.
  void same_form(Var value, Var like);

 private:
  void conclude(const ir::Node& node);
  ir::ValueId add_value(const std::string& op);

  GraphDraft& draft_;
  const size_t most_nodes_;
  std::deque<ir::ValueFact> facts_;  ///< by value; references into it last
};

}  // namespace axrun::onnx_import::gradient
