// Reads at indices that are data, as machine code.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"
#include "tests/search/gather_cases.h"
#include "tests/search/machine_code.h"
#include "verify/loop_proof.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

class Gathers : public testing::TestWithParam<Case> {};

TEST_P(Gathers, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Gathers, testing::ValuesIn(gather_cases()),
                         [](const auto& info) { return info.param.name; });

Tensor ramp(const ir::Shape& shape) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.as<float>()[i] = static_cast<float>(i);
  return tensor;
}

/// What an index that is not inside does, the first and the last ones that are, wherever it stands.
TEST(Gathers, EndWithAnErrorWhereAnIndexIsOutside) {
  const std::vector<Case> cases = gather_cases();
  const Case& c = cases[0];
  const Tensor table = ramp({100, 64});
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = search::lower(c.make(), c.sizes, c.constant, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    for (int64_t place = 0; place < 9; ++place) {
      for (const int64_t index : {int64_t{-100}, int64_t{-1}, int64_t{99}, int64_t{-101}, int64_t{100},
                                  int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
        Tensor tokens = Tensor::allocate(ElementType::i64, {9});
        for (int64_t i = 0; i < 9; ++i) tokens.set_int(i, i == place ? index : i);
        const std::vector<Tensor> inputs = {table, tokens};
        const auto run = [&] {
          return run_guarded(code, {}, inputs, c.constant, verify::Placement::ends_at_guard)[0];
        };
        if (index < -100 || index >= 100) {
          EXPECT_THROW(run(), Error) << index;
          EXPECT_THROW(ir::loop::interpret(*lowered.program, {}, inputs), Error) << index;
          continue;
        }
        const Tensor rows = run();
        const int64_t row = index < 0 ? index + 100 : index;
        for (int64_t j = 0; j < 64; ++j)
          EXPECT_EQ(rows.get_real(place * 64 + j), static_cast<double>(row * 64 + j));
      }
    }
  }
}

/// The same where each lane has its own index.
TEST(Gathers, EndWithAnErrorWhereALanesIndexIsOutside) {
  for (const ElementType type : {ElementType::i64, ElementType::i32}) {
    const std::vector<Case> cases = gather_cases();
    const bool wide = type == ElementType::i64;
    const auto c = std::find_if(cases.begin(), cases.end(), [&](const Case& one) {
      return one.name == (wide ? "ColumnsOfAMatrix" : "ColumnsOfAMatrixOfAnyWidth");
    });
    ASSERT_NE(c, cases.end());
    const SizeValues sizes = wide ? SizeValues{} : SizeValues{{"n", 40}, {"m", 50}};
    const int64_t rows = wide ? 5 : 3;
    for (const jit::Target& target : targets_with_code()) {
      const search::Lowered lowered = search::lower(c->make(), c->sizes, c->constant, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      for (int64_t place = 0; place < 50; ++place) {
        for (const int64_t index :
             {int64_t{-40}, int64_t{39}, int64_t{-41}, int64_t{40}, int64_t{1} << 32, INT64_MIN}) {
          if (!wide && index != static_cast<int32_t>(index)) continue;
          Tensor columns = Tensor::allocate(type, {50});
          for (int64_t i = 0; i < 50; ++i) columns.set_int(i, i == place ? index : i % 40);
          const std::vector<Tensor> inputs = {ramp({rows, 40}), columns};
          const auto run = [&] {
            return run_guarded(code, sizes, inputs, c->constant, verify::Placement::ends_at_guard)[0];
          };
          if (index < -40 || index >= 40) {
            EXPECT_THROW(run(), Error) << index << " at " << place;
          } else {
            EXPECT_EQ(run().get_real(50 + place), static_cast<double>(40 + (index < 0 ? index + 40 : index)));
          }
        }
      }
    }
  }
}

/// The loop program of rows of a table, with one thing changed at a time.
TEST(Gathers, WrongLookupsAreNotProved) {
  const std::vector<Case> cases = gather_cases();
  const search::Lowered lowered =
      search::lower(cases[1].make(), cases[1].sizes, cases[1].constant, avx512_like());
  ASSERT_TRUE(lowered.program) << lowered.reason;
  const std::string text = ir::loop::print(*lowered.program);
  const auto verdict = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
    if (at != std::string::npos) changed.replace(at, from.size(), to);
    return verify::prove(ir::loop::parse(changed), lowered.expression).verdict;
  };
  EXPECT_EQ(verdict("lookup", "lookup"), verify::Verdict::proved);
  EXPECT_NE(verdict("tokens[i0]", "tokens[0]"), verify::Verdict::proved);
  EXPECT_NE(verdict("tokens[i0]", "tokens[i0 + 1]"), verify::Verdict::proved);
  EXPECT_NE(verdict("lookup(tokens[i0])", "0"), verify::Verdict::proved);
}

}  // namespace
}  // namespace axrun::tests
