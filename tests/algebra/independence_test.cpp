// Which identities are one and the same, and which follow from others.
#include "search/algebra/independence.h"

#include <gtest/gtest.h>

#include "search/algebra/discovery.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

std::shared_ptr<Rule> believed(const SmallTerms& t, TermId left, TermId right) {
  auto rule = std::make_shared<Rule>(canonical(t.terms, {left}, {right}));
  rule->equality = rule->safety = rule->safety_back = {verify::Verdict::proved, "", 0};
  rule->established = true;
  return rule;
}

/// relu past a concatenation of so many.
std::shared_ptr<Rule> relu_past_concat(int count, const ir::Dims& dims, bool swapped) {
  SmallTerms t;
  std::vector<TermId> inputs, outputs;
  for (int i = 0; i < count; ++i) {
    inputs.push_back(t.input("x" + std::to_string(i), dims));
    outputs.push_back(t.call("Relu", {inputs.back()}));
  }
  const TermId a = t.call("Relu", {t.call("Concat", inputs, {{"axis", {0}}})});
  const TermId b = t.call("Concat", outputs, {{"axis", {0}}});
  return swapped ? believed(t, b, a) : believed(t, a, b);
}

std::shared_ptr<Rule> scale_past_product(const ir::Dims& scale, bool left_operand) {
  SmallTerms t;
  const TermId x = t.input("x", {n, k}), w = t.input("w", {k, m}), s = t.input("s", scale);
  const TermId scaled = t.call("Mul", {left_operand ? x : w, s});
  return believed(t, t.call("Mul", {t.call("MatMul", {x, w}), s}),
                  t.call("MatMul", {left_operand ? scaled : x, left_operand ? w : scaled}));
}

TEST(Forms, AreOneUpToRankOrderAndNumberOfParts) {
  const std::string form = form_of(*relu_past_concat(2, {n}, false));
  EXPECT_FALSE(form.empty());
  EXPECT_EQ(form, form_of(*relu_past_concat(2, {n, m}, false)));
  EXPECT_EQ(form, form_of(*relu_past_concat(2, {n, m}, true)));
  EXPECT_EQ(form, form_of(*relu_past_concat(4, {n}, true)));
  EXPECT_EQ(form_of(*scale_past_product({}, true)), form_of(*scale_past_product({1, 1}, true)));
}

TEST(Forms, TellOperandsAndOperatorsApart) {
  EXPECT_NE(form_of(*scale_past_product({}, true)), form_of(*scale_past_product({}, false)));
  EXPECT_NE(form_of(*scale_past_product({}, true)), form_of(*relu_past_concat(2, {n}, false)));
}

TEST(Forms, AreEmptyWhereOnlyTheRankDiffers) {
  SmallTerms t;
  const TermId x = t.input("x", {n, m});
  const TermId lifted = t.call("Relu", {t.terms.reshape(x, {1, n, m})});
  EXPECT_EQ(form_of(*believed(t, lifted, t.terms.reshape(t.call("Relu", {x}), {1, n, m}))), "");
}

TEST(Independence, LeavesOutWhatFollows) {
  RuleSet set;
  set.add(relu_past_concat(2, {n}, false));
  set.add(relu_past_concat(3, {n}, false));
  set.add(scale_past_product({}, true));
  SmallTerms t;
  const TermId x = t.input("x", {n});
  const TermId once = t.call("Relu", {x}), twice = t.call("Relu", {once}), thrice = t.call("Relu", {twice});
  set.add(believed(t, twice, once));
  EXPECT_EQ(independent_identities(set).identities.size(), 3U);
  set.add(believed(t, thrice, once));  // follows
  const Independence found = independent_identities(set);
  EXPECT_EQ(found.rules, 5U);
  EXPECT_EQ(found.forms, 4U);
  EXPECT_EQ(found.identities.size(), 3U);
  // What is not proved counts for nothing, nor what is safe in neither direction.
  auto unproved = believed(t, thrice, t.call("Neg", {x}));
  unproved->equality.verdict = verify::Verdict::unknown;
  set.add(unproved);
  auto unsafe = believed(t, t.call("Exp", {t.call("Log", {x})}), x);
  unsafe->safety.verdict = unsafe->safety_back.verdict = verify::Verdict::unknown;
  set.add(unsafe);
  EXPECT_EQ(independent_identities(set).identities.size(), 3U);
}

TEST(Independence, SaysWhereARuleMayBeApplied) {
  SmallTerms t;
  const TermId x = t.input("x", {8, 16}), w = t.constant("w", {16, 24}), s = t.constant("s", {});
  const TermId root = t.call("Mul", {t.call("MatMul", {x, w}), s});
  RuleSet rules;
  DiscoveryOptions options;
  options.prover = prover_here();
  Discovery(rules, options).examine(t.terms, "model", [&](TermId id) {
    return id == root ? "scores" : "another";
  });
  ASSERT_GT(rules.size(), 0U);
  for (const auto& [id, rule] : rules.rules()) EXPECT_EQ(rule->origin, "model at scores");
}

TEST(Stores, AreCompared) {
  RuleSet first, second;
  for (RuleSet* set : {&first, &second}) set->add(relu_past_concat(2, {n}, false));
  second.add(scale_past_product({}, true));
  SetComparison found = compared(first, second);
  EXPECT_EQ(found.both, 1U);
  EXPECT_TRUE(found.differing.empty());
  EXPECT_EQ(found.only_second_proved.size(), 1U);
  first.rules().begin()->second->safety.verdict = verify::Verdict::unknown;
  found = compared(first, second);
  EXPECT_EQ(found.differing.size(), 1U);
}

}  // namespace
}  // namespace axrun::tests
