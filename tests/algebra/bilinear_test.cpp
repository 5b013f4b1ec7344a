// Bilinear algorithms for convolutions: coefficients, expressions, graphs, limits.
#include "search/algebra/bilinear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/algebra/bilinear_graph.h"
#include "tests/algebra/random_values.h"
#include "verify/bilinear_identity.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;
using ir::ValueId;
using verify::Verdict;

/// One convolution of 3x3.
struct Case {
  int64_t batch, channels, height, width, results;
  std::vector<int64_t> pads;
  bool bias;
};

ir::Attribute integers(std::vector<int64_t> list) {
  ir::Attribute attribute;
  attribute.kind = ir::Attribute::Kind::integers;
  attribute.integers = std::move(list);
  return attribute;
}

ir::Graph graph_of(const Case& one, const ir::Tensor& image) {
  ir::Graph graph;
  const auto add = [&](const char* name, ir::Tensor constant, const ir::Shape& shape) {
    ir::Value value;
    value.name = name;
    value.type = ir::ElementType::f32;
    value.dims = ir::to_dims(shape);
    value.constant = std::move(constant);
    return graph.add_value(std::move(value));
  };
  const ir::Shape image_shape{one.batch, one.channels, one.height, one.width};
  const ir::Shape filter_shape{one.results, one.channels, 3, 3};
  ir::Node node;
  node.name = "conv";
  node.op = "Conv";
  node.version = 11;
  node.attributes["pads"] = integers(one.pads);
  node.inputs = {add("image", image, image_shape), add("filters", values_of(filter_shape, 3), filter_shape)};
  if (one.bias) node.inputs.push_back(add("bias", values_of({one.results}, 5), {one.results}));
  if (!image.defined()) graph.inputs = {node.inputs[0]};
  ir::Value result;
  result.name = "result";
  node.outputs = {graph.add_value(std::move(result))};
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

BilinearSite site_of(const ir::Graph& graph) {
  ir::Inference::Options options;
  options.fold = false;
  ir::Inference facts(graph, options);
  facts.run();
  const auto sites = bilinear_sites(facts);
  EXPECT_EQ(sites.size(), 1u);
  return sites.empty() ? BilinearSite() : sites[0];
}

ir::Tensor answer(const ir::Graph& graph) {
  ir::Inference::Options options;
  options.fold_bytes = int64_t{1} << 26;
  ir::Inference facts(graph, options);
  facts.run();
  return facts.fact(graph.outputs[0]).constant;
}

const Case cases[] = {{1, 8, 12, 8, 9, {1, 1, 1, 1}, true},    {1, 9, 7, 13, 8, {1, 1, 1, 1}, false},
                      {3, 8, 7, 7, 8, {1, 1, 1, 1}, true},     {1, 16, 14, 15, 8, {0, 0, 0, 0}, false},
                      {2, 8, 6, 9, 12, {0, 2, 1, 0}, true},    {1, 8, 1, 2, 8, {1, 1, 1, 1}, false},
                      {1, 64, 56, 56, 64, {1, 1, 1, 1}, true}, {1, 512, 7, 7, 512, {1, 1, 1, 1}, true}};

TEST(Bilinear, AlgorithmsAreProved) {
  for (int taps = 1; taps <= 5; ++taps) {
    for (int outputs = 1; outputs + taps - 1 <= 6; ++outputs) {
      if (outputs + taps < 3) continue;
      const auto evidence = verify::prove_bilinear(in_two_dimensions(bilinear_algorithm(outputs, taps)));
      EXPECT_EQ(evidence.verdict, Verdict::proved) << outputs << " " << taps << ": " << evidence.text;
    }
  }
}

TEST(Bilinear, WrongCoefficientsAreRefuted) {
  const verify::BilinearCoefficients right = in_two_dimensions(bilinear_algorithm(4, 3));
  int wrong = 0;
  for (auto matrix : {&verify::BilinearCoefficients::a, &verify::BilinearCoefficients::g,
                      &verify::BilinearCoefficients::b}) {
    for (size_t x = 0; x < (right.*matrix).size(); x += 5) {
      for (size_t k = 0; k < (right.*matrix)[x].size(); k += 3) {
        verify::BilinearCoefficients other = right;
        ++(other.*matrix)[x][k];
        EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::refuted);
        ++wrong;
      }
    }
  }
  EXPECT_GT(wrong, 100);
  verify::BilinearCoefficients other = right;
  std::swap(other.element[3][1], other.element[3][2]);
  EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::refuted);
  other.scale = 0;
  EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::unknown);
  other = right;
  other.a.pop_back();
  EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::unknown);
  other = right;
  other.element[0][0] = 36;
  EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::unknown);
  other = right;
  other.b[0][0] = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(verify::prove_bilinear(other).verdict, Verdict::unknown);
}

TEST(Bilinear, ObligationsAreProved) {
  for (const Case& one : cases) {
    const ir::Graph graph = graph_of(one, {});
    const BilinearSite site = site_of(graph);
    for (const int outputs : {2, 4}) {
      for (const Sides& sides : bilinear_obligations({site, outputs})) {
        verify::ProofOptions options;
        options.seconds = 20;
        const auto evidence = verify::prove_equal(sides.left, sides.right, {}, options);
        EXPECT_EQ(evidence.verdict, Verdict::proved)
            << site.kind() << ", " << outputs << ": " << evidence.text;
      }
    }
  }
}

TEST(Bilinear, WrongObligationsAreNotProved) {
  const BilinearSite site = site_of(graph_of({1, 8, 7, 9, 8, {1, 1, 1, 1}, true}, {}));
  BilinearSite other = site;
  other.pads = {2, 1, 0, 1};
  for (const int outputs : {2, 4}) {
    const auto right = bilinear_obligations({site, outputs}), wrong = bilinear_obligations({other, outputs});
    for (size_t k = 0; k < right.size(); ++k)
      EXPECT_NE(verify::prove_equal(right[k].left, wrong[k].right, {}).verdict, Verdict::proved) << k;
  }
}

/// Rounding is bounded next to the largest values of an image, not element by element.
TEST(Bilinear, GraphsGiveTheSameWithinTheBound) {
  for (const Case& one : cases) {
    if (one.channels * one.results > 1000) continue;
    const ir::Tensor image = values_of({one.batch, one.channels, one.height, one.width}, 11);
    const ir::Graph graph = graph_of(one, image);
    const BilinearSite site = site_of(graph);
    const ir::Tensor want = answer(graph);
    for (const int outputs : {1, 2, 3, 4}) {
      const BilinearGraph made = with_bilinear(graph, {{site, outputs}});
      const ir::Tensor got = answer(*made.graph);
      ASSERT_EQ(got.shape(), want.shape());
      const double growth = bilinear_algorithm(outputs, 3).growth();
      const auto terms = static_cast<double>(9 * one.channels);
      const double bound = growth * growth * terms * 1.0 * (terms + 100) * std::ldexp(1.0, -24);
      double most = 0;
      for (int64_t k = 0; k < got.size(); ++k)
        most = std::max(most, std::fabs(got.get_real(k) - want.get_real(k)));
      EXPECT_LT(most, bound) << outputs << " " << site.kind();
    }
  }
}

TEST(Bilinear, GrowsWithTheTile) {
  EXPECT_DOUBLE_EQ(bilinear_algorithm(1, 3).growth() >= 1, true);
  EXPECT_LT(bilinear_algorithm(2, 3).growth(), bilinear_algorithm(4, 3).growth());
  EXPECT_LT(bilinear_algorithm(4, 3).growth(), 100);
}

TEST(Bilinear, OtherConvolutionsAreNoSites) {
  const Case one{1, 8, 12, 12, 8, {1, 1, 1, 1}, false};
  const auto sites_with = [&](const char* name, ir::Attribute attribute) {
    ir::Graph graph = graph_of(one, {});
    graph.nodes[0].attributes[name] = std::move(attribute);
    ir::Inference::Options options;
    options.fold = false;
    ir::Inference facts(graph, options);
    try {
      facts.run();
    } catch (const Error&) {
    }
    return bilinear_sites(facts).size();
  };
  EXPECT_EQ(sites_with("pads", integers({1, 1, 1, 1})), 1u);
  EXPECT_EQ(sites_with("strides", integers({2, 2})), 0u);
  EXPECT_EQ(sites_with("strides", integers({1, 2})), 0u);
  EXPECT_EQ(sites_with("dilations", integers({2, 1})), 0u);
  ir::Attribute same;
  same.kind = ir::Attribute::Kind::string;
  same.string = "SAME_UPPER";
  EXPECT_EQ(sites_with("auto_pad", same), 0u);
  ir::Attribute groups;
  groups.integer = 8;
  EXPECT_EQ(sites_with("group", groups), 0u);
}

}  // namespace
}  // namespace axrun::tests
