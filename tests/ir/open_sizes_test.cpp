#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/open_program.h"
#include "ir/sizes_at_hand.h"
#include "ir/text.h"
#include "ir/view.h"

namespace axrun::ir {
namespace {

using Relation = SizeGuard::Relation;

const Dim n = Dim::symbol("n");
const Dim m = Dim::symbol("m");

TEST(SizesAtHand, NoteWhatTheyDecide) {
  SizesAtHand sizes({{"n", 3}, {"m", 8}});
  EXPECT_EQ(sizes.equal(n, m), false);
  EXPECT_EQ(sizes.at_least(m, n * 2), true);
  EXPECT_EQ(sizes.at_least(n, Dim(4)), false);
  EXPECT_EQ(sizes.fix(n + m), 11);
  EXPECT_EQ(sizes.equal(n, m), false) << "a second time";
  const std::vector<SizeGuard> expected = {{n - m, Relation::nonzero},
                                           {m - n * 2, Relation::at_least_zero},
                                           {n - 4, Relation::below_zero},
                                           {n + m - 11, Relation::zero}};
  EXPECT_EQ(sizes.guards(), expected);
  EXPECT_EQ(sizes.guards()[2].to_string(), "n - 4 < 0");
}

TEST(SizesAtHand, SayNothingOfOtherNames) {
  SizesAtHand sizes({{"n", 3}});
  EXPECT_EQ(sizes.equal(n, m), std::nullopt);
  EXPECT_EQ(sizes.at_least(m, n), std::nullopt);
  EXPECT_EQ(sizes.fix(m), std::nullopt);
  EXPECT_EQ(sizes.value(n * n), 9);
  EXPECT_TRUE(sizes.guards().empty());
}

TEST(SizesAtHand, AdoptGuardsAllOrNone) {
  SizesAtHand sizes({{"n", 3}});
  EXPECT_FALSE(sizes.adopt({{n - 3, Relation::zero}, {n - 4, Relation::zero}}));
  EXPECT_FALSE(sizes.adopt({{m - 3, Relation::zero}}));
  EXPECT_TRUE(sizes.guards().empty());
  EXPECT_TRUE(sizes.adopt({{n - 3, Relation::zero}, {n - 4, Relation::nonzero}}));
  EXPECT_EQ(sizes.guards().size(), 2U);
}

TEST(SizeGuard, HoldsOrDoesNot) {
  for (const int64_t difference : {-5, -1, 0, 1, 5}) {
    EXPECT_EQ(SizeGuard::holds(Relation::zero, difference), difference == 0);
    EXPECT_EQ(SizeGuard::holds(Relation::nonzero, difference), difference != 0);
    EXPECT_EQ(SizeGuard::holds(Relation::at_least_zero, difference), difference >= 0);
    EXPECT_EQ(SizeGuard::holds(Relation::below_zero, difference), difference < 0);
  }
}

TEST(SizeProgram, ComputesWhatSubstitutionGives) {
  const std::vector<Dim> dims = {n,
                                 Dim(7),
                                 n * m + 3,
                                 n * n * m - m * 2,
                                 floor_div(n + 7, Dim(4)) * m,
                                 floor_mod(n * m, Dim(5)) + floor_mod(Dim(0) - n, Dim(3)),
                                 min(n, m) + max(n - 5, min(m, Dim(9))),
                                 max(max(n, m), Dim(4)) - floor_div(Dim(0) - m, Dim(2))};
  SizeProgram program({"n", "m"});
  std::vector<size_t> places;
  for (const Dim& dim : dims) places.push_back(program.add(dim));
  const size_t size = program.size();
  for (const Dim& dim : dims) program.add(dim);
  EXPECT_EQ(program.size(), size) << "what is there is not computed again";
  for (const int64_t of_n : {0, 1, 2, 7, 100, 65537}) {
    for (const int64_t of_m : {0, 1, 3, 64, 1000003}) {
      std::vector<int64_t> values = {of_n, of_m};
      program.run(values);
      for (size_t k = 0; k < dims.size(); ++k) {
        EXPECT_EQ(values[places[k]], dims[k].substitute({{"n", of_n}, {"m", of_m}}).value())
            << dims[k].to_string() << " at " << of_n << ", " << of_m;
      }
    }
  }
}

TEST(SizeProgram, SaturatesAndDividesByNothing) {
  SizeProgram program({"n", "m"});
  const size_t product = program.add(n * n * n), quotient = program.add(floor_div(n, m));
  std::vector<int64_t> values = {int64_t{1} << 40, 0};
  program.run(values);
  EXPECT_EQ(values[product], INT64_MAX);
  EXPECT_EQ(values[quotient], 0);
  EXPECT_THROW(program.add(Dim::symbol("k")), Error);
}

TEST(OpenProgram, IsTheProgramForTheNumbers) {
  const auto of = [](const Dim& rows, const Dim& columns) {
    Builder b("sum");
    const TensorRef x = b.operand(0, ElementType::f32, {rows, columns});
    const TensorRef sums = b.sum({rows}, {columns}, [&](const Indices& i, const Indices& r) {
      return x({i[0], r[0]});
    });
    b.output(b.map({rows * 2}, [&](const Indices& i) {
      return sums({floor_div(i[0], Dim(2))}) * cast(ElementType::f32, i[0] < b.extent(columns));
    }));
    return std::make_shared<const Program>(b.finish());
  };
  SizeProgram sizes({"n", "m"});
  const OpenProgram open(of(n, m), sizes);
  ASSERT_TRUE(open.is_open());
  for (const int64_t rows : {2, 5, 1000}) {
    std::vector<int64_t> values = {rows, 33};
    sizes.run(values);
    EXPECT_EQ(print(*open.at(values)), print(*of(rows, 33)));
  }
  const auto closed = of(4, 5);
  const OpenProgram nothing(closed, sizes);
  EXPECT_FALSE(nothing.is_open());
  EXPECT_EQ(nothing.at({}), closed) << "the very program";
}

/// [n, m, 4] moved to [m, n, 4], or reshaped.
Program moved(const Dim& rows, const Dim& columns, bool turned) {
  Builder b("moved");
  const TensorRef x = b.operand(0, ElementType::f32, {rows, columns, 4});
  if (turned) {
    b.output(b.map({columns, rows, 4}, [&](const Indices& i) { return x({i[1], i[0], i[2]}); }));
  } else {
    b.output(b.reshape(x, {rows, columns, 2, 2}));
  }
  return b.finish();
}

TEST(OpenProgram, CopiesThatNobodyHasAreGivenOtherNumbers) {
  const auto doubled = std::make_shared<const Program>(parse(R"(
    program doubled(x: f32[n, 3]) -> (y) {
      y: f32[n, 3] = map (i0: n, i1: 3) {
        x[i0, i1] + x[i0, i1]
      }
    })"));
  SizeProgram sizes({"n"});
  const OpenProgram open(doubled, sizes);
  const auto at = [&](int64_t number) {
    std::vector<int64_t> values = {number};
    sizes.run(values);
    return open.at(values);
  };
  const auto three = at(3);
  const std::string text = print(*three);
  const Program* copy = nullptr;
  {
    const auto five = at(5);
    EXPECT_NE(five, three);
    EXPECT_EQ(five->stages[0].axes[0].extent, Dim(5));
    copy = five.get();
  }
  const auto seven = at(7);
  EXPECT_EQ(seven.get(), copy) << "it was free";
  EXPECT_EQ(seven->stages[0].axes[0].extent, Dim(7));
  EXPECT_EQ(seven->tensors[0].dims[0], Dim(7));
  EXPECT_EQ(print(*three), text) << "it was not";
}

TEST(View, HoldsForAllSizesOrIsSeenWithNumbers) {
  EXPECT_EQ(viewed_operand(moved(n, m, false)), 0);
  EXPECT_EQ(viewed_operand(moved(n, m, true)), -1);
  EXPECT_TRUE(only_moves(moved(n, m, true)));
  EXPECT_EQ(viewed_operand(moved(1, 7, true)), 0) << "one row turned is the same";
  EXPECT_EQ(viewed_operand(moved(3, 7, true)), -1);
  EXPECT_EQ(viewed_operand(moved(1, m, true)), 0);
}

}  // namespace
}  // namespace axrun::ir
