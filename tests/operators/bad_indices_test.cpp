// Indices that only the run knows and that lie outside: an error of the user's input with the node's name,
// not a read or write beyond the tensor.
#include <gtest/gtest.h>

#include "ir/error.h"
#include "runtime/parallel.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

ir::Tensor filled(ElementType type, const ir::Shape& shape, int64_t value) {
  ir::Tensor tensor = ir::Tensor::allocate(type, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, value);
  return tensor;
}

/// Runs the kernel of a case that is to fail; its message must name the node.
void expect_refusal(Case& test_case, const std::string& node_name) {
  test_case.nodes[0].name = node_name;
  const auto pool = ThreadPool::make(1);
  const StepUnderTest step(test_case, 1);
  const auto kernel = make_kernel(step.context());
  ASSERT_EQ(kernel->describe().find("interpreter"), std::string::npos) << kernel->describe();
  try {
    step.run(*kernel, *pool);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    EXPECT_NE(std::string(error.what()).find(node_name), std::string::npos) << error.what();
  }
}

TEST(BadLength, IsRefusedWhereItReverses) {
  for (const ElementType type : {ElementType::i32, ElementType::i64}) {
    for (const int64_t length : {5, 1000000}) {
      Case c;
      NodeBuilder(c, "ReverseSequence", 10)
          .input(filled(ElementType::f32, {4, 2, 3}, 1))
          .input(filled(type, {2}, length))
          .output();
      expect_refusal(c, "turner");
    }
  }
}

TEST(IntegerDivision, ByZeroIsRefused) {
  for (const ElementType type : {ElementType::i32, ElementType::i64}) {
    for (const int64_t size : {1, 3, 2000}) {
      Case c;
      ir::Tensor divisor = filled(type, {size}, 3);
      divisor.set_int(size - 1, 0);
      NodeBuilder(c, "Div", 14).input(filled(type, {size}, 7)).input(std::move(divisor)).output();
      expect_refusal(c, "divider");
    }
  }
}

class BadIndex : public testing::TestWithParam<int64_t> {};

TEST_P(BadIndex, IsRefusedWhereItGathers) {
  for (const char* op : {"Gather", "GatherElements", "GatherND"}) {
    for (ElementType type : {ElementType::i32, ElementType::i64}) {
      SCOPED_TRACE(op);
      Case c;
      NodeBuilder(c, op, 13)
          .input(filled(ElementType::f32, {4, 1}, 1))
          .input(filled(type, {1, 1}, GetParam()))
          .output();
      expect_refusal(c, "picker");
    }
  }
}

TEST_P(BadIndex, IsRefusedWhereItScatters) {
  for (bool constant : {false, true}) {
    for (const char* op : {"ScatterElements", "ScatterND"}) {
      SCOPED_TRACE(op);
      Case c;
      NodeBuilder(c, op, 18)
          .input(filled(ElementType::f32, {4, 1}, 1))
          .input(filled(ElementType::i64, {1, 1}, GetParam()), constant)
          .input(filled(ElementType::f32, {1, 1}, 7))
          .output();
      expect_refusal(c, "thrower");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Values, BadIndex, testing::Values(4, -5, 1000000, -2147483647));

TEST(BadEmbedding, IsRefused) {
  for (int64_t index : {5, -1}) {
    Case c;
    NodeBuilder node(c, "EmbedLayerNormalization", 1, "com.microsoft");
    node.input(filled(ElementType::i32, {1, 2}, index)).absent();
    node.input(filled(ElementType::f32, {5, 3}, 1)).input(filled(ElementType::f32, {9, 3}, 1)).absent();
    node.input(filled(ElementType::f32, {3}, 1)).input(filled(ElementType::f32, {3}, 1));
    node.output();
    expect_refusal(c, "embedding");
  }
}

TEST(BadPosition, IsRefusedWhereItTurns) {
  for (const int64_t position : {5, -1}) {
    SCOPED_TRACE(position);
    const ir::Tensor cache = filled(ElementType::f32, {5, 2}, 1);
    Case of_microsoft;
    NodeBuilder(of_microsoft, "RotaryEmbedding", 1, "com.microsoft")
        .input(filled(ElementType::f32, {1, 1, 4}, 1))
        .input(filled(ElementType::i64, {1}, position))
        .input(cache)
        .input(cache)
        .output();
    expect_refusal(of_microsoft, "offset");
    Case of_onnx;
    NodeBuilder(of_onnx, "RotaryEmbedding", 23)
        .input(filled(ElementType::f32, {1, 1, 1, 4}, 1))
        .input(cache)
        .input(cache)
        .input(filled(ElementType::i64, {1, 1}, position))
        .output();
    expect_refusal(of_onnx, "turned");
  }
}

TEST(BadPosition, OfACachedSequenceIsRefused) {
  for (const int64_t length : {7, 0}) {
    SCOPED_TRACE(length);
    Case c;
    NodeBuilder node(c, "GroupQueryAttention", 1, "com.microsoft");
    node.integer("num_heads", 1).integer("kv_num_heads", 1).integer("do_rotary", 1);
    for (int k = 0; k < 3; ++k) node.input(filled(ElementType::f32, {1, 2, 4}, 1));
    for (int k = 0; k < 2; ++k) node.input(filled(ElementType::f32, {1, 1, 3, 4}, 1));
    node.input(filled(ElementType::i32, {1}, length)).constant(filled(ElementType::i32, {1}, 5));
    for (int k = 0; k < 2; ++k) node.input(filled(ElementType::f32, {6, 2}, 1));
    node.output();
    expect_refusal(c, "cached");
  }
}

TEST(BadLength, OfABackwardSequenceIsRefused) {
  for (const int64_t length : {4, -5}) {
    SCOPED_TRACE(length);
    Case c;
    NodeBuilder node(c, "GRU", 14);
    node.input(filled(ElementType::f32, {3, 1, 2}, 1)).input(filled(ElementType::f32, {1, 6, 2}, 1));
    node.input(filled(ElementType::f32, {1, 6, 2}, 1)).absent().input(filled(ElementType::i32, {1}, length));
    node.text("direction", "reverse").integer("hidden_size", 2);
    node.output();
    expect_refusal(c, "backward");
  }
}

}  // namespace
}  // namespace axrun::runtime
