#include "verify/numeric_gate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/verify/gate_kernels.h"
#include "verify/gate_trials.h"

namespace axrun::verify::test {
namespace {

constexpr uint64_t seed = 20;

GateOptions options_for(const std::string& text, const std::vector<std::string>& names) {
  GateOptions options;
  options.seed = seed;
  const SizesToTry all = sizes_for(text, names, 80);
  options.sizes = all.sizes;
  options.thorough = all.thorough;
  return options;
}

void expect_tested(const char* what, const std::string& text, const GateCandidate& candidate,
                   const GateOptions& options) {
  const ir::Program program = ir::parse(text);
  GateReport report;
  const Evidence evidence = test_numerically(program, candidate, options, &report);
  EXPECT_EQ(evidence.verdict, Verdict::tested) << what << ": " << evidence.text;
  EXPECT_GT(report.elements, 0);
  EXPECT_LE(report.worst_ratio, 1) << what;
}

TEST(NumericGate, AcceptsRightProducts) {
  const GateOptions options = options_for(product_text, {"m", "n", "k"});
  expect_tested("one term after another", product_text, ProductKernel(), options);

  ProductKernel fused;
  fused.accumulate = [](float sum, float a, float b) { return std::fma(a, b, sum); };
  expect_tested("fused multiply-adds", product_text, fused, options);

  ProductKernel backwards;
  backwards.a_term = backwards.b_term = [](const ProductKernel::At& x) { return x.k - 1 - x.p; };
  expect_tested("last term first", product_text, backwards, options);

  expect_tested(
      "sums of 16 lanes, folded pairwise", product_text,
      [](const GateCall& call) {
        const int64_t m = call.sizes.at("m"), n = call.sizes.at("n"), k = call.sizes.at("k");
        const auto* a = static_cast<const float*>(call.operands[0]);
        const auto* b = static_cast<const float*>(call.operands[1]);
        const auto* bias = static_cast<const float*>(call.operands[2]);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            float lanes[16] = {};
            for (int64_t p = 0; p < k; ++p)
              lanes[p % 16] = std::fma(a[i * k + p], b[p * n + j], lanes[p % 16]);
            for (int width = 8; width > 0; width /= 2) {
              for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
            }
            const float x = lanes[0] + bias[j];
            static_cast<float*>(call.results[0])[i * n + j] = nan_max(x, 0.0f);
          }
        }
      },
      options);

  expect_tested(
      "outer products into the result, blocks of 32 terms", product_text,
      [](const GateCall& call) {
        const int64_t m = call.sizes.at("m"), n = call.sizes.at("n"), k = call.sizes.at("k");
        const auto* a = static_cast<const float*>(call.operands[0]);
        const auto* b = static_cast<const float*>(call.operands[1]);
        const auto* bias = static_cast<const float*>(call.operands[2]);
        auto* y = static_cast<float*>(call.results[0]);
        std::fill_n(y, m * n, 0.0f);
        std::vector<float> block(static_cast<size_t>(m * n));
        for (int64_t p0 = 0; p0 < k; p0 += 32) {
          std::fill(block.begin(), block.end(), 0.0f);
          for (int64_t p = p0; p < std::min(k, p0 + 32); ++p) {
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < n; ++j)
                block[static_cast<size_t>(i * n + j)] += a[i * k + p] * b[p * n + j];
            }
          }
          for (int64_t x = 0; x < m * n; ++x) y[x] += block[static_cast<size_t>(x)];
        }
        for (int64_t x = 0; x < m * n; ++x) y[x] = nan_max(y[x] + bias[x % n], 0.0f);
      },
      options);
}

TEST(NumericGate, AcceptsRightRows) {
  const GateOptions options = options_for(softmax_text, {"n", "c"});
  expect_tested("softmax", softmax_text, SoftmaxKernel(), options);
  SoftmaxKernel reciprocal;
  reciprocal.divide = [](float a, float b) { return a * (1 / b); };
  expect_tested("softmax by reciprocal", softmax_text, reciprocal, options);
  SoftmaxKernel precise;
  precise.exponential = [](float x) { return static_cast<float>(std::exp(static_cast<double>(x))); };
  expect_tested("softmax with an exact exp", softmax_text, precise, options);
  expect_tested("layer normalisation", layer_norm_text, LayerNormKernel(), options);
  LayerNormKernel by_reciprocal;
  by_reciprocal.reciprocal = true;
  expect_tested("layer normalisation by reciprocal", layer_norm_text, by_reciprocal, options);
  expect_tested("mask", mask_text, MaskKernel(), options);
}

TEST(NumericGate, AcceptsRightElementwise) {
  const GateOptions options = options_for(gelu_text, {"n"});
  expect_tested("gelu", gelu_text, GeluKernel(), options);
}

TEST(NumericGate, AcceptsReductionsOverEachAxis) {
  const GateOptions options = options_for(reduction_text("sum", 0), {"a", "b", "c"});
  for (int axis = 0; axis < 3; ++axis) {
    ReductionKernel kernel;
    kernel.axis = axis;
    expect_tested("sum", reduction_text("sum", axis), kernel, options);
    kernel.first = -INFINITY;
    kernel.combine = nan_max;
    expect_tested("max", reduction_text("max", axis), kernel, options);
    kernel.first = INFINITY;
    kernel.combine = nan_min;
    expect_tested("min", reduction_text("min", axis), kernel, options);
  }
}

TEST(NumericGate, AcceptsEmptyTensors) {
  GateOptions options;
  options.seed = seed;
  options.sizes = {
      {{"m", 0}, {"n", 5}, {"k", 4}}, {{"m", 3}, {"n", 0}, {"k", 4}}, {{"m", 3}, {"n", 5}, {"k", 0}}};
  const ir::Program program = ir::parse(product_text);
  EXPECT_EQ(test_numerically(program, ProductKernel(), options).verdict, Verdict::tested);
  // Nothing is summed, and the bias is forgotten.
  const Evidence evidence = test_numerically(
      program,
      [](const GateCall& call) {
        if (call.sizes.at("k") == 0) {
          auto* y = static_cast<float*>(call.results[0]);
          std::fill_n(y, call.sizes.at("m") * call.sizes.at("n"), 0.0f);
        } else {
          ProductKernel()(call);
        }
      },
      options);
  EXPECT_EQ(evidence.verdict, Verdict::refuted) << evidence.text;
}

TEST(NumericGate, AcceptsGathersAndIntegers) {
  const char* const text = R"(program G(table: f32[r, c], ids: i64[n]) -> (y, even) {
    y: f32[n, c] = map (i: n, j: c) { table[ids[i], j] }
    even: bool[n] = map (i: n) { floor_mod(ids[i], 2) == 0 }
  })";
  auto kernel = [](const GateCall& call) {
    const int64_t n = call.sizes.at("n"), c = call.sizes.at("c");
    const auto* ids = static_cast<const int64_t*>(call.operands[1]);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < c; ++j)
        static_cast<float*>(call.results[0])[i * c + j] =
            static_cast<const float*>(call.operands[0])[ids[i] * c + j];
      static_cast<bool*>(call.results[1])[i] = ids[i] % 2 == 0;
    }
  };
  const GateOptions options = options_for(text, {"r", "c", "n"});
  expect_tested("gather", text, kernel, options);
  const Evidence evidence = test_numerically(
      ir::parse(text),
      [&](const GateCall& call) {
        kernel(call);
        static_cast<bool*>(call.results[1])[call.sizes.at("n") - 1] ^= true;
      },
      options);
  EXPECT_EQ(evidence.verdict, Verdict::refuted);
}

/// One element of many is left out, which is none of the few that are compared.
TEST(NumericGate, RefusesUnwrittenElementsOfEveryType) {
  for (const std::string type : {"f32", "f16", "i32", "u8", "i8", "i64", "bool"}) {
    const ir::Program program = ir::parse("program C(x: " + type + "[m, n]) -> (y) { y: " + type +
                                          "[m, n] = map (i: m, j: n) { x[i, j] } }");
    const size_t bytes = ir::size_of(program.tensors[0].type);
    const auto copy = [&](int64_t left_out) {
      return [bytes, left_out](const GateCall& call) {
        for (int64_t k = 0; k < call.sizes.at("m") * call.sizes.at("n"); ++k) {
          const size_t at = static_cast<size_t>(k) * bytes;
          if (k != left_out)
            std::memcpy(static_cast<char*>(call.results[0]) + at,
                        static_cast<const char*>(call.operands[0]) + at, bytes);
        }
      };
    };
    GateOptions options;
    options.seed = seed;
    options.samples = 64;
    options.sizes = {{{"m", 61}, {"n", 203}}};
    EXPECT_EQ(test_numerically(program, copy(-1), options).verdict, Verdict::tested) << type;
    EXPECT_EQ(test_numerically(program, copy(30 * 203 + 101), options).verdict, Verdict::refuted) << type;
  }
}

TEST(NumericGate, ExactModeComparesWithTheTwin) {
  GateOptions options = options_for(product_text, {"m", "n", "k"});
  options.exact = true;
  options.twin = ProductKernel();
  const ir::Program program = ir::parse(product_text);
  EXPECT_EQ(test_numerically(program, ProductKernel(), options).verdict, Verdict::tested);
  ProductKernel fused;
  fused.accumulate = [](float sum, float a, float b) { return std::fma(a, b, sum); };
  const Evidence evidence = test_numerically(program, fused, options);
  EXPECT_EQ(evidence.verdict, Verdict::refuted);
  EXPECT_NE(evidence.text.find("twin"), std::string::npos);
}

TEST(NumericGate, SaysWhatItCannotTest) {
  const Evidence evidence = test_numerically(ir::parse(product_text), ProductKernel(), {});
  EXPECT_EQ(evidence.verdict, Verdict::unknown);
  EXPECT_NE(evidence.text.find("size"), std::string::npos);
}

TEST(NumericGate, RefutationsReplay) {
  ProductKernel wrong;
  wrong.skips_term = [](const ProductKernel::At& x) { return x.p == x.k - 1; };
  GateOptions options = options_for(product_text, {"m", "n", "k"});
  const ir::Program program = ir::parse(product_text);
  const Evidence first = test_numerically(program, wrong, options);
  ASSERT_EQ(first.verdict, Verdict::refuted);
  EXPECT_NE(first.text.find("trial 0"), std::string::npos) << first.text;
  options.only_trial = 0;
  EXPECT_EQ(test_numerically(program, wrong, options).text, first.text);
}

TEST(NumericGate, EvidenceNamesWhatWasDone) {
  GateOptions options = options_for(gelu_text, {"n"});
  GateReport report, again;
  const ir::Program program = ir::parse(gelu_text);
  const Evidence evidence = test_numerically(program, GeluKernel(), options, &report);
  EXPECT_NE(evidence.text.find("seed 20"), std::string::npos) << evidence.text;
  EXPECT_NE(evidence.text.find("worst error"), std::string::npos);
  test_numerically(program, GeluKernel(), options, &again);
  EXPECT_EQ(report.inputs_hash, again.inputs_hash);
  EXPECT_EQ(report.worst_ratio, again.worst_ratio);
  size_t trials = 0;
  for (const auto& one : plan_gate_trials(std::vector<int64_t>(options.sizes.size()), 1, options.thorough))
    trials += one.size();
  const size_t pairs = options.sizes.size() + options.thorough * (exact_pair_trials - 1);  // there is none
  EXPECT_EQ(report.calls, static_cast<int64_t>(trials - pairs));
}

}  // namespace
}  // namespace axrun::verify::test
