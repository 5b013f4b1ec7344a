// What bodies of Scan and Loop give goes where it belongs, whether the body writes it there or not.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;

Tensor filled(const Shape& shape, double first) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_real(i, first + static_cast<double>(i));
  return tensor;
}

std::vector<double> reals(const RuntimeValue& value) {
  std::vector<double> list;
  for (int64_t i = 0; i < value.tensor.size(); ++i) list.push_back(value.tensor.get_real(i));
  return list;
}

/// A Scan or Loop whose body is a function of ours.
struct Operator {
  ir::Node node;
  std::shared_ptr<ir::Graph> body = std::make_shared<ir::Graph>();

  Operator(const std::string& op, size_t inputs, size_t outputs) {
    node.op = op;
    node.name = "n";
    node.version = 16;
    const auto values = [&](size_t count) {
      std::vector<ir::ValueId> ids;
      for (size_t k = 0; k < count; ++k) ids.push_back(body->add_value({}));
      return ids;
    };
    body->inputs = values(inputs);
    body->outputs = values(outputs);
    ir::Attribute graph;
    graph.kind = ir::Attribute::Kind::graph;
    graph.graph = body;
    node.attributes["body"] = graph;
  }
  void integers(const std::string& name, const std::vector<int64_t>& values) {
    ir::Attribute attribute;
    attribute.kind = ir::Attribute::Kind::integers;
    attribute.integers = values;
    node.attributes[name] = attribute;
  }
  void scanned(int64_t count) {
    ir::Attribute attribute;
    attribute.kind = ir::Attribute::Kind::integer;
    attribute.integer = count;
    node.attributes["num_scan_inputs"] = attribute;
  }
};

/// Gives a value as plans do: in place where what is offered fits (or not at all), else in memory of its own.
void give(RuntimeValue& output, const Tensor& value, bool in_place) {
  const bool fits =
      in_place && output.tensor.type() == value.type() && output.tensor.shape() == value.shape();
  if (!fits) {
    output = RuntimeValue(value.clone());
    return;
  }
  for (int64_t i = 0; i < value.size(); ++i) output.tensor.set_real(i, value.get_real(i));
}

Tensor sum(const Tensor& a, const Tensor& b) {
  Tensor result = Tensor::allocate(a.type(), a.shape());
  for (int64_t i = 0; i < a.size(); ++i) result.set_real(i, a.get_real(i) + b.get_real(i));
  return result;
}

class BodyResults : public testing::TestWithParam<bool> {};

/// state [2] + x[t] [2] is the new state, and what is emitted.
TEST_P(BodyResults, ScanAlongAnyAxisInEitherDirection) {
  const Tensor x = filled({3, 2}, 1), start = filled({2}, 10);
  const std::vector<std::vector<double>> sums = {{11, 13}, {14, 17}, {19, 23}};
  for (const int64_t axis : {0, 1, -1, -2}) {
    for (const int64_t backwards : {0, 1}) {
      Operator scan("Scan", 2, 2);
      scan.scanned(1);
      scan.integers("scan_output_axes", {axis});
      scan.integers("scan_output_directions", {backwards});
      std::set<const void*> states;
      const auto results = run_scan(
          scan.node, {start, x},
          [&](const ir::Graph&, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
            const Tensor next = sum(inputs[0].tensor, inputs[1].tensor);
            const void* before = inputs[0].tensor.data();
            give(outputs[0], next, GetParam());
            EXPECT_NE(outputs[0].tensor.data(), before) << "a state that is read may not be written";
            give(outputs[1], next, GetParam());
            states.insert(outputs[0].tensor.data());
          });
      EXPECT_EQ(reals(results[0]), sums[2]);
      EXPECT_EQ(reals(RuntimeValue(start)), (std::vector<double>{10, 11})) << "it is the caller's";
      if (GetParam()) {
        EXPECT_EQ(states.size(), 2u) << "two buffers take turns";
      }
      const bool first = axis == 0 || axis == -2;
      ASSERT_EQ(results[1].tensor.shape(), (first ? Shape{3, 2} : Shape{2, 3}));
      for (int64_t t = 0; t < 3; ++t) {
        for (int64_t i = 0; i < 2; ++i) {
          const int64_t at = backwards != 0 ? 2 - t : t;
          EXPECT_EQ(results[1].tensor.get_real(first ? at * 2 + i : i * 3 + at),
                    sums[static_cast<size_t>(t)][static_cast<size_t>(i)]);
        }
      }
    }
  }
}

/// Loops that end by their limit or by their condition, after fewer or more runs than are expected.
TEST_P(BodyResults, LoopStacksAsManySlicesAsThereAre) {
  for (const int64_t runs : {1, 5, 16, 17, 70}) {
    for (const bool bounded : {false, true}) {
      Operator loop("Loop", 3, 3);
      const double absurd = 0x1p40;
      const Tensor limit = Tensor::scalar(ElementType::i64, bounded ? static_cast<double>(runs) : absurd);
      const auto results = run_loop(
          loop.node, {limit, {}, filled({2}, 0)},
          [&](const ir::Graph&, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
            const int64_t i = inputs[0].tensor.get_int(0);
            EXPECT_EQ(inputs[1].tensor.get_int(0), 1);
            const bool more = bounded || i + 1 < runs;
            give(outputs[0], Tensor::scalar(ElementType::boolean, more ? 1 : 0), GetParam());
            const Tensor next = sum(inputs[2].tensor, filled({2}, 1));
            give(outputs[1], next, GetParam());
            give(outputs[2], next, GetParam());
          });
      ASSERT_EQ(results.size(), 2u);
      const auto last = static_cast<double>(runs);
      EXPECT_EQ(reals(results[0]), (std::vector<double>{last, 2 * last + 1}));
      ASSERT_EQ(results[1].tensor.shape(), (Shape{runs, 2}));
      for (int64_t t = 0; t < runs; ++t) {
        EXPECT_EQ(results[1].tensor.get_real(2 * t), static_cast<double>(t + 1));
        EXPECT_EQ(results[1].tensor.get_real(2 * t + 1), static_cast<double>(2 * t + 3));
      }
    }
  }
}

/// The state is one longer after each run: nothing that was offered fits.
TEST_P(BodyResults, StatesMayGrow) {
  Operator loop("Loop", 3, 2);
  const auto results = run_loop(
      loop.node, {Tensor::scalar(ElementType::i64, 6), {}, filled({1}, 5)},
      [&](const ir::Graph&, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
        give(outputs[0], Tensor::scalar(ElementType::boolean, 1), GetParam());
        give(outputs[1], filled({inputs[2].tensor.size() + 1}, 5), GetParam());
      });
  EXPECT_EQ(reals(results[0]), (std::vector<double>{5, 6, 7, 8, 9, 10, 11}));
}

/// Two states change places; both are read while both are written.
TEST_P(BodyResults, StatesMayChangePlaces) {
  Operator loop("Loop", 4, 3);
  const auto results = run_loop(
      loop.node, {Tensor::scalar(ElementType::i64, 5), {}, filled({2}, 1), filled({2}, 7)},
      [&](const ir::Graph&, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs) {
        give(outputs[0], Tensor::scalar(ElementType::boolean, 1), GetParam());
        give(outputs[1], inputs[3].tensor, GetParam());
        give(outputs[2], inputs[2].tensor, GetParam());
      });
  EXPECT_EQ(reals(results[0]), (std::vector<double>{7, 8}));
  EXPECT_EQ(reals(results[1]), (std::vector<double>{1, 2}));
}

TEST_P(BodyResults, SlicesThatDifferAreTheUsersError) {
  Operator scan("Scan", 1, 1);
  scan.scanned(1);
  const auto run = [&](const std::function<RuntimeValue(int)>& emitted) {
    int runs = 0;
    run_scan(scan.node, {filled({3, 2}, 1)},
             [&](const ir::Graph&, const std::vector<RuntimeValue>&, std::vector<RuntimeValue>& outputs) {
               const RuntimeValue value = emitted(runs++);
               if (value.present() && value.kind == ir::ValueKind::tensor)
                 give(outputs[0], value.tensor, GetParam());
               else
                 outputs[0] = value;
             });
  };
  EXPECT_NO_THROW(run([](int) { return RuntimeValue(filled({4}, 1)); }));
  EXPECT_THROW(run([](int k) { return RuntimeValue(filled({4 + k}, 1)); }), Error);
  EXPECT_THROW(run([](int) { return RuntimeValue::sequence({}); }), Error);
}

INSTANTIATE_TEST_SUITE_P(InPlaceOrNot, BodyResults, testing::Bool());

}  // namespace
}  // namespace axrun::tests
