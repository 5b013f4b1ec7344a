// Identities with names, found from scratch in graphs of two or three operators.
#include "search/algebra/discovery.h"

#include <gtest/gtest.h>

#include "search/algebra/saturation.h"
#include "search/algebra/trials.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

struct Found {
  RuleSet rules;
  DiscoveryCounts counts;

  std::string text() const {
    std::string text;
    for (const auto& [id, rule] : rules.rules())
      text += equation(*rule) + "  " + std::string(verify::name_of(rule->equality.verdict)) + ": " +
              rule->equality.text + "\n";
    return text;
  }
  /// A rule that is proved and reads so.
  bool proved(const std::string& wanted) const {
    for (const auto& [id, rule] : rules.rules())
      if (equation(*rule) == wanted && rule->equality.verdict == verify::Verdict::proved) return true;
    return false;
  }
};

Found discover(const SmallTerms& t) {
  Found found;
  DiscoveryOptions options;
  options.prover = prover_here();
  Discovery discovery(found.rules, options);
  found.counts = discovery.examine(t.terms, "test");
  return found;
}

TEST(Discovery, ScalePastMatMul) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), s = t.constant("s", {});
  t.call("Mul", {t.call("MatMul", {x, w}), s});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Mul(a, MatMul(b, c)) = MatMul(b, Mul(a, c))")) << found.text();
  EXPECT_TRUE(found.proved("Mul(a, MatMul(b, c)) = MatMul(Mul(a, b), c)")) << found.text();
}

TEST(Discovery, DivisionPastMatMul) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 8, 16}), y = t.input("y", {2, 16, 24});
  t.call("Div", {t.call("MatMul", {x, y}), t.number(8)});
  EXPECT_TRUE(discover(t).proved("Div(MatMul(a, b), c) = MatMul(Div(a, c), b)")) << discover(t).text();
}

TEST(Discovery, TransposePastAdd) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 3, 5}), y = t.input("y", {2, 3, 5});
  t.call("Transpose", {t.call("Add", {x, y})}, {{"perm", {2, 0, 1}}});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Transpose(Add(a, b)) = Add(Transpose(a), Transpose(b))")) << found.text();
}

TEST(Discovery, TransposeOfAProduct) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), y = t.input("y", {16, 24});
  t.call("Transpose", {t.call("MatMul", {x, y})}, {{"perm", {1, 0}}});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Transpose(MatMul(a, b)) = MatMul(Transpose(b), Transpose(a))")) << found.text();
}

TEST(Discovery, ReshapePastRelu) {
  SmallTerms t;
  const TermId x = t.input("x", {n, 12, 64});
  t.call("Relu", {t.call("Reshape", {x}, {}, {{n, 768}})});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Relu(Reshape(a)) = Reshape(Relu(a))")) << found.text();
}

TEST(Discovery, SlicePastAdd) {
  SmallTerms t;
  const TermId x = t.input("x", {n, 10}), y = t.input("y", {n, 10});
  t.call("Slice", {t.call("Add", {x, y})}, {}, {{2}, {7}, {1}});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Slice(Add(a, b)) = Add(Slice(a), Slice(b))")) << found.text();
}

TEST(Discovery, ConcatPastRelu) {
  SmallTerms t;
  const TermId x = t.input("x", {n, 10}), y = t.input("y", {n, 7});
  t.call("Concat", {t.call("Relu", {x}), t.call("Relu", {y})}, {{"axis", {1}}});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Concat(Relu(a), Relu(b)) = Relu(Concat(a, b))")) << found.text();
}

TEST(Discovery, ProductsThatShareAnOperandAreMerged) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), v = t.constant("v", {16, 32});
  t.call("MatMul", {x, w});
  t.call("MatMul", {x, v});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved(
      "MatMul(a, b) | MatMul(a, c) = Slice(MatMul(a, Concat(b, c))) | Slice(MatMul(a, Concat(b, c)))"))
      << found.text();
}

TEST(Discovery, SumsOfProductsThatShareAnOperand) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), v = t.constant("v", {16, 24});
  t.call("Add", {t.call("MatMul", {x, w}), t.call("MatMul", {x, v})});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Add(MatMul(a, b), MatMul(a, c)) = MatMul(a, Add(b, c))")) << found.text();
}

TEST(Discovery, LowRankProductsAreAssociative) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), a = t.constant("a", {16, 4}), b = t.constant("b", {4, 24});
  t.call("MatMul", {t.call("MatMul", {x, a}), b});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("MatMul(MatMul(a, b), c) = MatMul(a, MatMul(b, c))")) << found.text();
}

/// What the sum of an adapter's products and the product beside it lacks is found where rules have led.
TEST(Discovery, SumsOfProductsThatComeAboutShareAnOperand) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), a = t.constant("a", {16, 2}),
               b = t.constant("b", {2, 24});
  const TermId low = t.call("Mul", {t.call("MatMul", {t.call("MatMul", {x, a}), b}), t.number(4)});
  t.call("Add", {t.call("MatMul", {x, w}), low});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Add(MatMul(a, b), MatMul(a, c)) = MatMul(a, Add(b, c))")) << found.text();
}

/// The model selects from a product's result only; what that reads is selected from where rules have led.
TEST(Discovery, SelectionsGoFromOperationToOperation) {
  SmallTerms t;
  const TermId x = t.input("x", {9, 16}), w = t.constant("w", {16, 24}), b = t.constant("b", {24}),
               v = t.constant("v", {24, 12});
  const TermId hidden = t.call("Tanh", {t.call("Add", {t.call("MatMul", {x, w}), b})});
  t.call("Slice", {t.call("MatMul", {hidden, v})}, {}, {{8}, {9}, {0}});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Slice(MatMul(a, b)) = MatMul(Slice(a), b)")) << found.text();
  EXPECT_TRUE(found.proved("Slice(Tanh(a)) = Tanh(Slice(a))")) << found.text();
  EXPECT_TRUE(found.proved("Slice(Add(a, b)) = Add(a, Slice(b))")) << found.text();
}

TEST(Discovery, ScaleOfRowsPastTheProduct) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 8, 16}), r = t.input("r", {2, 8, 1}), w = t.constant("w", {16, 24});
  t.call("MatMul", {t.call("Mul", {x, r}), w});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("MatMul(Mul(a, b), c) = Mul(b, MatMul(a, c))") ||
              found.proved("MatMul(Mul(a, b), c) = Mul(a, MatMul(b, c))"))
      << found.text();
}

TEST(Discovery, ScaleOfChannelsIntoAConvolution) {
  SmallTerms t;
  const TermId x = t.input("x", {1, 3, 16, 16}), w = t.constant("w", {8, 3, 3, 3}),
               s = t.constant("s", {1, 8, 1, 1});
  t.call("Mul", {t.call("Conv", {x, w}, {{"pads", {1, 1, 1, 1}}, {"kernel_shape", {3, 3}}}), s});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Mul(a, Conv(b, c)) = Conv(b, Mul(c, Reshape(a)))")) << found.text();
}

TEST(Discovery, BiasOfChannelsIntoAConvolution) {
  SmallTerms t;
  const TermId x = t.input("x", {1, 3, 16, 16}), w = t.constant("w", {8, 3, 3, 3}),
               s = t.constant("s", {1, 8, 1, 1});
  t.call("Add", {t.call("Conv", {x, w}, {{"pads", {1, 1, 1, 1}}, {"kernel_shape", {3, 3}}}), s});
  const Found found = discover(t);
  EXPECT_TRUE(found.proved("Add(a, Conv(b, c)) = Conv(b, c, Reshape(a))")) << found.text();
}

std::vector<std::shared_ptr<const Rule>> rules_of(const Found& found) {
  std::vector<std::shared_ptr<const Rule>> rules;
  for (const auto& [id, rule] : found.rules.rules()) rules.push_back(rule);
  return rules;
}

/// Batch normalization of a convolution, which has a bias or none: the term, and the convolution alone that
/// discovery and saturation make of it.
void expect_normalization_disappears(bool has_bias) {
  SmallTerms t;
  std::vector<TermId> operands{t.input("x", {1, 3, 16, 16}), t.constant("w", {8, 3, 3, 3})};
  if (has_bias) operands.push_back(t.constant("c", {8}));
  const TermId conv = t.call("Conv", operands, {{"pads", {1, 1, 1, 1}}, {"kernel_shape", {3, 3}}});
  std::vector<TermId> parameters{conv};
  for (const char* name : {"scale", "bias", "mean", "variance"}) parameters.push_back(t.constant(name, {8}));
  const TermId root = t.call("BatchNormalization", parameters);
  ASSERT_NE(root, no_term);
  const Found found = discover(t);
  const auto improvement =
      improve(t.terms, {{conv, root}, {root}}, rules_of(found), operation_cost(), SaturationOptions{});
  ASSERT_TRUE(improvement) << found.text();
  const Terms& terms = improvement->graph->terms();
  EXPECT_TRUE(terms.is(improvement->to[0], "Conv")) << print(terms, improvement->to[0]) << "\n"
                                                    << found.text();
}

TEST(Discovery, BatchNormalizationIntoAConvolution) { expect_normalization_disappears(false); }
TEST(Discovery, BatchNormalizationIntoAConvolutionWithABias) { expect_normalization_disappears(true); }

TEST(Discovery, WhatIsFalseIsNotFound) {
  SmallTerms t;
  const TermId x = t.input("x", {n, 10}), y = t.input("y", {n, 10});
  t.call("Relu", {t.call("Add", {x, y})});
  t.call("Exp", {t.call("Mul", {x, y})});
  const Found found = discover(t);
  for (const auto& [id, rule] : found.rules.rules())
    EXPECT_NE(rule->equality.verdict, verify::Verdict::proved) << equation(*rule);
}

TEST(Discovery, RulesHoldForOtherSizesThanTheModels) {
  SmallTerms t;
  const TermId x = t.input("x", {16, 16}), w = t.constant("w", {16, 16}), s = t.constant("s", {});
  t.call("Mul", {t.call("MatMul", {x, w}), s});
  const Found found = discover(t);
  std::vector<std::shared_ptr<const Rule>> rules;
  for (const auto& [id, rule] : found.rules.rules()) {
    // That they hold is the question here, not whether factors may overflow.
    auto equal = std::make_shared<Rule>(*rule);
    equal->safety.verdict = equal->safety_back.verdict = verify::Verdict::proved;
    rules.push_back(equal);
  }
  SmallTerms other;
  const TermId y = other.input("y", {n, 30}), v = other.constant("v", {30, 40}), r = other.constant("r", {});
  const TermId left = other.call("Mul", {other.call("MatMul", {y, v}), r});
  const TermId right = other.call("MatMul", {y, other.call("Mul", {v, r})});
  EGraph graph;
  graph.terms() = other.terms;
  saturate(graph, rules);
  EXPECT_TRUE(graph.equal(left, right)) << found.text();
}

TEST(Discovery, FindsTheSameAgainAndNothingNew) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), s = t.constant("s", {});
  t.call("Mul", {t.call("MatMul", {x, w}), s});
  const Found one = discover(t), two = discover(t);
  EXPECT_EQ(one.text(), two.text());
  // The same layer with other sizes is the same site.
  SmallTerms both = t;
  const TermId y = both.input("y", {9, 17}), v = both.constant("v", {17, 25});
  both.call("Mul", {both.call("MatMul", {y, v}), s});
  EXPECT_EQ(discover(both).rules.size(), one.rules.size());
  EXPECT_EQ(discover(both).counts.different, one.counts.different);
}

TEST(Trials, TellDifferentTermsApart) {
  SmallTerms t;
  const TermId x = t.input("x", {n, m}), y = t.input("y", {n, m});
  Trials trials(t.terms);
  EXPECT_TRUE(trials.same(t.call("Neg", {t.call("Sub", {x, y})}), t.call("Sub", {y, x})));
  EXPECT_FALSE(trials.same(t.call("Sub", {x, y}), t.call("Sub", {y, x})));
  EXPECT_FALSE(trials.same(t.call("Relu", {x}), x));
}

}  // namespace
}  // namespace axrun::tests
