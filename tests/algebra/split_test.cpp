// Reductions by parts, found in what models compute without being told: online softmax, log-sum-exp, mean and
// variance, norms past products.
#include <gtest/gtest.h>

#include "search/algebra/discovery.h"
#include "search/algebra/split_form.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

struct Found {
  RuleSet rules;
  DiscoveryCounts counts;

  std::string text() const {
    std::string text;
    for (const auto& [id, split] : rules.splits()) text += print(split, rules);
    return text;
  }
  /// The first of what is called so, whose rules are all proved and safe; null where there is none.
  const Split* of(const std::string& what) const {
    for (const auto& [id, split] : rules.splits())
      if (split.of == what && rules.standing(split).usable) return &split;
    return nullptr;
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

std::string rule_of(const Found& found, const std::string& id) { return equation(*found.rules.find(id)); }

TEST(Split, SoftmaxPastAProductIsOnline) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 12, 40}), v = t.input("v", {2, 40, 16});
  t.call("MatMul", {t.softmax(x, -1), v});
  const Found found = discover(t);
  const Split* split = found.of("MatMul(Softmax(a), b)");
  ASSERT_NE(split, nullptr) << found.text();
  ASSERT_EQ(split->state.size(), 3U) << found.text();
  EXPECT_EQ(rule_of(found, split->state[0].combine), "ReduceMax(Concat(a, b)) = Max(ReduceMax(a), ReduceMax(b))");
  EXPECT_NE(found.rules.find(split->finish), nullptr);
  std::puts(found.text().c_str());
}

TEST(Split, MeanAndVarianceInOnePass) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40});
  const TermId mean = t.call("ReduceMean", {x}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("ReduceMean", {t.call("Pow", {t.call("Sub", {x, mean}), t.number(2)})}, {{"axes", {1}}, {"keepdims", {1}}});
  const Found found = discover(t);
  std::puts(found.text().c_str());
  for (const auto& [id, rule] : found.rules.rules()) std::printf("%s\n", print(*rule).c_str());
}

TEST(Split, LogSumExp) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40});
  t.call("ReduceLogSumExp", {x}, {{"axes", {1}}, {"keepdims", {1}}});
  const Found found = discover(t);
  std::puts(found.text().c_str());
  for (const auto& [id, rule] : found.rules.rules()) std::printf("%s\n", print(*rule).c_str());
}

TEST(Split, RootMeanSquarePastAProduct) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40}), w = t.constant("w", {40, 24}), e = t.number(0.00001);
  const TermId norm = t.call("ReduceMean", {t.call("Mul", {x, x})}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("MatMul", {t.call("Div", {x, t.call("Sqrt", {t.call("Add", {norm, e})})}), w});
  const Found found = discover(t);
  std::puts(found.text().c_str());
  for (const auto& [id, rule] : found.rules.rules()) std::printf("%s\n", print(*rule).c_str());
}

}  // namespace
}  // namespace axrun::tests
