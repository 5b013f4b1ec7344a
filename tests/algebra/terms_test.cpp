// Normal forms: what is equal by composition of index maps, or by the order of terms of a sum, is one term.
#include "search/algebra/terms.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/scanner.h"
#include "search/algebra/rule.h"
#include "tests/algebra/small_terms.h"

namespace axrun::tests {
namespace {

using namespace search::algebra;

TEST(Terms, TranspositionsCompose) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 3, n});
  const TermId once = t.call("Transpose", {x}, {{"perm", {1, 2, 0}}});
  EXPECT_NE(once, x);
  EXPECT_EQ(t.call("Transpose", {once}, {{"perm", {2, 0, 1}}}), x);
  EXPECT_EQ(t.call("Transpose", {once}, {{"perm", {1, 2, 0}}}),
            t.call("Transpose", {x}, {{"perm", {2, 0, 1}}}));
}

TEST(Terms, WhatOnlyMovesDimsOfOneIsAReshape) {
  SmallTerms t;
  const TermId x = t.input("x", {1, 3, n});
  const TermId moved = t.call("Transpose", {x}, {{"perm", {1, 0, 2}}});
  EXPECT_TRUE(t.terms.is(moved, "Reshape"));
  EXPECT_EQ(moved, t.call("Reshape", {x}, {}, {{3, 1, n}}));
  EXPECT_EQ(t.call("Reshape", {moved}, {}, {{1, 3, n}}), x);
}

TEST(Terms, SlicesOfSlicesAreSlices) {
  SmallTerms t;
  const TermId x = t.input("x", {10, n});
  const TermId outer = t.call("Slice", {x}, {}, {{2}, {9}, {0}});
  const TermId inner = t.call("Slice", {outer}, {}, {{1}, {-1}, {0}});
  EXPECT_EQ(inner, t.call("Slice", {x}, {}, {{3}, {8}, {0}}));
  EXPECT_EQ(t.call("Slice", {x}, {}, {{0}, {int64_t{1} << 40}, {0}}), x);
}

TEST(Terms, SumsAreFlatAndSorted) {
  SmallTerms t;
  const TermId a = t.input("a", {n}), b = t.input("b", {n}), c = t.input("c", {m, n});
  const TermId left = t.call("Add", {t.call("Add", {a, b}), c}),
               right = t.call("Add", {b, t.call("Add", {c, a})});
  EXPECT_EQ(left, right);
  EXPECT_EQ(t.terms[left].children.size(), 3U);
  EXPECT_NE(t.call("Sub", {a, b}), t.call("Sub", {b, a}));
}

TEST(Terms, UndefinedOperationsHaveNoTerm) {
  SmallTerms t;
  const TermId a = t.input("a", {2, 3}), b = t.input("b", {4, 5});
  EXPECT_EQ(t.call("MatMul", {a, b}), no_term);
  EXPECT_EQ(t.call("Relu", {no_term}), no_term);
}

TEST(Terms, MeaningIsThatOfTheOperators) {
  SmallTerms t;
  const TermId x = t.input("x", {2, 3}), y = t.input("y", {3, 2});
  const TermId turned = t.call("Transpose", {t.call("MatMul", {x, y})}, {{"perm", {1, 0}}});
  const TermId sum = t.call("Add", {turned, t.number(1), t.number(2)});
  const ir::Program program = program_of(t.terms, {sum, x}, {x, y});
  EXPECT_TRUE(ir::violations(program).empty());
  ir::Tensor a = ir::Tensor::allocate(ir::ElementType::f32, {2, 3}),
             b = ir::Tensor::allocate(ir::ElementType::f32, {3, 2});
  for (int64_t k = 0; k < 6; ++k)
    a.set_real(k, static_cast<double>(k)), b.set_real(k, static_cast<double>(k * k));
  const auto results = ir::evaluate(program, {a, b});
  // (x y)^T + 3: row 0 of x is 0 1 2, row 1 is 3 4 5; columns of y are 0 4 16 and 1 9 25.
  EXPECT_EQ(results[0].get_real(0), 36 + 3);
  EXPECT_EQ(results[0].get_real(1), 96 + 3);
  EXPECT_EQ(results[0].get_real(2), 59 + 3);
  EXPECT_EQ(results[1].get_real(5), 5);
}

TEST(Terms, OperationsHaveTexts) {
  for (const char* text :
       {"MatMul@1", "Transpose@1{perm=I[1,0]}", "Reshape@5<_p>", "Split@1^1{axis=i-1}",
        "LeakyRelu@1{alpha=r0.1}", "com.microsoft:Gelu@1", "Resize@10{mode=s\"nearest\"}",
        "Slice@1{axes=I[0,1];ends=I[9223372036854775807,-1];starts=I[0,-9223372036854775808]}"}) {
    ir::text::Scanner in(text);
    try {
      EXPECT_EQ(parse_operation(in).key(), text);
    } catch (const Error& error) {
      ADD_FAILURE() << text << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace axrun::tests
