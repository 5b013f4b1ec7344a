#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "ir/infer.h"
#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

constexpr int64_t int_min = std::numeric_limits<int64_t>::min();
constexpr int64_t int_max = std::numeric_limits<int64_t>::max();

Tensor iota(const Shape& shape) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0);
  return ints(shape, values);
}

/// One dimension of Slice as the specification words it.
std::vector<int64_t> sliced(int64_t size, int64_t start, int64_t end, int64_t step) {
  const auto wrapped = [&](int64_t v) { return v < 0 ? v + size : v; };
  std::vector<int64_t> picked;
  if (size == 0) return picked;
  if (step > 0) {
    start = std::clamp<int64_t>(wrapped(start), 0, size);
    end = std::clamp<int64_t>(wrapped(end), 0, size);
    for (int64_t i = start; i < end; i += step) picked.push_back(i);
  } else {
    start = std::clamp<int64_t>(wrapped(start), 0, size - 1);
    end = std::clamp<int64_t>(wrapped(end), -1, size - 1);
    for (int64_t i = start; i > end; i += step) picked.push_back(i);
  }
  return picked;
}

NodeUnderTest slice(const Tensor& x, int64_t start, int64_t end, int64_t axis, int64_t step) {
  NodeUnderTest node("Slice", 13);
  node.input(x).input(ints({1}, {start})).input(ints({1}, {end})).input(ints({1}, {axis}));
  node.input(ints({1}, {step}));
  return node;
}

TEST(Slice, AgreesWithTheSpecificationForEveryStartEndAndStep) {
  for (int64_t size = 0; size <= 4; ++size) {
    for (int64_t start = -6; start <= 6; ++start) {
      for (int64_t end = -6; end <= 6; ++end) {
        for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
          const Tensor got = slice(iota({size}), start, end, 0, step).run();
          EXPECT_EQ(got.to_ints(), sliced(size, start, end, step))
              << size << " [" << start << ":" << end << ":" << step << "]";
        }
      }
    }
  }
}

TEST(Slice, ExtremeNumbersMeanTheEnds) {
  const Tensor x = iota({5});
  EXPECT_EQ(slice(x, 1, int_max, 0, 1).run().to_ints(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(slice(x, int_min, int_max, 0, 2).run().to_ints(), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(slice(x, int_max, int_min, 0, -1).run().to_ints(), (std::vector<int64_t>{4, 3, 2, 1, 0}));
  EXPECT_EQ(slice(x, 0, int_max, 0, int_max).run().to_ints(), std::vector<int64_t>{0});
  EXPECT_EQ(slice(x, -1, int_min, 0, int_min).run().to_ints(), std::vector<int64_t>{4});
  EXPECT_EQ(slice(x, int_max, int_max, 0, 1).run().size(), 0);
  EXPECT_THROW(slice(x, 0, 1, 0, 0).run(), Error);
  EXPECT_THROW(slice(x, 0, 1, 1, 1).run(), Error);
}

TEST(Slice, SizesOfSymbolicDimensions) {
  const Dim n = Dim::symbol("n");
  const auto size = [&](int64_t start, int64_t end, int64_t step) {
    return slice(iota({5}), start, end, 0, step).output_dims(0, {n}).at(0);
  };
  EXPECT_EQ(size(0, int_max, 1), n);
  EXPECT_EQ(size(-1, int_min, -1), n);
  EXPECT_EQ(size(1, 2147483647, 1), max(n - 1, Dim(0)));
  EXPECT_EQ(size(0, -1, 1), max(n - 1, Dim(0)));
  EXPECT_EQ(size(-3, int_max, 1), min(n, Dim(3)));
  EXPECT_EQ(size(0, 4, 2), ceil_div(min(n, Dim(4)), 2));
}

TEST(Pad, AgreesWithItsModesIncludingRemovedEnds) {
  const Tensor x = iota({5});
  const auto pad = [&](const std::string& mode, int64_t before, int64_t after) {
    return NodeUnderTest("Pad", 19)
        .input(x)
        .input(ints({2}, {before, after}))
        .set("mode", mode)
        .run()
        .to_ints();
  };
  EXPECT_EQ(pad("constant", 2, -1), (std::vector<int64_t>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(pad("edge", 2, 1), (std::vector<int64_t>{0, 0, 0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(pad("edge", -2, 2), (std::vector<int64_t>{2, 3, 4, 4, 4}));
  EXPECT_EQ(pad("reflect", 2, 2), (std::vector<int64_t>{2, 1, 0, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(pad("reflect", 6, 0), (std::vector<int64_t>{2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(pad("wrap", 2, 6), (std::vector<int64_t>{3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0}));
  EXPECT_THROW(pad("edge", -5, 1), Error);
  EXPECT_THROW(pad("constant", -5, -5), Error);
  EXPECT_THROW(pad("constant", int_max, int_max), Error);
  EXPECT_THROW(pad("mirror", 1, 1), Error);
}

TEST(Pad, ValueAndAxesAreInputs) {
  const Tensor padded = NodeUnderTest("Pad", 18)
                            .input(reals({2, 1}, {1, 2}))
                            .input(ints({2}, {1, 0}))
                            .input(reals({}, {9}))
                            .input(ints({1}, {-1}))
                            .run();
  EXPECT_EQ(padded.shape(), (Shape{2, 2}));
  EXPECT_EQ(to_reals(padded), (std::vector<double>{9, 1, 9, 2}));
}

Tensor reshaped(const Shape& from, const std::vector<int64_t>& to, bool allow_zero = false) {
  NodeUnderTest node("Reshape", 14);
  node.input(iota(from)).input(ints({static_cast<int64_t>(to.size())}, to));
  return node.set("allowzero", int64_t{allow_zero}).run();
}

TEST(Reshape, ZeroCopiesAndMinusOneTakesTheRest) {
  EXPECT_EQ(reshaped({2, 3, 4}, {0, -1}).shape(), (Shape{2, 12}));
  EXPECT_EQ(reshaped({2, 3, 4}, {4, 0, 2}).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(reshaped({0, 4}, {0, -1}).shape(), (Shape{0, 4}));
  EXPECT_EQ(reshaped({0, 4}, {4, 0}, true).shape(), (Shape{4, 0}));
  EXPECT_EQ(reshaped({1}, {}).shape(), Shape{});
  EXPECT_EQ(reshaped({6, 4}, {3, 8}).to_ints(), iota({24}).to_ints());
  EXPECT_EQ(reshaped({4, 6}, {3, 8}).to_ints(), iota({24}).to_ints());
  for (const std::vector<int64_t>& bad :
       {std::vector<int64_t>{5, -1}, {-1, -1}, {7}, {2, 3, 4, 0}, {-2, -12}, {int_max, int_max}, {int_min}}) {
    EXPECT_THROW(reshaped({2, 3, 4}, bad), Error);
  }
}

TEST(Reshape, ZeroThatIsMeantBesideMinusOneIsOfAnEmptyInput) {
  EXPECT_EQ(reshaped({0, 4}, {0, -1}, true).shape(), (Shape{0, 4}));
  EXPECT_EQ(reshaped({0, 5, 12}, {0, 5, -1, 4}, true).shape(), (Shape{0, 5, 3, 4}));
  EXPECT_EQ(reshaped({2, 0, 12}, {2, 0, -1, 4}, true).shape(), (Shape{2, 0, 3, 4}));
  EXPECT_THROW(reshaped({2, 4}, {0, -1}, true), Error);
  EXPECT_THROW(reshaped({0, 5}, {0, -1, 4}, true), Error) << "5 is no multiple of 4";
}

/// A graph of a chain of nodes, each reading named values.
class Chain {
 public:
  ValueId input(ElementType type, const Dims& dims) {
    Value value;
    value.name = "in";
    value.type = type;
    value.dims = dims;
    graph_.inputs.push_back(graph_.add_value(value));
    return graph_.inputs.back();
  }
  ValueId constant(const Tensor& tensor) {
    Value value;
    value.name = "c" + std::to_string(graph_.values.size());
    value.constant = tensor;
    return graph_.add_value(value);
  }
  ValueId add(const std::string& op, const std::vector<ValueId>& inputs,
              const std::map<std::string, int64_t>& attributes = {}) {
    Node node;
    node.name = "n" + std::to_string(graph_.nodes.size());
    node.op = op;
    node.version = 14;
    node.inputs = inputs;
    for (const auto& [name, value] : attributes) node.attributes[name].integer = value;
    Value value;
    value.name = node.name;
    node.outputs = {graph_.add_value(value)};
    graph_.nodes.push_back(node);
    return node.outputs[0];
  }
  Dims dims(ValueId id) const {
    Inference inference(graph_, {});
    inference.run();
    return inference.fact(id).dims.value_or(Dims{Dim(-1)});
  }

 private:
  Graph graph_;
};

// x[batch, length, 768] -> [batch, length, 12, 64], as exporters write it.
TEST(Shape, ChainsOfShapeArithmeticStaySymbolic) {
  const Dim batch = Dim::symbol("batch");
  const Dim length = Dim::symbol("length");
  Chain chain;
  const ValueId x = chain.input(ElementType::f32, {batch, length, 768});
  const ValueId shape = chain.add("Shape", {x});
  const ValueId axes = chain.constant(ints({1}, {0}));
  const auto size = [&](int64_t d) {
    return chain.add("Unsqueeze", {chain.add("Gather", {shape, chain.constant(ints({}, {d}))}), axes});
  };
  const ValueId width = chain.add(
      "Div", {size(2), chain.add("Cast", {chain.constant(ints({1}, {12}, ElementType::i32))}, {{"to", 7}})});
  const ValueId target =
      chain.add("Concat", {size(0), size(1), chain.constant(ints({1}, {12})), width}, {{"axis", 0}});
  const ValueId split = chain.add("Reshape", {x, target});
  EXPECT_EQ(chain.dims(split), (Dims{batch, length, 12, 64}));
  const ValueId ends =
      chain.add("Slice", {shape, chain.constant(ints({1}, {0})), chain.constant(ints({1}, {2}))});
  const ValueId rows = chain.add("ReduceProd", {ends}, {{"keepdims", 0}});
  EXPECT_EQ(
      chain.dims(chain.add("Range", {chain.constant(ints({}, {0})), rows, chain.constant(ints({}, {1}))})),
      Dims{batch * length});
  EXPECT_EQ(chain.dims(chain.add("ConstantOfShape", {ends})), (Dims{batch, length}));
  const ValueId last = chain.add("Shape", {x}, {{"start", -2}, {"end", 100}});
  EXPECT_EQ(chain.dims(chain.add("Expand", {chain.constant(reals({1, 1}, {1})), last})), (Dims{length, 768}));
}

TEST(Concat, JoinsStringsAndSkipsEmptyParts) {
  const Tensor joined = NodeUnderTest("Concat", 13)
                            .input(Tensor::from_strings({0}, {}))
                            .input(Tensor::from_strings({2}, {"a", "b"}))
                            .input(Tensor::from_strings({1}, {"c"}))
                            .set("axis", int64_t{-1})
                            .run();
  ASSERT_EQ(joined.shape(), Shape{3});
  EXPECT_EQ(joined.strings()[0] + joined.strings()[1] + joined.strings()[2], "abc");
  NodeUnderTest bad("Concat", 13);
  bad.input(iota({2, 2})).input(iota({2, 3})).set("axis", int64_t{0});
  EXPECT_THROW(bad.run(), Error);
  EXPECT_EQ(bad.set("axis", int64_t{1}).run().to_ints(),
            (std::vector<int64_t>{0, 1, 0, 1, 2, 2, 3, 3, 4, 5}));
}

TEST(Split, LastPartsAreSmaller) {
  NodeUnderTest node("Split", 18, 4);
  const auto parts = node.input(iota({5})).set("num_outputs", int64_t{4}).run_all();
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].to_ints(), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(parts[2].to_ints(), (std::vector<int64_t>{4}));
  EXPECT_EQ(parts[3].shape(), Shape{0});
  NodeUnderTest equal("Split", 13, 2);
  EXPECT_THROW(equal.input(iota({5})).run_all(), Error);
  NodeUnderTest sized("Split", 11, 2);
  EXPECT_EQ(sized.input(iota({5})).set("split", std::vector<int64_t>{1, 4}).run_all()[1].size(), 4);
  NodeUnderTest wrong("Split", 13, 2);
  EXPECT_THROW(wrong.input(iota({5})).input(ints({2}, {int_max, 6})).run_all(), Error);
}

TEST(DepthToSpace, IsUndoneBySpaceToDepth) {
  const Tensor x = iota({1, 8, 2, 3});
  for (const char* mode : {"DCR", "CRD"}) {
    const auto apply = [&](const char* op, const Tensor& y) {
      return NodeUnderTest(op, 28).input(y).set("blocksize", int64_t{2}).set("mode", mode).run();
    };
    const Tensor wide = apply("DepthToSpace", x);
    EXPECT_EQ(wide.shape(), (Shape{1, 2, 4, 6}));
    EXPECT_EQ(wide.get_int(1), mode[0] == 'D' ? 2 * 6 : 6);
    EXPECT_EQ(apply("SpaceToDepth", wide).to_ints(), x.to_ints());
  }
}

}  // namespace
}  // namespace axrun::ir::test
