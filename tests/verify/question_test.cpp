#include "verify/question.h"

#include <gtest/gtest.h>

#include <random>

#include "verify/answers.h"
#include "verify/ranges.h"
#include "verify/solver.h"

namespace axrun::tests {
namespace {

using verify::Answer;
using verify::Answers;
using verify::Ranges;
using verify::Solver;
using verify::Term;
using verify::TermList;
using verify::Terms;

/// Random facts about a few variables from 0 to 4, such as proofs ask about.
class RandomQuestion {
 public:
  RandomQuestion(Terms& terms, uint64_t seed) : terms_(terms), random_(seed) {
    for (int k = 0; k < 3; ++k) variables.push_back(terms.variable("v", most));
    for (const Term variable : variables) {
      facts.push_back(terms.at_least(variable, terms.integer(0)));
      facts.push_back(terms.at_least(terms.integer(most), variable));
    }
    const int count = 1 + below(4);
    for (int k = 0; k < count; ++k) facts.push_back(truth(2));
  }

  bool satisfiable() { return satisfiable(facts); }
  bool satisfiable(const TermList& facts) {
    const Term all = terms_.all(facts);
    for (int a = 0; a <= most; ++a) {
      for (int b = 0; b <= most; ++b) {
        for (int c = 0; c <= most; ++c) {
          const std::map<Term, Term> values = {{variables[0], terms_.integer(a)},
                                               {variables[1], terms_.integer(b)},
                                               {variables[2], terms_.integer(c)}};
          if (terms_.substitute(all, values) == terms_.truth(true)) return true;
        }
      }
    }
    return false;
  }

  static constexpr int most = 4;
  TermList variables, facts;

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<uint64_t>(end)); }

  Term sum(int depth) {
    Term sum = terms_.integer(below(13) - 6);
    const int count = 1 + below(3);
    for (int k = 0; k < count; ++k) sum = terms_.add(sum, terms_.scale(below(9) - 4, atom(depth)));
    return sum;
  }

  Term atom(int depth) {
    const int kind = depth == 0 ? 0 : below(9);
    switch (kind) {
      case 1:
        return terms_.floor_div(sum(depth - 1), terms_.integer(1 + below(5)));
      case 2:
        return terms_.floor_mod(sum(depth - 1), terms_.integer(1 + below(5)));
      case 3:
        return terms_.minimum(sum(depth - 1), sum(depth - 1));
      case 4:
        return terms_.maximum(sum(depth - 1), sum(depth - 1));
      case 5:
        return terms_.choose(truth(depth - 1), sum(depth - 1), sum(depth - 1));
      case 6:
        return terms_.multiply(sum(0), sum(0));
      default:
        return variables[static_cast<size_t>(below(3))];
    }
  }

  Term truth(int depth) {
    const Term here =
        below(2) == 0 ? terms_.at_least(sum(depth), sum(depth)) : terms_.equal(sum(depth), sum(depth));
    switch (depth == 0 ? 0 : below(6)) {
      case 1:
        return terms_.all({here, truth(depth - 1)});
      case 2:
        return terms_.any({here, truth(depth - 1), truth(depth - 1)});
      case 3:
        return terms_.negation(terms_.all({here, truth(depth - 1)}));
      case 4:
        return terms_.negation(terms_.any({here, truth(depth - 1)}));
      case 5:
        return terms_.negation(here);
      default:
        return here;
    }
  }

  Terms& terms_;
  std::mt19937_64 random_;
};

TEST(Question, RangesAgreeWithAllValues) {
  int no = 0, yes = 0, refuted = 0, found = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    Terms terms;
    RandomQuestion question(terms, seed);
    const bool satisfiable = question.satisfiable();
    (satisfiable ? yes : no)++;
    for (const bool simplified : {false, true}) {
      const TermList facts = simplified ? verify::without_equations(terms, question.facts) : question.facts;
      Ranges ranges(terms);
      for (const Term fact : facts) ranges.add(fact);
      const bool contradict = ranges.contradict(2);
      ASSERT_FALSE(contradict && satisfiable) << "seed " << seed << ": " << terms.text(terms.all(facts));
      const TermList follows = ranges.simpler();
      ASSERT_TRUE(!satisfiable || question.satisfiable(follows))
          << "seed " << seed << ": " << terms.text(terms.all(follows));
      const auto variables = verify::variables_of(terms, facts);
      ASSERT_TRUE(variables);
      const bool somewhere = !contradict && ranges.true_somewhere(terms.all(facts), *variables);
      ASSERT_FALSE(somewhere && !satisfiable) << "seed " << seed << ": " << terms.text(terms.all(facts));
      refuted += contradict ? 1 : 0;
      found += somewhere ? 1 : 0;
    }
  }
  // That they answer at all.
  EXPECT_GT(no, 200);
  EXPECT_GT(refuted, no);
  EXPECT_GT(found, yes / 2);
}

/// With everything that comes before Z3: equations put in, parts asked one by one, answers remembered.
TEST(Question, AnswersAgreeWithAllValues) {
  Answers answers;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Terms terms;
    RandomQuestion question(terms, seed % 200);
    Solver solver(terms, 1000, 60, &answers);
    const Answer answer = solver.satisfiable(question.facts);
    // Z3 takes products for any function.
    if (question.satisfiable()) {
      ASSERT_NE(answer, Answer::no) << "seed " << seed;
    } else if (answer == Answer::yes) {
      ASSERT_NE(terms.text(terms.all(question.facts)).find("product"), std::string::npos) << "seed " << seed;
    }
  }
}

TEST(Question, TextForgetsNamesAndNothingElse) {
  Terms terms;
  const Term a = terms.variable("a", 100), b = terms.variable("b", 100), c = terms.variable("c", 100);
  const auto text = [&](const TermList& facts) { return verify::question_text(terms, facts); };
  const auto less = [&](Term x, Term y, int64_t by) {
    return terms.at_least(y, terms.add(x, terms.integer(by)));
  };
  EXPECT_EQ(text({less(a, b, 1), less(b, c, 2)}), text({less(a, c, 1), less(c, terms.variable("d", 5), 2)}));
  EXPECT_NE(text({less(a, b, 1), less(b, c, 2)}), text({less(a, b, 1), less(b, c, 3)}));
  EXPECT_NE(text({less(a, b, 1), less(b, c, 2)}), text({less(a, b, 1), less(a, c, 2)}));
  const auto third = [&](Term x) { return terms.floor_div(x, terms.integer(3)); };
  const auto rest = [&](Term x) { return terms.floor_mod(x, terms.integer(3)); };
  EXPECT_NE(text({less(third(a), b, 0)}), text({less(rest(a), b, 0)}));
  EXPECT_NE(text({terms.any({less(a, b, 0), less(b, c, 0)})}), text({less(a, b, 0), less(b, c, 0)}));
  const Term first = terms.lookup(1, c, {a, b}), second = terms.lookup(2, c, {a, b});
  EXPECT_NE(text({less(first, a, 0)}), text({less(second, a, 0)}));
  EXPECT_NE(text({less(terms.lookup(1, c, {a, b}), a, 0)}), text({less(terms.lookup(1, c, {b, a}), a, 0)}));
}

TEST(Question, PartsShareNothing) {
  Terms terms;
  const Term a = terms.variable("a", 100), b = terms.variable("b", 100), c = terms.variable("c", 100);
  const Term d = terms.variable("d", 100), zero = terms.integer(0);
  const Term ab = terms.at_least(a, b), cd = terms.at_least(c, d), bc = terms.at_least(b, c);
  EXPECT_EQ(verify::independent_parts(terms, {ab, cd}), (std::vector<TermList>{{cd}, {ab}}));
  EXPECT_EQ(verify::independent_parts(terms, {terms.all({ab, cd}), bc}).size(), 1u);
  // Functions are the same everywhere: what is looked up at a may be looked up at b.
  const Term at_a = terms.lookup(0, terms.integer(9), {a}), at_b = terms.lookup(0, terms.integer(9), {b});
  const Term other = terms.lookup(1, terms.integer(9), {b});
  EXPECT_EQ(verify::independent_parts(terms, {terms.equal(at_a, zero), terms.equal(at_b, zero)}).size(), 1u);
  EXPECT_EQ(verify::independent_parts(terms, {terms.equal(at_a, zero), terms.equal(other, zero)}).size(), 2u);
  EXPECT_EQ(verify::independent_parts(terms, {terms.at_least(terms.multiply(a, b), zero),
                                              terms.at_least(terms.floor_div(c, d), zero)})
                .size(),
            1u);
}

TEST(Question, APartThatIsFalseIsFound) {
  Terms terms;
  Solver solver(terms, 1000, 60);
  const Term a = terms.variable("a", 100), b = terms.variable("b", 100);
  const TermList false_and_true = {terms.less(a, a), terms.at_least(b, a)};
  EXPECT_EQ(solver.satisfiable(false_and_true), Answer::no);
  const Term twice = terms.scale(2, a), odd = terms.equal(twice, terms.integer(7));
  EXPECT_EQ(solver.satisfiable({odd, terms.at_least(b, terms.integer(0))}), Answer::no);
  EXPECT_EQ(solver.satisfiable({terms.at_least(a, b), terms.at_least(b, a)}), Answer::yes);
}

TEST(Answers, AreBounded) {
  Answers answers(100);
  answers.keep("unknown", Answer::unknown);
  EXPECT_FALSE(answers.find("unknown"));
  answers.keep("yes", Answer::yes);
  answers.keep("no", Answer::no);
  EXPECT_EQ(answers.find("yes"), Answer::yes);
  EXPECT_EQ(answers.find("no"), Answer::no);
  answers.keep(std::string(99, 'x'), Answer::no);
  EXPECT_FALSE(answers.find("yes"));
  EXPECT_EQ(answers.find(std::string(99, 'x')), Answer::no);
}

}  // namespace
}  // namespace axrun::tests
