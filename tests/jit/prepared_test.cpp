#include <gtest/gtest.h>

#include "jit/prepared_store.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using ir::loop::LoopProgram;
using jit::KernelCode;

/// x [n, k] times constants [k, 40]: the constants packed in panels, then twice as large in another buffer.
/// What comes after is `result`.
std::string product(const std::string& name, const std::string& weights, const std::string& sizes,
                    const std::string& panel, const std::string& result) {
  const std::string columns = panel == "8" ? "5" : "3";
  return "loops " + name + "(" + sizes + R"() {
  input x: f32[n, k]
  input )" +
         weights + R"(: f32[k, 40]
  output y: f32[n, 40]
  allocate packed_)" +
         name + ": f32[" + columns + ", k, " + panel + R"(] in memory
  parallel jp < )" +
         columns + R"( {
    for p < k {
      vector j < )" +
         panel + R"( {
        packed_)" +
         name + "[jp, p, j] = guarded(" + weights + "[p, " + panel + "*jp + j], less(index(" + panel +
         R"(*jp + j), 40:i64), 0:f32)
      }
    }
  }
  allocate doubled: f32[)" +
         columns + ", k, " + panel + R"(] in memory
  parallel dp < )" +
         columns + R"( {
    for q < k {
      vector l < )" +
         panel + R"( {
        doubled[dp, q, l] = add(packed_)" +
         name + "[dp, q, l], packed_" + name + R"([dp, q, l])
      }
    }
  }
  parallel i < n {
    for c < 40 {
      y[i, c] = 0:f32
      for r < k {
        y[i, c] += mul(x[i, r], doubled[c / )" +
         panel + ", r, c mod " + panel + R"(])
      }
      y[i, c] = )" +
         result + R"(
    }
  }
}
)";
}

class Prepared : public testing::Test {
 protected:
  struct Shared {
    jit::BoundKernel kernel;
    size_t bytes;  ///< of the store, with it
  };
  /// Binds the program, takes what the store has, runs it and compares with the interpreter.
  Shared use(const std::string& text, const SizeValues& sizes) {
    const LoopProgram program = ir::loop::parse(text);
    jit::BoundKernel kernel(KernelCode::compile(program, code_targets().front(), {}), sizes, {false, true});
    const Tensor x = small_integers({sizes.at("n"), 9}, 3);
    Tensor y = Tensor::allocate(ir::ElementType::f32, {sizes.at("n"), 40});
    const void* inputs[] = {nullptr, weights_.data()};
    kernel.prepare(inputs, jit::inline_workers(), &store_);
    EXPECT_TRUE(kernel.is_prepared(1));
    inputs[0] = x.data();
    inputs[1] = nullptr;
    void* outputs[] = {y.data()};
    std::vector<char> scratch(kernel.scratch_bytes(1) + 64);
    kernel.run(inputs, outputs, scratch.data() + 64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64,
               jit::inline_workers());
    SizeValues all = sizes;
    all["k"] = 9;
    const ir::loop::Outcome want = interpret(program, all, {x, weights_});
    for (int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.get_real(i), want.outputs[0].get_real(i)) << i;
    return {std::move(kernel), store_.bytes()};
  }

  void SetUp() override {
    if (code_targets().empty()) GTEST_SKIP() << "no machine code here";
  }
  Tensor weights_ = small_integers({9, 40}, 1);
  jit::PreparedStore store_;
};

constexpr const char* open_sizes = "n: 1..50, k: 1..20";
constexpr size_t part = 3 * 9 * 16 * sizeof(float);
constexpr size_t narrow_part = (5 * 9 * 8 * sizeof(float) + 63) / 64 * 64;

TEST_F(Prepared, ProgramsThatDifferInWhatFollowsShareTheirConstants) {
  const Shared one = use(product("one", "w", open_sizes, "16", "y[i, c]"), {{"n", 5}, {"k", 9}});
  EXPECT_EQ(one.bytes, 2 * part);
  EXPECT_EQ(one.kernel.prepared_bytes(), 2 * part);
  // Other names, another range, another number of rows, another end.
  const Shared other =
      use(product("other", "weights", "n: 7..7, k: 2..9", "16", "neg(y[i, c])"), {{"n", 7}, {"k", 9}});
  EXPECT_EQ(other.bytes, 2 * part);
}

TEST_F(Prepared, OnlyTheSameFormOfTheSameConstantsIsShared) {
  const Shared one = use(product("one", "w", open_sizes, "16", "y[i, c]"), {{"n", 5}, {"k", 9}});
  const Shared narrow = use(product("one", "w", open_sizes, "8", "y[i, c]"), {{"n", 5}, {"k", 9}});
  EXPECT_EQ(narrow.bytes, 2 * part + 2 * narrow_part);
  const Tensor kept = weights_;
  weights_ = small_integers({9, 40}, 2);
  const Shared moved = use(product("one", "w", open_sizes, "16", "y[i, c]"), {{"n", 5}, {"k", 9}});
  EXPECT_EQ(moved.bytes, narrow.bytes + 2 * part);
}

TEST_F(Prepared, PartsThatAreMadeAlikeOfOtherPartsAreNotShared) {
  const Shared one = use(product("one", "w", open_sizes, "16", "y[i, c]"), {{"n", 5}, {"k", 9}});
  // The first part differs in a number, the second one in nothing but what it reads.
  std::string text = product("one", "w", open_sizes, "16", "y[i, c]");
  text.replace(text.find("40:i64), 0:f32"), 14, "39:i64), 0:f32");
  const Shared other = use(text, {{"n", 5}, {"k", 9}});
  EXPECT_EQ(other.bytes, 4 * part);
}

TEST_F(Prepared, PartsGoWithTheLastKernelThatUsesThem) {
  {
    const Shared one = use(product("one", "w", open_sizes, "16", "y[i, c]"), {{"n", 5}, {"k", 9}});
    EXPECT_EQ(store_.bytes(), 2 * part);
  }
  EXPECT_EQ(store_.bytes(), 0u);
}

}  // namespace
}  // namespace axrun::tests
