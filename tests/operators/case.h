#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "tests/operators/random.h"

namespace axrun::runtime {

/// A chain of nodes with its data: what one step of a plan computes. The step's results are the outputs of
/// the last node. Values are numbered; those of the inputs have tensors.
struct Case {
  std::vector<ir::Node> nodes;
  std::vector<ir::Tensor> values;  ///< by id; undefined for what the nodes compute
  std::vector<bool> constant;      ///< by id: known when the plan is made
  /// Allowed error of floats, relative to the largest magnitude of the result.
  double tolerance = 2e-5;

  ir::ValueId add(ir::Tensor tensor, bool is_constant);
  std::string describe() const;
};

/// Appends one node to a case.
class NodeBuilder {
 public:
  NodeBuilder(Case& to, std::string_view op, int version, std::string_view domain = "");

  NodeBuilder& input(ir::Tensor tensor, bool is_constant = false);
  NodeBuilder& constant(ir::Tensor tensor) { return input(std::move(tensor), true); }
  NodeBuilder& value(ir::ValueId id);
  NodeBuilder& absent() { return value(ir::absent); }

  NodeBuilder& integer(const char* name, int64_t value);
  NodeBuilder& real(const char* name, double value);
  NodeBuilder& text(const char* name, std::string value);
  NodeBuilder& integers(const char* name, std::vector<int64_t> values);
  NodeBuilder& reals(const char* name, std::vector<double> values);
  NodeBuilder& texts(const char* name, std::vector<std::string> values);
  NodeBuilder& tensor(const char* name, ir::Tensor value);

  ir::ValueId output();
  void no_output();

 private:
  ir::Node& node() { return case_.nodes[position_]; }
  ir::Attribute& attribute(const char* name, ir::Attribute::Kind kind);
  Case& case_;
  size_t position_;
};

}  // namespace axrun::runtime
