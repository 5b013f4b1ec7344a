// Congruence, and explanations that can be checked.
#include "search/algebra/egraph.h"

#include <gtest/gtest.h>

#include "search/algebra/matching.h"
#include "search/algebra/saturation.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

/// Rules that are believed: here nothing is proved.
Prover believer() {
  return [](const Sides&, const std::vector<ir::loop::Size>&) {
    const verify::Evidence yes{verify::Verdict::proved, "believed", 0};
    return IdentityEvidence{yes, yes, yes};
  };
}

std::shared_ptr<Rule> believed(const Terms& terms, const std::vector<TermId>& left,
                               const std::vector<TermId>& right) {
  auto rule = std::make_shared<Rule>(canonical(terms, left, right));
  establish(*rule, believer());
  return rule;
}

std::shared_ptr<Rule> relu_twice() {
  SmallTerms t;
  const TermId x = t.input("x", {n, m});
  return believed(t.terms, {t.call("Relu", {t.call("Relu", {x})})}, {t.call("Relu", {x})});
}

/// (x y) s = x (y s) with a number s.
std::shared_ptr<Rule> scale_into_weights() {
  SmallTerms t;
  const TermId x = t.input("x", {n, k}), w = t.input("w", {k, m}), s = t.input("s", {});
  return believed(t.terms, {t.call("Mul", {t.call("MatMul", {x, w}), s})},
                  {t.call("MatMul", {x, t.call("Mul", {w, s})})});
}

TEST(EGraph, CongruenceIsRestored) {
  EGraph graph;
  SmallTerms t;
  t.terms = graph.terms();
  const TermId x = t.input("x", {4, 5});
  const TermId once = t.call("Relu", {x}), twice = t.call("Relu", {once});
  const TermId left = t.call("Exp", {t.call("Neg", {twice})}), right = t.call("Exp", {t.call("Neg", {once})});
  const TermId other = t.call("Exp", {t.call("Neg", {x})});
  graph.terms() = t.terms;
  graph.take_in();
  EXPECT_FALSE(graph.equal(left, right));
  const Saturation saturation = saturate(graph, {relu_twice()});
  EXPECT_TRUE(graph.equal(left, right));
  EXPECT_FALSE(graph.equal(left, other));
  EXPECT_EQ(saturation.stopped, StopReason::saturated);

  const Explanation explanation = graph.explain(left, right);
  EXPECT_EQ(replay(explanation, graph.terms()), std::nullopt);
  EXPECT_EQ(explanation.uses.size(), 1U);
  EXPECT_TRUE(explanation.safe);
}

TEST(EGraph, ExplanationsThatLieAreRefused) {
  EGraph graph;
  SmallTerms t;
  const TermId x = t.input("x", {4, 5}), y = t.input("y", {4, 5});
  const TermId left = t.call("Exp", {t.call("Relu", {t.call("Relu", {x})})}),
               right = t.call("Exp", {t.call("Relu", {x})});
  t.call("Relu", {y});
  graph.terms() = t.terms;
  graph.take_in();
  saturate(graph, {relu_twice()});
  const Explanation explanation = graph.explain(left, right);
  ASSERT_EQ(replay(explanation, graph.terms()), std::nullopt);
  for (size_t step = 0; step < explanation.steps.size(); ++step) {
    Explanation shorter = explanation;
    shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(step));
    EXPECT_NE(replay(shorter, graph.terms()), std::nullopt) << "without step " << step;
    Explanation other = explanation;
    if (other.steps[step].rule) {
      for (auto& [variable, value] : other.steps[step].substitution) value = y;
    } else {
      other.steps[step].left_children[0] = y;
    }
    EXPECT_NE(replay(other, graph.terms()), std::nullopt) << "with another step " << step;
  }
  for (Link link : explanation.steps) {
    // One link that leads somewhere else.
    link.right = y;
    Explanation forged;
    forged.from = link.left;
    forged.to = y;
    forged.steps = {link};
    EXPECT_NE(replay(forged, graph.terms()), std::nullopt);
  }
  Explanation elsewhere = explanation;
  elsewhere.to = y;
  EXPECT_NE(replay(elsewhere, graph.terms()), std::nullopt);
  Explanation unproved = explanation;
  for (Link& link : unproved.steps) {
    if (!link.rule) continue;
    auto rule = std::make_shared<Rule>(*link.rule);
    rule->established = false;
    link.rule = rule;
  }
  EXPECT_NE(replay(unproved, graph.terms()), std::nullopt);
}

TEST(EGraph, RulesThatAreNotProvedAreNotApplied) {
  for (int missing = 0; missing < 3; ++missing) {
    const std::shared_ptr<Rule> rule = relu_twice();
    if (missing == 0) rule->established = false;
    if (missing == 1) rule->equality.verdict = verify::Verdict::unknown;
    if (missing == 2) rule->safety.verdict = rule->safety_back.verdict = verify::Verdict::unknown;
    EGraph graph;
    SmallTerms t;
    const TermId x = t.input("x", {4, 5});
    const TermId twice = t.call("Relu", {t.call("Relu", {x})}), once = t.call("Relu", {x});
    graph.terms() = t.terms;
    saturate(graph, {rule});
    EXPECT_FALSE(graph.equal(twice, once)) << missing;
  }
}

TEST(EGraph, SizesOfRulesMustFit) {
  // x[n, 1] * y = y * x[n, 1] with both sides the same is no rule; a rule for [n, k] is none for [2, n, k].
  EGraph graph;
  SmallTerms t;
  const TermId x = t.input("x", {4, 5, 6});
  const TermId twice = t.call("Relu", {t.call("Relu", {x})}), once = t.call("Relu", {x});
  graph.terms() = t.terms;
  saturate(graph, {relu_twice()});
  EXPECT_FALSE(graph.equal(twice, once));
}

TEST(EGraph, ProductsOfSeveralMatchPatternsOfTwo) {
  EGraph graph;
  SmallTerms t;
  const TermId x = t.input("x", {7, 5}), w = t.constant("w", {5, 6});
  const TermId s = t.constant("s", {}), r = t.constant("r", {}), y = t.input("y", {7, 6});
  const TermId product = t.call("MatMul", {x, w});
  const TermId whole = t.call("Mul", {t.call("Mul", {s, product}), t.call("Mul", {r, y})});
  ASSERT_EQ(t.terms[whole].children.size(), 4U);
  const TermId inside = t.call("MatMul", {x, t.call("Mul", {w, s})});
  const TermId other = t.call("Mul", {inside, r, y});
  const TermId both = t.call("Mul", {t.call("MatMul", {x, t.call("Mul", {w, s, r})}), y});
  graph.terms() = t.terms;
  saturate(graph, {scale_into_weights()});
  EXPECT_TRUE(graph.equal(whole, other));
  EXPECT_TRUE(graph.equal(whole, both));
  EXPECT_EQ(replay(graph.explain(whole, both), graph.terms()), std::nullopt);
}

TEST(EGraph, IndexMapsComposeThroughClasses) {
  // transpose(relu(transpose x)): relu moves out, and the transpositions are none.
  SmallTerms p;
  const TermId a = p.input("a", {n, m});
  const auto rule = believed(p.terms, {p.call("Relu", {p.call("Transpose", {a}, {{"perm", {1, 0}}})})},
                             {p.call("Transpose", {p.call("Relu", {a})}, {{"perm", {1, 0}}})});
  SmallTerms t;
  const TermId x = t.input("x", {4, 5});
  const TermId inner = t.call("Relu", {t.call("Transpose", {x}, {{"perm", {1, 0}}})});
  const TermId whole = t.call("Transpose", {inner}, {{"perm", {1, 0}}}), plain = t.call("Relu", {x});
  EGraph graph;
  graph.terms() = t.terms;
  saturate(graph, {rule});
  ASSERT_TRUE(graph.equal(whole, plain));
  EXPECT_EQ(replay(graph.explain(whole, plain), graph.terms()), std::nullopt);
}

TEST(EGraph, BoundsHoldAndResultsRepeat) {
  const auto run = [&] {
    SmallTerms t;
    std::vector<TermId> factors;
    const TermId x = t.input("x", {7, 5});
    TermId whole = t.call("MatMul", {x, t.constant("w", {5, 6})});
    for (int f = 0; f < 6; ++f) whole = t.call("Mul", {whole, t.constant("s" + std::to_string(f), {})});
    EGraph graph({100});
    graph.terms() = t.terms;
    SaturationOptions options;
    options.most_terms = 100;
    const Saturation saturation = saturate(graph, {scale_into_weights()}, options);
    std::string text;
    for (TermId id = 0; id < graph.terms().size(); ++id) text += std::to_string(graph.find(id)) + " ";
    EXPECT_EQ(saturation.stopped, StopReason::terms);
    EXPECT_LT(graph.terms().size(), 200);
    return text;
  };
  EXPECT_EQ(run(), run());
}

TEST(Extraction, ConstantsAreFoldedWhereThatPays) {
  SmallTerms t;
  const TermId x = t.input("x", {64, 32}), w = t.constant("w", {32, 48}), s = t.constant("s", {});
  const TermId whole = t.call("Mul", {t.call("MatMul", {x, w}), s});
  const auto improvement =
      improve(t.terms, windows_of(t.terms, {whole})[0], {scale_into_weights()}, operation_cost());
  ASSERT_TRUE(improvement);
  EXPECT_LT(improvement->after, improvement->before);
  EXPECT_NE(improvement->text.find("mul-matmul-"), std::string::npos);
  // Where the factor is an input there is nothing to gain.
  const TermId input = t.input("r", {});
  const TermId open = t.call("Mul", {t.call("MatMul", {x, w}), input});
  const auto none =
      improve(t.terms, windows_of(t.terms, {open})[0], {scale_into_weights()}, operation_cost());
  EXPECT_TRUE(!none || none->after < none->before);
}

}  // namespace
}  // namespace axrun::tests
