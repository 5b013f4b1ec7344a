// Maps of operands that are contiguous along another axis than their result.
#include "search/transposition.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/search/cases.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using ir::Builder;
using ir::Dim;
using ir::ElementType;
using ir::Indices;
using ir::Program;

Program transposed() {
  Builder b("transposed");
  const auto x = b.operand(0, ElementType::f32, {Dim(40), Dim::symbol("n")}, "x");
  const auto z = b.operand(1, ElementType::f32, {Dim::symbol("n"), Dim(40)}, "z");
  b.output(b.map(
      {Dim::symbol("n"), Dim(40)},
      [&](const Indices& i) {
        return exp(x({i[1], i[0]})) + z({i[0], i[1]});
      },
      "y"));
  return b.finish();
}

/// One in full, as a reader would write it.
const char* const in_tiles = R"(loops transposed(n: 1..4096) {
  input x: f32[40, n]
  input z: f32[n, 40]
  output y: f32[n, 40]
  for i0 < (n + 63) / 64 {
    for i1 < 3 {
      for i0_2 < min(-4*i0 + (n + 15) / 16, 4) {
        allocate tile_y: f32[16, 16] in registers
        unrolled r < min(-16*i1 + 40, 16) {
          vector v < min(-64*i0 - 16*i0_2 + n, 16) {
            tile_y[r, v] = exp(x[16*i1 + r, 64*i0 + 16*i0_2 + v])
          }
        }
        unrolled c < min(-64*i0 - 16*i0_2 + n, 16) {
          vector v < min(-16*i1 + 40, 16) {
            y[c + 64*i0 + 16*i0_2, 16*i1 + v] = add(tile_y[v, c], z[c + 64*i0 + 16*i0_2, 16*i1 + v]) computes y(c + 64*i0 + 16*i0_2, 16*i1 + v) inverse(x0 / 64, x1 / 16, (x0 mod 64) / 16, x0 mod 16, x1 mod 16)
          }
        }
      }
    }
  }
}
)";

TEST(Transposition, IsWrittenInTiles) {
  const search::Lowered lowered = search::lower(transposed(), {{"n", 1, 4096, 1}}, {}, avx512_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  EXPECT_EQ(ir::loop::print(*lowered.program), in_tiles);
}

/// Either of the two axes may be the one that is spread.
TEST(Transposition, OfMuchDataIsSpread) {
  for (const auto& [rows, columns] : {std::pair{3000, 70}, std::pair{70, 3000}}) {
    Builder b("transposed");
    const auto x = b.operand(0, ElementType::f32, {Dim(columns), Dim(rows)}, "x");
    b.output(b.map(
        {Dim(rows), Dim(columns)},
        [&](const Indices& i) {
          return x({i[1], i[0]});
        },
        "y"));
    jit::Target target = avx2_like();
    target.cores = 16;
    const search::Lowered lowered = search::lower(b.finish(), {}, {}, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const std::string text = ir::loop::print(*lowered.program);
    EXPECT_NE(text.find(rows > columns ? "parallel i0" : "parallel i1"), std::string::npos) << text;
    const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
    EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << evidence.text << text;
  }
}

TEST(Transposition, WrongTilesAreNotProved) {
  const search::Lowered lowered = search::lower(transposed(), {{"n", 1, 4096, 1}}, {}, avx512_like());
  const std::pair<std::string, std::string> changes[] = {
      {"tile_y[v, c]", "tile_y[c, v]"},
      {"tile_y[v, c]", "tile_y[v, 0]"},
      {"tile_y[r, v] = exp(x[", "tile_y[v, r] = exp(x["},
      {"unrolled r < min(-16*i1 + 40, 16)", "unrolled r < min(-16*i1 + 39, 16)"},
      {"vector v < min(-64*i0 - 16*i0_2 + n, 16)", "vector v < min(-64*i0 - 16*i0_2 + n, 15)"},
      {"vector v < min(-64*i0 - 16*i0_2 + n, 16)", "vector v < 16"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = ir::loop::print(*lowered.program);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << '\n' << text;
    text.replace(at, from.size(), to);
    EXPECT_NE(verify::prove(ir::loop::parse(text), lowered.expression).verdict, verify::Verdict::proved)
        << text;
  }
}

/// Panels of what is contiguous along k: squares whose rows beyond the last one are that one again.
TEST(Transposition, OfPanels) {
  for (const bool transposed : {false, true}) {
    Builder b("product");
    const auto left = b.operand(0, ElementType::f32, {Dim(70), Dim(50)}, "a");
    const auto right = transposed ? b.operand(1, ElementType::f32, {Dim(90), Dim(50)}, "b")
                                  : b.operand(1, ElementType::f32, {Dim(50), Dim(90)}, "b");
    b.output(b.reduce(
        ir::Monoid::Kind::sum, {Dim(70), Dim(90)}, {Dim(50)},
        [&](const Indices& i, const Indices& k) {
          return left({i[0], k[0]}) * (transposed ? right({i[1], k[0]}) : right({k[0], i[1]}));
        },
        "sum"));
    const search::Lowered lowered = search::lower(b.finish(), {}, {}, avx512_like());
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const std::string text = ir::loop::print(*lowered.program);
    // The last panel, which is narrower, by itself.
    EXPECT_EQ(text.find("square_sum[r, v] = b[16*jb + r, ") != std::string::npos, transposed) << text;
    EXPECT_EQ(text.find("[r, v] = b[min(") != std::string::npos, transposed) << text;
    EXPECT_EQ(verify::prove(*lowered.program, lowered.expression).verdict, verify::Verdict::proved) << text;
    if (!transposed) continue;
    std::string wrong = text;
    wrong.replace(wrong.find("= square_sum[v, c]"), 18, "= square_sum[c, v]");
    EXPECT_NE(verify::prove(ir::loop::parse(wrong), lowered.expression).verdict, verify::Verdict::proved);
  }
}

TEST(Transposition, AsMuchAsCanBeIsWorkedOutAlongTheRows) {
  using Operands = std::vector<ir::TensorRef>;
  const auto found = [](const std::function<ir::Scalar(const Operands&, const Indices&)>& body) {
    Builder b("map");
    Operands operands;
    operands.push_back(b.operand(0, ElementType::f32, {Dim(40), Dim(24)}, "across"));
    operands.push_back(b.operand(1, ElementType::f32, {Dim(40), Dim(24)}, "also_across"));
    operands.push_back(b.operand(2, ElementType::f32, {Dim(24), Dim(40)}, "along"));
    operands.push_back(b.operand(3, ElementType::f32, {Dim(24)}, "by_row"));
    operands.push_back(b.operand(4, ElementType::f32, {Dim(40)}, "by_column"));
    operands.push_back(b.operand(5, ElementType::f32, {Dim(24), Dim(80)}, "with_steps"));
    operands.push_back(b.operand(6, ElementType::f32, {Dim(80), Dim(24)}, "with_steps_across"));
    b.output(b.map(
        {Dim(24), Dim(40)}, [&](const Indices& i) { return body(operands, i); }, "y"));
    const Program program = b.finish();
    const auto result = search::find_transposition(program, program.stages[0], 1);
    EXPECT_EQ(result.across, result.rows.empty() ? ir::none : 0);
    return result.rows.size();
  };
  const auto at = [](const ir::TensorRef& x, const Indices& i) { return x({i[1], i[0]}); };
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return at(x[0], i); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return at(x[0], i) * at(x[1], i); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return at(x[0], i) * x[3]({i[0]}); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return at(x[0], i) * x[4]({i[1]}); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return x[2](i) + exp(at(x[0], i)); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return at(x[0], i) + x[2](i) + at(x[1], i); }),
            2U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return x[6]({i[1] * 2, i[0]}); }), 1U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return x[2](i); }), 0U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return x[5]({i[0], i[1] * 2}); }), 0U);
  EXPECT_EQ(found([&](const Operands& x, const Indices& i) { return x[3]({i[0]}) + x[4]({i[1]}); }), 0U);
}

}  // namespace
}  // namespace axrun::tests
