// Rules as text, in files that nobody vouches for.
#include <gtest/gtest.h>

#include "ir/error.h"
#include "search/algebra/rule_store.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

RuleSet some_rules() {
  const ir::Dim n = ir::Dim::symbol("batch"), m = ir::Dim::symbol("width"), k = ir::Dim::symbol("depth");
  RuleSet set;
  SmallTerms t;
  const TermId x = t.input("x", {n, k}), w = t.input("w", {k, m}), v = t.input("v", {k, n}),
               s = t.input("s", {});
  const auto add = [&](const std::vector<TermId>& left, const std::vector<TermId>& right) {
    auto rule = std::make_shared<Rule>(canonical(t.terms, left, right));
    rule->equality = rule->safety = {verify::Verdict::proved, "so it is said", 0};
    rule->established = true;
    rule->origin = "a \"model\"";
    EXPECT_TRUE(set.add(rule));
  };
  const TermId product = t.call("MatMul", {x, w});
  add({t.call("Mul", {product, s})}, {t.call("MatMul", {x, t.call("Mul", {w, s})})});
  add({t.call("Mul", {product, t.number(0.125)})},
      {t.call("MatMul", {x, t.call("Mul", {w, t.number(0.125)})})});
  const TermId merged = t.call("MatMul", {x, t.call("Concat", {w, v}, {{"axis", {1}}})});
  add({product, t.call("MatMul", {x, v})},
      {t.terms.slice(merged, {0, 0}, {n, m}), t.terms.slice(merged, {0, m}, {n, n})});
  return set;
}

TEST(RuleStore, ReadsWhatItWrote) {
  const RuleSet set = some_rules();
  const std::string text = set.text();
  const RuleSet read = RuleSet::parse(text);
  EXPECT_EQ(read.text(), text);
  ASSERT_EQ(read.size(), 3U);
  for (const auto& [id, rule] : read.rules()) {
    EXPECT_EQ(rule->equality.verdict, verify::Verdict::proved);
    EXPECT_FALSE(rule->established) << "what a file says is not proved here";
    EXPECT_FALSE(rule->usable());
    EXPECT_EQ(statement(*rule), statement(*set.find(id)));
  }
}

TEST(RuleStore, IdsDoNotDependOnNames) {
  const auto id = [](const char* x, const char* size) {
    SmallTerms t;
    const TermId a = t.input(x, {ir::Dim::symbol(size), 3});
    return canonical(t.terms, {t.call("Relu", {t.call("Relu", {a})})}, {t.call("Relu", {a})}).id;
  };
  EXPECT_EQ(id("x", "n"), id("input", "batch"));
}

/// Until they are found by themselves.
TEST(RuleStore, RulesOfReductionsByPartsAloneAreMarked) {
  RuleSet set = some_rules();
  const std::shared_ptr<Rule> rule = set.rules().begin()->second;
  rule->of_parts = true;
  const RuleSet read = RuleSet::parse(set.text());
  EXPECT_EQ(read.text(), set.text());
  for (const auto& [id, one] : read.rules()) EXPECT_EQ(one->of_parts, id == rule->id) << id;
  auto again = std::make_shared<Rule>(*rule);
  EXPECT_FALSE(set.add(again));
  EXPECT_TRUE(rule->of_parts);
  again->of_parts = false;
  EXPECT_TRUE(set.add(again));
  EXPECT_FALSE(rule->of_parts);
  again->of_parts = true;
  EXPECT_FALSE(set.add(again));
  EXPECT_FALSE(rule->of_parts);
}

TEST(RuleStore, RefusesEveryDamage) {
  const std::string text = some_rules().text();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THROW(RuleSet::parse(damaged), Error) << at;
    EXPECT_THROW(RuleSet::parse(std::string_view(text).substr(0, at)), Error) << at;
  }
}

/// With the checksum that belongs to it.
std::string sealed(const std::string& body) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  return "axrun rules 3\n" + body + "checksum \"" + digits + "\"\n";
}

TEST(RuleStore, RefusesWhatMakesNoSense) {
  const std::string rule = print(*some_rules().rules().begin()->second);
  ASSERT_NO_THROW(RuleSet::parse(sealed(rule)));
  EXPECT_THROW(RuleSet::parse(sealed(rule + rule)), Error);  // twice
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = rule;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return sealed(text.replace(at, from.size(), to));
  };
  const std::string deep = [] {
    std::string text = "?a";
    for (int level = 0; level < 100000; ++level) text = "Relu@6(" + text;
    return text;
  }();
  EXPECT_THROW(RuleSet::parse(replaced("left ", "left " + deep)), Error);
  EXPECT_THROW(RuleSet::parse(replaced("left ", "left ?nobody ")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("MatMul@", "NoSuch@")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("MatMul@", "Loop@")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("f32", "string")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("[n0", "[n0, n0, n0, n0, n0, n0, n0, n0, n0, n0")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("[n0", "[9999999999999999999999")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("rule \"", "rule \"other-")), Error);
  EXPECT_THROW(RuleSet::parse(replaced("equal proved", "equal believed")), Error);
}

/// Right against wrong sides: nothing of a text makes it a rule that is applied.
TEST(RuleStore, LiesAreProvedAgain) {
  SmallTerms t;
  const TermId x = t.input("x", {ir::Dim::symbol("n")});
  auto lie = std::make_shared<Rule>(canonical(t.terms, {t.call("Relu", {x})}, {t.call("Neg", {x})}));
  lie->equality = lie->safety = lie->safety_back = {verify::Verdict::proved, "trust me", 0};
  RuleSet set;
  set.add(lie);
  RuleSet read = RuleSet::parse(set.text());
  read.establish(prover_here(5));
  const Rule& rule = *read.rules().begin()->second;
  EXPECT_TRUE(rule.established);
  EXPECT_NE(rule.equality.verdict, verify::Verdict::proved);
  EXPECT_FALSE(rule.usable());
}

class BrokenStore : public RuleStore {
 public:
  std::optional<std::string> load() override { return "axrun rules 3\nnonsense"; }
  void save(const std::string& text) override { saved = text; }
  void reject(const std::string& reason) override { rejected = reason; }
  std::string saved, rejected;
};

TEST(RuleStore, WhatMakesNoSenseIsReportedAndLeftOut) {
  BrokenStore store;
  EXPECT_EQ(RuleSet::load(store).size(), 0U);
  EXPECT_FALSE(store.rejected.empty());
  some_rules().save(store);
  EXPECT_EQ(RuleSet::parse(store.saved).size(), 3U);
}

}  // namespace
}  // namespace axrun::tests
