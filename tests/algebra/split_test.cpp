// Reductions by parts, found in what models compute without being told: online softmax, log-sum-exp, mean and
// variance, norms past products; and that what is nearly right is refuted.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate.h"
#include "ir/known_scalars.h"
#include "search/algebra/discovery.h"
#include "search/algebra/egraph.h"
#include "tests/algebra/small_terms.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;
using verify::Verdict;

struct FoundSplits {
  RuleSet rules;
  DiscoveryCounts counts;

  std::string text() const {
    std::string text;
    for (const auto& [id, split] : rules.splits()) text += print(split, rules);
    return text;
  }
  /// Of what is called so, the first whose rules are all proved, and safe or not; null where there is none.
  const Split* of(const std::string& what, bool safe = true) const {
    for (const auto& [id, split] : rules.splits())
      if (split.of == what && rules.standing(split).proved && rules.standing(split).usable == safe)
        return &split;
    return nullptr;
  }
  std::string says(const std::string& id) const { return equation(*rules.find(id)); }
};

FoundSplits discovered_splits(const SmallTerms& t) {
  FoundSplits found;
  DiscoveryOptions options;
  options.prover = prover_here();
  Discovery discovery(found.rules, options);
  found.counts = discovery.examine(t.terms, "test");
  return found;
}

FoundSplits attention(const ir::Dims& scores = {2, 12, 40}) {
  SmallTerms t;
  ir::Dims values = scores;
  values[1] = scores[2];
  values[2] = 16;
  t.call("MatMul", {t.softmax(t.input("x", scores), -1), t.input("v", values)});
  return discovered_splits(t);
}

TEST(Split, SoftmaxPastAProductIsOnline) {
  const FoundSplits found = attention();
  const Split* split = found.of("MatMul(Softmax(a), b)");
  ASSERT_NE(split, nullptr) << found.text();
  ASSERT_EQ(split->state.size(), 3U) << found.text();
  EXPECT_EQ(found.says(split->state[0].init), "ReduceMax(a) = a");
  EXPECT_EQ(found.says(split->state[0].combine), "ReduceMax(Concat(a, b)) = Max(ReduceMax(a), ReduceMax(b))");
  EXPECT_EQ(found.says(split->state[2].init), "ReduceSum(Exp(Sub(a, ReduceMax(a)))) = Expand(1)");
  EXPECT_EQ(found.says(split->state[2].combine),
            "ReduceSum(Exp(Sub(Concat(a, b), ReduceMax(Concat(a, b))))) = "
            "Add(Mul(Exp(Sub(ReduceMax(a), Max(ReduceMax(a), ReduceMax(b)))), "
            "ReduceSum(Exp(Sub(a, ReduceMax(a))))), "
            "Mul(Exp(Sub(ReduceMax(b), Max(ReduceMax(a), ReduceMax(b)))), "
            "ReduceSum(Exp(Sub(b, ReduceMax(b))))))");
  EXPECT_EQ(found.says(split->finish),
            "MatMul(Softmax(a), b) = Div(MatMul(Exp(Sub(a, ReduceMax(a))), b), "
            "ReduceSum(Exp(Sub(a, ReduceMax(a)))))");
  EXPECT_TRUE(found.rules.find(split->state[2].combine)->of_parts);
  // Of any sizes: those of parts have names of their own.
  for (const ir::loop::Size& size : found.rules.find(split->state[2].combine)->sizes) {
    EXPECT_EQ(size.low, 1);
    EXPECT_EQ(size.high, largest_size);
  }
  EXPECT_NE(found.of("Softmax(a)"), nullptr) << found.text();
}

TEST(Split, SizesOfTheModelDoNotMatter) {
  const FoundSplits one = attention(), other = attention({3, 7, 24});
  const Split* split = one.of("MatMul(Softmax(a), b)");
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(other.rules.splits().count(split->id), 1U) << other.text();
}

TEST(Split, SoftmaxOfPlainOperators) {
  SmallTerms t;
  const TermId x = t.input("x", {12, 40}), v = t.input("v", {40, 16});
  const TermId power =
      t.call("Exp", {t.call("Sub", {x, t.call("ReduceMax", {x}, {{"axes", {1}}, {"keepdims", {1}}})})});
  const TermId total = t.call("ReduceSum", {power}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("MatMul", {t.call("Div", {power, total}), v});
  const FoundSplits found = discovered_splits(t);
  EXPECT_NE(found.of("ReduceSum(Exp(Sub(a, ReduceMax(a))))"), nullptr) << found.text();
}

TEST(Split, LogSoftmax) {
  SmallTerms t;
  t.call("LogSoftmax", {t.input("x", {12, 40})}, {{"axis", {1}}});
  const FoundSplits found = discovered_splits(t);
  EXPECT_NE(found.of("LogSoftmax(a)"), nullptr) << found.text();
}

/// Mean and sum of squared differences from it, in one pass; of the mean of squares less the square of the
/// mean, which is equal as well, it is seen that it cancels.
TEST(Split, MeanAndVarianceInOnePass) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40});
  const TermId mean = t.call("ReduceMean", {x}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("ReduceMean", {t.call("Pow", {t.call("Sub", {x, mean}), t.number(2)})},
         {{"axes", {1}}, {"keepdims", {1}}});
  const FoundSplits found = discovered_splits(t);
  const char* variance = "ReduceMean(Pow(Sub(a, ReduceMean(a)), 2))";
  const Split* centred = found.of(variance);
  ASSERT_NE(centred, nullptr) << found.text();
  EXPECT_EQ(centred->state.size(), 3U) << found.text();
  EXPECT_EQ(found.says(centred->state[2].init),
            "ReduceSum(Pow(Sub(a, Div(ReduceSum(a), ReduceSum(1))), 2)) = Expand(0)");
  const Split* squares = found.of(variance, false);
  ASSERT_NE(squares, nullptr) << found.text();
  for (const Split::Component& component : squares->state)
    EXPECT_TRUE(found.rules.find(component.combine)->usable()) << found.text();
  EXPECT_FALSE(found.rules.find(squares->finish)->usable());
}

TEST(Split, RootMeanSquarePastAProduct) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40}), w = t.constant("w", {40, 24}), e = t.number(0.00001);
  const TermId norm = t.call("ReduceMean", {t.call("Mul", {x, x})}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("MatMul", {t.call("Div", {x, t.call("Sqrt", {t.call("Add", {norm, e})})}), w});
  const FoundSplits found = discovered_splits(t);
  const Split* split = found.of("MatMul(Div(a, Sqrt(Add(b, ReduceMean(Mul(a, a))))), c)");
  ASSERT_NE(split, nullptr) << found.text();
  EXPECT_EQ(found.says(split->state[0].combine),
            "MatMul(Concat(a, b), Concat(c, d)) = Add(MatMul(a, c), MatMul(b, d))");
}

TEST(Split, NothingWhereNoReductionReadsAnother) {
  SmallTerms t;
  const TermId x = t.input("x", {12, 40}), w = t.input("w", {40, 16});
  t.call("MatMul", {t.call("Relu", {x}), w});
  t.call("ReduceMean", {t.call("Exp", {x})}, {{"axes", {1}}, {"keepdims", {1}}});
  // Along another axis.
  t.softmax(t.call("ReduceMax", {x}, {{"axes", {1}}, {"keepdims", {1}}}), 0);
  const FoundSplits found = discovered_splits(t);
  for (const auto& [id, split] : found.rules.splits()) EXPECT_EQ(split.of, "Softmax(a)") << found.text();
}

// What is nearly right.

/// The right side with one operation changed: without it where an argument has its dims, or with its
/// arguments swapped.
std::vector<std::pair<std::string, TermId>> variants(Terms& terms, TermId root) {
  std::vector<std::pair<std::string, TermId>> list;
  const auto with = [&](TermId from, TermId to) {
    std::map<TermId, TermId> made{{from, to}};
    for (const TermId id : reached_from(terms, {root})) {
      if (made.count(id) != 0) continue;
      const Term term = terms[id];
      TermId copy = id;
      if (term.operation >= 0) {
        std::vector<TermId> children;
        for (const TermId child : term.children) children.push_back(made.at(child));
        copy = terms.make(term.operation, term.parameters, children);
      }
      made.emplace(id, copy);
    }
    return made.at(root);
  };
  for (const TermId id : reached_from(terms, {root})) {
    const Term term = terms[id];
    if (term.operation < 0) continue;
    for (const TermId child : term.children)
      if (terms[child].facts.dims == term.facts.dims)
        list.emplace_back(terms.name(id) + " left out", with(id, child));
    const std::string name = terms.name(id);
    const std::vector<TermId> all = reached_from(terms, {root});
    // A square does not tell.
    const bool squared = std::any_of(all.begin(), all.end(), [&](TermId user) {
      return terms.is(user, "Pow") && terms[user].children[0] == id;
    });
    if (!squared && (name == "Sub" || name == "Div"))
      list.emplace_back(name + " swapped",
                        with(id, terms.make(term.operation, {}, {term.children[1], term.children[0]})));
  }
  std::erase_if(list, [&](const auto& one) {
    return one.second == no_term || one.second == root ||
           terms[one.second].facts.dims != terms[root].facts.dims;
  });
  return list;
}

verify::Evidence proof_of(Rule rule, TermId right) {
  rule.right = {right};
  const Sides both = sides(rule);
  verify::ProofOptions options;
  options.seconds = 5;
  options.solver_milliseconds = 500;
  options.counterexample_seconds = 5;
  return verify::prove_equal(both.left, both.right, rule.sizes, options);
}

/// Without rescaling, with a factor's sign turned, with the maximum of one part for that of both, without the
/// difference of means: all of it differs where it is run.
void expect_variants_refuted(const FoundSplits& found, const Split& split, size_t least) {
  size_t tried = 0;
  for (const Split::Component& component : split.state) {
    Rule rule = *found.rules.find(component.combine);
    for (const auto& [what, right] : variants(rule.terms, rule.right[0])) {
      const verify::Evidence evidence = proof_of(rule, right);
      EXPECT_EQ(evidence.verdict, Verdict::refuted) << what << " in " << equation(rule) << "\n"
                                                    << print(rule.terms, right) << "\n"
                                                    << evidence.text;
      ++tried;
    }
  }
  EXPECT_GE(tried, least);
}

TEST(Split, VariantsOfOnlineSoftmaxAreRefuted) {
  const FoundSplits found = attention();
  const Split* split = found.of("MatMul(Softmax(a), b)");
  ASSERT_NE(split, nullptr);
  expect_variants_refuted(found, *split, 20);
}

TEST(Split, VariantsOfVarianceAreRefuted) {
  SmallTerms t;
  const TermId x = t.input("x", {3, 40});
  const TermId mean = t.call("ReduceMean", {x}, {{"axes", {1}}, {"keepdims", {1}}});
  t.call("ReduceMean", {t.call("Pow", {t.call("Sub", {x, mean}), t.number(2)})},
         {{"axes", {1}}, {"keepdims", {1}}});
  const FoundSplits found = discovered_splits(t);
  const Split* split = found.of("ReduceMean(Pow(Sub(a, ReduceMean(a)), 2))");
  ASSERT_NE(split, nullptr);
  expect_variants_refuted(found, *split, 10);
}

/// Equal over the reals, and no number where it is run: never safe.
TEST(Split, WithoutTheMaximumItIsNotSafe) {
  SmallTerms t;
  const ir::Dim n = ir::Dim::symbol("n"), k = ir::Dim::symbol("k"), m = ir::Dim::symbol("m");
  const TermId x = t.input("x", {n, k}), v = t.input("v", {k, m});
  const TermId power = t.call("Exp", {x});
  const TermId bare = t.call("Div", {t.call("MatMul", {power, v}),
                                     t.call("ReduceSum", {power}, {{"axes", {1}}, {"keepdims", {1}}})});
  const TermId whole = t.call("MatMul", {t.softmax(x, 1), v});
  Rule rule = canonical(t.terms, {whole}, {bare});
  establish(rule, prover_here());
  EXPECT_EQ(rule.equality.verdict, Verdict::proved) << rule.equality.text;
  EXPECT_NE(rule.safety.verdict, Verdict::proved);
  EXPECT_FALSE(rule.usable());
  const Sides both = sides(rule);
  const std::map<std::string, ir::Dim> sizes{{"n0", 1}, {"n1", 2}, {"n2", 1}};
  ir::Tensor scores = ir::Tensor::allocate(ir::ElementType::f32, {1, 2});
  ir::Tensor values = ir::Tensor::allocate(ir::ElementType::f32, {2, 1});
  for (int64_t at = 0; at < 2; ++at) {
    scores.set_real(at, 200 - static_cast<double>(at));
    values.set_real(at, 1);
  }
  const auto run = [&](const ir::Program& program) {
    // Each stage is rounded to its type, as on a machine.
    return ir::evaluate(ir::with_known_sizes(program, sizes), {scores, values})[0].get_real(0);
  };
  EXPECT_TRUE(std::isfinite(run(both.left)));
  EXPECT_FALSE(std::isfinite(run(both.right)));
}

TEST(Split, IsKeptWithItsRules) {
  const FoundSplits found = attention();
  const std::string text = found.rules.text();
  const RuleSet read = RuleSet::parse(text);
  ASSERT_EQ(read.splits().size(), found.rules.splits().size());
  EXPECT_EQ(read.text(), text);
  const Split& split = read.splits().begin()->second;
  // What a text says is believed by nobody.
  EXPECT_FALSE(read.standing(split).proved);
  RuleSet again = RuleSet::parse(text);
  again.establish(prover_here());
  EXPECT_TRUE(again.standing(split).usable);
}

}  // namespace
}  // namespace axrun::tests
