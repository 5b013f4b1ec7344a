#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/evaluate.h"
#include "ir/operator.h"
#include "tests/ir/consulted.h"
#include "tests/ir/same_program.h"

namespace axrun::ir::test {

using Ints = std::vector<int64_t>;
using Reals = std::vector<double>;
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

inline Tensor reals(const Shape& shape, const std::vector<double>& values,
                    ElementType type = ElementType::f32) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

inline Tensor ints(const Shape& shape, const std::vector<int64_t>& values,
                   ElementType type = ElementType::i64) {
  Tensor tensor = Tensor::allocate(type, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

inline std::vector<double> to_reals(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.get_real(k));
  return values;
}

inline Tensor words(const Shape& shape, std::vector<std::string> values) {
  return Tensor::from_strings(shape, std::move(values));
}

inline std::vector<std::string> to_words(const Tensor& tensor) {
  return {tensor.strings(), tensor.strings() + tensor.size()};
}

/// Elements in f64, from [-magnitude, magnitude).
inline Tensor random_reals(std::mt19937& random, const Shape& shape, double magnitude = 1) {
  std::uniform_real_distribution<double> value(-magnitude, magnitude);
  Tensor x = Tensor::allocate(ElementType::f64, shape);
  for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, value(random));
  return x;
}

inline void expect_within(const Tensor& got, const Reals& want, double error = 1e-6) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(got.get_real(static_cast<int64_t>(k)), want[k], error) << k;
}

/// tolerance: of numbers beyond 1, relative.
inline void expect_near(const Tensor& got, const Reals& want, double tolerance = 2e-6) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (size_t k = 0; k < want.size(); ++k) {
    const double value = got.get_real(static_cast<int64_t>(k));
    if (std::isinf(want[k])) {
      EXPECT_EQ(value, want[k]) << k;
    } else {
      EXPECT_NEAR(value, want[k], tolerance * std::max(1.0, std::fabs(want[k]))) << k;
    }
  }
}

/// One node with its inputs, defined and evaluated as the reference tier does it.
class NodeUnderTest {
 public:
  NodeUnderTest(std::string op, int version, int outputs = 1) {
    node_.name = "n";
    node_.op = std::move(op);
    node_.version = version;
    for (int k = 0; k < outputs; ++k) node_.outputs.push_back(k);
  }

  NodeUnderTest& in_domain(const std::string& domain) {
    node_.domain = domain;
    return *this;
  }
  NodeUnderTest& input(const Tensor& value) {
    node_.inputs.push_back(static_cast<ValueId>(inputs_.size()));
    inputs_.push_back(value);
    return *this;
  }
  NodeUnderTest& absent_input() {
    node_.inputs.push_back(absent);
    inputs_.emplace_back();
    return *this;
  }
  NodeUnderTest& set(const std::string& name, int64_t value) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::integer;
    attribute.integer = value;
    return *this;
  }
  NodeUnderTest& set_real(const std::string& name, double value) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::real;
    attribute.real = value;
    return *this;
  }
  NodeUnderTest& set(const std::string& name, const std::string& value) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::string;
    attribute.string = value;
    return *this;
  }
  NodeUnderTest& set(const std::string& name, const std::vector<int64_t>& values) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::integers;
    attribute.integers = values;
    return *this;
  }
  NodeUnderTest& set_reals(const std::string& name, const std::vector<double>& values) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::reals;
    attribute.reals = values;
    return *this;
  }
  NodeUnderTest& set_strings(const std::string& name, const std::vector<std::string>& values) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::strings;
    attribute.strings = values;
    return *this;
  }
  NodeUnderTest& set(const std::string& name, const Tensor& value) {
    Attribute& attribute = node_.attributes[name];
    attribute.kind = Attribute::Kind::tensor;
    attribute.tensor = value;
    return *this;
  }

  /// What a definition is told at run time: everything.
  std::vector<OperandInfo> known() const {
    std::vector<OperandInfo> operands(inputs_.size());
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (!inputs_[k].defined()) continue;
      operands[k].present = true;
      operands[k].type = inputs_[k].type();
      operands[k].dims = to_dims(inputs_[k].shape());
      operands[k].constant = &inputs_[k];
    }
    return operands;
  }
  const Node& node() const { return node_; }

  std::vector<Tensor> run_all() const {
    require_told(node_, known());
    return run(define_node(node_, known()));
  }
  Tensor run() const { return run_all().at(0); }
  /// The output dims where input k has the given (symbolic) dims instead of its own and its value is unknown.
  Dims output_dims(size_t k, const Dims& dims) const {
    std::vector<OperandInfo> operands = known();
    operands[k].dims = dims;
    operands[k].constant = nullptr;
    const Program program = define_node(node_, operands);
    return program.tensors[static_cast<size_t>(program.outputs.at(0))].dims;
  }

 private:
  std::vector<Tensor> run(const Program& program) const {
    require_faithful(program);
    std::vector<Tensor> operands(program.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (program.operands[k] != none) operands[k] = inputs_[k];
    }
    return evaluate(program, operands);
  }

  Node node_;
  std::vector<Tensor> inputs_;
};

}  // namespace axrun::ir::test
