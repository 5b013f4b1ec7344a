#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

/// Resize of a vector by a scale, or to a size where the scale is 0.
NodeUnderTest resized(const Reals& x, double scale, int64_t size, int version = 13) {
  NodeUnderTest node("Resize", version);
  node.input(reals({static_cast<int64_t>(x.size())}, x)).absent_input();
  if (scale > 0) return node.input(reals({1}, {scale}));
  return node.absent_input().input(ints({1}, {size}));
}

TEST(Resize, NearestModes) {
  const auto nearest = [](const std::string& mode) {
    // Coordinates 0, 0.5, 1, 1.5.
    return to_reals(resized({1, 2, 3, 4}, 2, 0)
                        .set("coordinate_transformation_mode", "asymmetric")
                        .set("nearest_mode", mode)
                        .run());
  };
  EXPECT_EQ(nearest("round_prefer_floor"), (Reals{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(nearest("floor"), (Reals{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(nearest("round_prefer_ceil"), (Reals{1, 2, 2, 3, 3, 4, 4, 4}));
  EXPECT_EQ(nearest("ceil"), (Reals{1, 2, 2, 3, 3, 4, 4, 4}));
}

TEST(Resize, NearestByEveryRatio) {
  using Round = std::function<float(float)>;
  const std::map<std::string, Round> roundings = {
      {"round_prefer_floor", [](float at) { return std::ceil(at - 0.5F); }},
      {"round_prefer_ceil", [](float at) { return std::floor(at + 0.5F); }},
      {"floor", [](float at) { return std::floor(at); }},
      {"ceil", [](float at) { return std::ceil(at); }}};
  int quotients = 0, all = 0;
  for (int64_t from = 1; from <= 12; ++from) {
    Reals x;
    for (int64_t i = 0; i < from; ++i) x.push_back(static_cast<double>(i));
    for (int64_t to = 1; to <= 24; ++to) {
      if (to == from) continue;  // a copy, whatever the mode
      const float scale = static_cast<float>(to) / static_cast<float>(from);
      const std::map<std::string, std::function<float(float)>> modes = {
          {"half_pixel", [&](float i) { return (i + 0.5F) / scale - 0.5F; }},
          {"asymmetric", [&](float i) { return i / scale; }},
          {"tf_half_pixel_for_nn", [&](float i) { return (i + 0.5F) / scale; }},
          {"align_corners", [&](float i) {
             return to == 1 ? 0 : i * static_cast<float>(from - 1) / static_cast<float>(to - 1);
           }}};
      for (const auto& [mode, coordinate] : modes) {
        for (const auto& [name, round] : roundings) {
          SCOPED_TRACE(mode + " " + name + " " + std::to_string(from) + " to " + std::to_string(to));
          Reals expected;
          for (int64_t i = 0; i < to; ++i)
            expected.push_back(
                std::clamp(round(coordinate(static_cast<float>(i))), 0.0F, static_cast<float>(from - 1)));
          NodeUnderTest node = resized(x, 0, to);
          node.set("coordinate_transformation_mode", mode).set("nearest_mode", name);
          EXPECT_EQ(to_reals(node.run()), expected);
          const Program program = define_node(node.node(), node.known());
          ++all;
          quotients += std::none_of(program.exprs.begin(), program.exprs.end(), [](const Expr& expr) {
            return is_float(expr.type) && expr.op != ScalarOp::load;
          });
        }
      }
    }
  }
  // The others are at places where the roundings of the formula decide.
  EXPECT_GT(quotients, all * 9 / 10);
}

TEST(Resize, RepeatingElementsIsAPlainCopyOverNamedFactors) {
  NodeUnderTest node = resized({1, 2}, 3, 0);
  EXPECT_EQ(to_reals(node.run()), (Reals{1, 1, 1, 2, 2, 2}));
  const Program program = define_node(node.node(), node.known());
  EXPECT_EQ(program.stages[0].axes.size(), 2U);
  EXPECT_EQ(node.output_dims(0, {Dim::symbol("n")}), Dims{3 * Dim::symbol("n")});
}

TEST(Resize, ScalesBelowOneAreRoundedAsF32) {
  // 0.6f * 5 is 3 in f32 and 3.0000001 over the reals; 3 / 0.6f is 5 in f32 and less over the reals.
  EXPECT_EQ(resized({1, 2, 3, 4, 5}, 0.6, 0).run().size(), 3);
  NodeUnderTest node = resized({0, 1, 2, 3, 4, 5, 6}, 0.6, 0);
  node.set("coordinate_transformation_mode", "asymmetric").set("nearest_mode", "floor");
  EXPECT_EQ(to_reals(node.run()), (Reals{0, 1, 3, 5}));
}

TEST(Resize, LinearCoordinates) {
  const auto linear = [](const std::string& mode, int64_t size) {
    return resized({0, 10, 20}, 0, size)
        .set("mode", "linear")
        .set("coordinate_transformation_mode", mode)
        .run();
  };
  expect_within(linear("half_pixel", 6), {0, 2.5, 7.5, 12.5, 17.5, 20});
  expect_within(linear("align_corners", 5), {0, 5, 10, 15, 20});
  expect_within(linear("align_corners", 1), {0});
  expect_within(linear("asymmetric", 6), {0, 5, 10, 15, 20, 20});
  expect_within(linear("half_pixel", 1), {10});
  expect_within(linear("pytorch_half_pixel", 1), {0});
}

/// What lies at a coordinate, by the formula.
double interpolated(const Reals& x, double coordinate) {
  const double below = std::floor(coordinate);
  const auto at = [&](double index) {
    return x[static_cast<size_t>(std::clamp(index, 0.0, static_cast<double>(x.size()) - 1))];
  };
  return at(below) + (coordinate - below) * (at(below + 1) - at(below));
}

TEST(Resize, LinearByEveryRatio) {
  const Reals all = {3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5, -8};
  for (int64_t from = 1; from <= 12; ++from) {
    const Reals x(all.begin(), all.begin() + from);
    for (int64_t to = 1; to <= 24; ++to) {
      const double step = static_cast<double>(from) / static_cast<double>(to);
      const std::map<std::string, std::function<double(double)>> modes = {
          {"half_pixel", [&](double i) { return (i + 0.5) * step - 0.5; }},
          {"half_pixel_symmetric", [&](double i) { return (i + 0.5) * step - 0.5; }},
          {"pytorch_half_pixel", [&](double i) { return to == 1 ? 0 : (i + 0.5) * step - 0.5; }},
          {"asymmetric", [&](double i) { return i * step; }},
          {"align_corners",
           [&](double i) {
             return to == 1 ? 0 : i * static_cast<double>(from - 1) / static_cast<double>(to - 1);
           }},
      };
      for (const auto& [mode, coordinate] : modes) {
        SCOPED_TRACE(mode + " " + std::to_string(from) + " to " + std::to_string(to));
        Reals expected;
        for (int64_t i = 0; i < to; ++i)
          expected.push_back(interpolated(x, coordinate(static_cast<double>(i))));
        const auto node = [&](NodeUnderTest made) {
          return made.set("mode", "linear").set("coordinate_transformation_mode", mode).run();
        };
        expect_within(node(resized(x, 0, to)), expected);
        if (to % from == 0) expect_within(node(resized(x, static_cast<double>(to / from), 0)), expected);
      }
    }
  }
}

TEST(Resize, NeighboursWithoutWeightAreNotRead) {
  const double nan = std::nan(""), infinity = HUGE_VAL;
  // By phases: coordinates 1 and 4.
  EXPECT_EQ(to_reals(resized({nan, 2, nan, infinity, 5, nan}, 0, 2).set("mode", "linear").run()),
            (Reals{2, 5}));
  // By a ratio: 0, 2 and 4.
  EXPECT_EQ(to_reals(resized({1, nan, infinity, nan, 5}, 0, 3)
                         .set("mode", "linear")
                         .set("coordinate_transformation_mode", "align_corners")
                         .run()),
            (Reals{1, infinity, 5}));
  EXPECT_EQ(to_reals(resized({infinity}, 0, 2).set("mode", "linear").run()), (Reals{infinity, infinity}));
}

TEST(Resize, CubicReproducesInnerLines) {
  NodeUnderTest node = resized({0, 1, 2, 3, 4, 5, 6, 7}, 2, 0);
  node.set("mode", "cubic").set_real("cubic_coeff_a", -0.5);
  const Tensor y = node.run();
  for (int64_t k = 4; k < 12; ++k) EXPECT_NEAR(y.get_real(k), (static_cast<double>(k) + 0.5) / 2 - 0.5, 1e-5);
}

TEST(Resize, WeightsAddUpToOne) {
  for (const char* mode : {"linear", "cubic"}) {
    for (int64_t antialias : {0, 1}) {
      for (int64_t exclude : {0, 1}) {
        NodeUnderTest node = resized(Reals(9, 3), 0, 4, 19);
        node.set("mode", mode).set("antialias", antialias).set("exclude_outside", exclude);
        expect_within(node.run(), {3, 3, 3, 3});
      }
    }
  }
  EXPECT_THROW(resized({1, 2}, 2, 0, 19).set("antialias", int64_t{1}).run(), Error);
}

TEST(Resize, AntialiasAveragesWhatItSkips) {
  // Halving with a filter of twice the width: weights 1, 3, 3, 1 eighths, the edges repeated.
  NodeUnderTest node = resized({0, 0, 8, 0, 0, 0}, 0.5, 0, 18);
  expect_within(node.set("mode", "linear").set("antialias", int64_t{1}).run(), {1, 3, 0});
}

TEST(Resize, CropsAndExtrapolates) {
  NodeUnderTest node("Resize", 11);
  node.input(reals({1, 5}, {0, 10, 20, 30, 40})).input(reals({4}, {0, 0.5, 1, 1.25}));
  node.input(reals({0}, {})).input(ints({2}, {1, 4})).set("mode", "linear");
  node.set("coordinate_transformation_mode", "tf_crop_and_resize").set_real("extrapolation_value", -1);
  expect_within(node.run(), {20, 30, 40, -1});
}

TEST(Resize, PoliciesKeepTheAspectRatio) {
  const auto shape = [](const std::string& policy) {
    NodeUnderTest node("Resize", 19);
    node.input(Tensor::allocate(ElementType::f32, {1, 2, 6})).absent_input().absent_input();
    node.input(ints({2}, {7, 8})).set("axes", std::vector<int64_t>{1, 2});
    return node.set("keep_aspect_ratio_policy", policy).run().shape();
  };
  EXPECT_EQ(shape("stretch"), (Shape{1, 7, 8}));
  EXPECT_EQ(shape("not_larger"), (Shape{1, 3, 8}));  // 2.67 rounded
  EXPECT_EQ(shape("not_smaller"), (Shape{1, 7, 21}));
}

TEST(Resize, IntegersRoundAndSaturate) {
  NodeUnderTest node("Resize", 13);
  node.input(ints({2}, {0, 255}, ElementType::u8)).absent_input().input(reals({1}, {4}));
  EXPECT_EQ(to_reals(node.set("mode", "linear").run()), (Reals{0, 0, 32, 96, 159, 223, 255, 255}));
  const Tensor cubic = node.set("mode", "cubic").run();
  EXPECT_EQ(cubic.get_int(1), 0);
  EXPECT_EQ(cubic.get_int(6), 255);
}

TEST(Resize, WhatContradictsIsRefused) {
  EXPECT_THROW(resized({1, 2}, 2, 0).input(ints({1}, {4})).run(), Error);
  EXPECT_THROW(resized({1, 2}, 2, 0).set("mode", "quintic").run(), Error);
  NodeUnderTest negative("Resize", 13);
  EXPECT_THROW(negative.input(reals({1}, {1})).absent_input().input(reals({1}, {-1})).run(), Error);
  EXPECT_THROW(resized({}, 0, 3).run(), Error);
  EXPECT_THROW(resized({1}, 1e30, 0).run(), Error);
}

TEST(Upsample, EveryVersion) {
  const Tensor x = reals({1, 1, 1, 2}, {1, 3});
  const Reals expected = {1, 1, 3, 3, 1, 1, 3, 3};
  NodeUnderTest first("Upsample", 1);
  first.input(x).set_real("height_scale", 2).set_real("width_scale", 2);
  EXPECT_EQ(to_reals(first.run()), expected);
  EXPECT_EQ(to_reals(NodeUnderTest("Upsample", 7).input(x).set_reals("scales", {1, 1, 2, 2}).run()),
            expected);
  EXPECT_EQ(to_reals(NodeUnderTest("Upsample", 9).input(x).input(reals({4}, {1, 1, 2, 2})).run()), expected);
  EXPECT_THROW(NodeUnderTest("Upsample", 7).input(x).set_reals("scales", {2, 2}).run(), Error);
  NodeUnderTest linear("Resize", 10);
  linear.input(x).input(reals({4}, {1, 1, 1, 2})).set("mode", "linear");
  EXPECT_EQ(to_reals(linear.run()), (Reals{1, 2, 3, 3}));
}

TEST(Upsample, ReducingTakesTheUpperNeighbour) {
  NodeUnderTest node("Resize", 10);
  node.input(reals({4}, {1, 2, 3, 4})).input(reals({1}, {0.6}));
  EXPECT_EQ(to_reals(node.run()), (Reals{1, 3}));
}

TEST(GridSample, IdentityGridIsTheInput) {
  const Tensor x = reals({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  NodeUnderTest grid("AffineGrid", 20);
  grid.input(reals({1, 2, 3}, {1, 0, 0, 0, 1, 0})).input(ints({4}, {1, 1, 2, 3}));
  for (int64_t align : {0, 1}) {
    const Tensor positions = grid.set("align_corners", align).run();
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      NodeUnderTest sample("GridSample", 20);
      sample.input(x).input(positions).set("mode", mode).set("align_corners", align);
      expect_within(sample.run(), to_reals(x));
    }
  }
}

TEST(GridSample, PaddingModes) {
  const auto sampled = [](const std::string& padding) {
    NodeUnderTest node("GridSample", 16);
    // One to the left, and two to the right, of the corners' centres.
    node.input(reals({1, 1, 1, 3}, {10, 20, 30})).input(reals({1, 1, 2, 2}, {-2, 0, 3, 0}));
    return to_reals(node.set("align_corners", int64_t{1}).set("padding_mode", padding).run());
  };
  EXPECT_EQ(sampled("zeros"), (Reals{0, 0}));
  EXPECT_EQ(sampled("border"), (Reals{10, 30}));
  EXPECT_EQ(sampled("reflection"), (Reals{20, 10}));
}

TEST(GridSample, TheNearestElementMayBeAString) {
  const auto sampled = [](const std::string& mode, const std::string& padding) {
    NodeUnderTest node("GridSample", 20);
    node.input(Tensor::from_strings({1, 1, 1, 3}, {"a", "b", "c"}))
        .input(reals({1, 1, 3, 2}, {-2, 0, 0, 0, 3, 0}));
    return node.set("align_corners", int64_t{1}).set("mode", mode).set("padding_mode", padding).run();
  };
  const auto words = [](const Tensor& y) {
    return std::vector<std::string>(y.strings(), y.strings() + y.size());
  };
  EXPECT_EQ(words(sampled("nearest", "zeros")), (std::vector<std::string>{"", "b", ""}));
  EXPECT_EQ(words(sampled("nearest", "border")), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_THROW(sampled("linear", "zeros"), Error);
}

}  // namespace
}  // namespace axrun::ir::test
