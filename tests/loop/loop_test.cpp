#include <gtest/gtest.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/loop/interpreter.h"
#include "ir/loop/loop_program.h"
#include "ir/loop/races.h"
#include "tests/loop/programs.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using ir::loop::interpret;
using ir::loop::LoopProgram;
using ir::loop::Mistake;
using ir::loop::Outcome;
using ir::loop::parse;
using ir::loop::print;

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Tensor small_integers(const ir::Shape& shape, unsigned seed) {
  Tensor tensor = Tensor::allocate(ElementType::f32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.as<float>()[i] = static_cast<float>(static_cast<int>(seed >> 28) - 8);
  }
  return tensor;
}

struct Product {
  int64_t m, n, k;
  Tensor a = small_integers({m, k}, 1), b = small_integers({k, n}, 2), bias = small_integers({n}, 3);

  Outcome run(const std::string& text) const {
    return interpret(parse(text), {{"m", m}, {"n", n}, {"k", k}}, {a, b, bias});
  }
  /// Integers this small are exact in f32.
  bool is_right(const Tensor& c) const {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias.get_real(j);
        for (int64_t p = 0; p < k; ++p) sum += a.get_real(i * k + p) * b.get_real(p * n + j);
        if (c.get_real(i * n + j) != std::max(sum, 0.0)) return false;
      }
    }
    return true;
  }
};

TEST(LoopProgram, PrintsAndParses) {
  for (const std::string& text : {product_text, window_text}) {
    const std::string canonical = print(parse(text));  // sizes are written as canonical polynomials
    EXPECT_EQ(print(parse(canonical)), canonical);
    EXPECT_EQ(std::count(canonical.begin(), canonical.end(), '\n'),
              std::count(text.begin(), text.end(), '\n'));
  }
  EXPECT_EQ(print(parse(window_text)), window_text);
}

TEST(LoopProgram, ATiledProductIsRightAtEverySize) {
  for (const int64_t m : {1, 5, 6, 13}) {
    for (const int64_t n : {1, 16, 17, 40}) {
      for (const int64_t k : {1, 7}) {
        const Product product{m, n, k};
        const Outcome outcome = product.run(product_text);
        ASSERT_FALSE(outcome.mistake) << outcome.text;
        EXPECT_TRUE(product.is_right(outcome.outputs[0])) << m << ' ' << n << ' ' << k;
      }
    }
  }
}

TEST(LoopProgram, GuardsIntegersAndEmptySizes) {
  for (const int64_t n : {0, 1, 5}) {
    Tensor x = Tensor::allocate(ElementType::i32, {n});
    for (int64_t i = 0; i < n; ++i) x.as<int32_t>()[i] = static_cast<int32_t>(i + 1);
    const Outcome outcome = interpret(parse(window_text), {{"n", n}}, {x});
    ASSERT_FALSE(outcome.mistake) << outcome.text;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t want = (i > 0 ? i : 0) + i + 1 + (i + 1 < n ? i + 2 : 0);
      EXPECT_EQ(outcome.outputs[0].get_real(i), static_cast<double>(want));
    }
  }
}

TEST(LoopProgram, StatementsInDifferentLoopsMayShareAValue) {
  LoopProgram program = parse(R"(loops f() {
  input x: f32[3]
  output y: f32[3]
  output z: f32[2, 3]
  for i < 3 { y[i] = x[i] }
  for o < 2 { for i < 3 { z[o, i] = x[i] } }
})");
  auto& first = std::get<ir::loop::Loop>(program.body[0]);
  auto& outer = std::get<ir::loop::Loop>(program.body[1]);
  auto& inner = std::get<ir::loop::Loop>(outer.body[0]);
  std::get<ir::loop::Compute>(inner.body[0]).value = std::get<ir::loop::Compute>(first.body[0]).value;
  const Tensor x = small_integers({3}, 1);
  const Outcome outcome = interpret(program, {}, {x});
  ASSERT_FALSE(outcome.mistake) << outcome.text;
  for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(outcome.outputs[1].get_real(k), x.get_real(k % 3));
}

TEST(LoopProgram, F32RoundsAfterEveryOperation) {
  const LoopProgram program = parse(
      "loops sum(n: 1..9) {\n input x: f32[n]\n output y: f32[]\n y[] = 0:f32\n for i < n { y[] += x[i] "
      "}\n}");
  Tensor x = Tensor::allocate(ElementType::f32, {3});
  x.as<float>()[0] = 16777216.0F;
  x.as<float>()[1] = x.as<float>()[2] = 1.0F;
  EXPECT_EQ(interpret(program, {{"n", 3}}, {x}).outputs[0].get_real(0), 16777216.0);
}

struct Mutant {
  const char* from;
  const char* to;
  std::optional<Mistake> mistake;  // nothing: only the result is wrong
};

TEST(LoopProgram, MutantsAreCaught) {
  const Mutant mutants[] = {
      {"parallel i0 step 6 < m", "parallel i0 step 5 < m", Mistake::wrong_inverse},  // overlap
      {"parallel i0 step 6 < m", "parallel i0 step 7 < m", Mistake::wrong_inverse},  // gap
      {"tile[i1, j1] = 0:f32", "tile[i1, j1] = 1:f32", std::nullopt},
      {"tile[i1, j1] = 0:f32", "tile[i1, 0] = 0:f32", Mistake::unwritten_read},  // wrong lane
      {"unrolled i1 < min(6, m - i0)", "unrolled i1 < 6", std::nullopt},         // too much, but only scratch
      {"for p < k", "for p < k + 1", Mistake::out_of_bounds},
      {"for p < k", "for p < k - 1", std::nullopt},  // a term is lost
      {"for p < k", "parallel p < k", Mistake::race},
      {"for j0 step 16 < n", "parallel j0 step 8 < n", Mistake::wrong_inverse},
      {"panel[q, r] = b[q, j0 + r]", "panel[q, r] = b[q, r]", std::nullopt},    // wrong stride
      {"vector r < min(16, n - j0)", "vector r < 16", Mistake::out_of_bounds},  // tail
      {"bias[j0 + j1]", "bias[j1]", std::nullopt},
      {"computes c(i0 + i1, j0 + j1)", "computes c(i0 + i1, j1)", Mistake::wrong_inverse},
      {"for q < k", "for q step 2 < k", Mistake::unwritten_read},
      {"max(add(tile[i1, j1], bias[j0 + j1]), 0:f32)", "add(max(tile[i1, j1], 0:f32), bias[j0 + j1])",
       std::nullopt},  // order of the epilogue
      {"c[i0 + i1, j0 + j1] = ", "c[i0, j0 + j1] = ", std::nullopt},
      {"(m: 1..64", "(m: 1..64 by 2", Mistake::size_not_claimed},
  };
  const Product product{13, 40, 7};
  for (const Mutant& mutant : mutants) {
    const Outcome outcome = product.run(changed(product_text, mutant.from, mutant.to));
    const std::string what = std::string(mutant.to) + ": " + outcome.text;
    if (mutant.mistake) {
      ASSERT_TRUE(outcome.mistake) << what;
      EXPECT_EQ(*outcome.mistake, *mutant.mistake) << what;
    } else if (std::string(mutant.to) == "unrolled i1 < 6") {
      EXPECT_FALSE(outcome.mistake) << what;  // equal: the extra rows are never read
      EXPECT_TRUE(product.is_right(outcome.outputs[0]));
    } else {
      EXPECT_TRUE(outcome.mistake || !product.is_right(outcome.outputs[0])) << what;
    }
  }
}

/// Without its certificates nothing tells the interpreter what a statement was meant to compute.
std::string without_mappings(std::string text) {
  for (size_t at; (at = text.find(" computes ")) != std::string::npos;)
    text.erase(at, text.find('\n', at) - at);
  return text;
}

TEST(LoopProgram, OverlapsAndGapsAreCaughtWithoutCertificates) {
  const Mutant mutants[] = {
      {"parallel i0 step 6 < m", "parallel i0 step 5 < m", Mistake::race},
      {"parallel i0 step 6 < m", "parallel i0 step 7 < m", Mistake::unwritten_output},
      {"for j0 step 16 < n", "parallel j0 step 8 < n", Mistake::race},
      {"for j0 step 16 < n", "for j0 step 17 < n", Mistake::unwritten_output},
  };
  const Product product{13, 40, 7};
  EXPECT_TRUE(product.is_right(product.run(without_mappings(product_text)).outputs[0]));
  for (const Mutant& mutant : mutants) {
    const Outcome outcome = product.run(changed(without_mappings(product_text), mutant.from, mutant.to));
    EXPECT_EQ(outcome.mistake, mutant.mistake) << mutant.to << ": " << outcome.text;
  }
}

TEST(LoopProgram, IllFormedTextsAreRefused) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"tile[i1, j1] = 0:f32", "tile[i1] = 0:f32"},           // rank
      {"tile[i1, j1] = 0:f32", "tile[i1, j1] = 0:i32"},       // type
      {"tile[i1, j1] = 0:f32", "a[i1, j1] = 0:f32"},          // writes an input
      {"tile[i1, j1] = 0:f32", "tile[i9, j1] = 0:f32"},       // no such variable
      {"parallel i0 step 6", "parallel i0 step 0"},           // step
      {"parallel i0", "parallel j0"},                         // name taken
      {"parallel i0", "sometimes i0"},                        // no such loop
      {"f32[6, 16] in registers", "f32[6, n] in registers"},  // register buffers have literal sizes
      {"f32[6, 16] in registers", "f32[6, 16] in space"},     // no such level
      {"inverse(16*(x1 / 16), ", "inverse("},                 // a variable is missing
      {"x0 mod 6, x1", "x7 mod 6, x1"},                       // no such coordinate
      {"m: 1..64", "m: 9..4"},                                // empty range
      {"output c", "output a"},                               // declared twice
      {"mul(a[i0 + i1, p], panel[p, j1])", "mul(a[i0 + i1, p])"},
      {"mul(a[i0 + i1, p], panel[p, j1])", "mul(a[i0 + i1, p], index(p))"},
      {"mul(a[i0 + i1, p], panel[p, j1])", "tile"},
  };
  for (const auto& [from, to] : mistakes) {
    EXPECT_THROW(parse(changed(product_text, from, to)), Error) << to;
  }
  // Every beginning of a text is refused, not crashed on.
  for (size_t length = 0; length + 2 < product_text.size(); length += 7) {
    EXPECT_THROW(parse(product_text.substr(0, length)), Error) << length;
  }
  EXPECT_THROW(parse("loops deep() {\n output y: f32[]\n y[] = " +
                     [] {
                       std::string text;
                       for (int k = 0; k < 10000; ++k) text += "neg(";
                       return text;
                     }()),
               Error);
}

TEST(LoopProgram, ABufferLivesInItsBlockOnly) {
  const std::string text =
      "loops f(n: 1..9) {\n output y: f32[n]\n for i < n { allocate t: f32[] in registers\n t[] = 1:f32 }\n"
      " for j < n { y[j] = t[] }\n}";
  EXPECT_THROW(parse(text), Error);
}

TEST(Races, FollowTheTreeOfIterations) {
  ir::loop::Contexts contexts;
  const int32_t outer = contexts.new_run();
  const int32_t a = contexts.enter(contexts.outside, outer), b = contexts.enter(contexts.outside, outer);
  const int32_t inner_run = contexts.new_run();
  const int32_t a0 = contexts.enter(a, inner_run), a1 = contexts.enter(a, inner_run);
  const int32_t later = contexts.enter(contexts.outside, contexts.new_run());
  EXPECT_TRUE(contexts.concurrent(a, b));
  EXPECT_TRUE(contexts.concurrent(a0, b));
  EXPECT_TRUE(contexts.concurrent(a0, a1));
  EXPECT_FALSE(contexts.concurrent(a, a0));
  EXPECT_FALSE(contexts.concurrent(a0, later));
  EXPECT_FALSE(contexts.concurrent(contexts.outside, b));
}

const std::string rows_text = R"(loops rows(n: 1..64) {
  input table: f32[5, 3]
  input tokens: i64[n]
  output y: f32[n, 3]
  for i < n {
    vector v < 3 {
      y[i, v] = table[lookup(tokens[i]), v] computes y(i, v) inverse(x0, x1)
    }
  }
}
)";

TEST(Lookups, PrintParseAndRun) {
  EXPECT_EQ(print(parse(rows_text)), rows_text);
  const Tensor table = small_integers({5, 3}, 1);
  const auto run = [&](int64_t token) {
    Tensor tokens = Tensor::allocate(ElementType::i64, {2});
    tokens.set_int(0, 3);
    tokens.set_int(1, token);
    return interpret(parse(rows_text), {{"n", 2}}, {table, tokens});
  };
  for (const int64_t token : {0, 4, -1, -5}) {
    const Outcome outcome = run(token);
    ASSERT_FALSE(outcome.mistake) << outcome.text;
    for (int64_t j = 0; j < 3; ++j)
      EXPECT_EQ(outcome.outputs[0].get_real(3 + j), table.get_real((token + 5) % 5 * 3 + j));
  }
  for (const int64_t token : {int64_t{5}, int64_t{-6}, INT64_MIN}) EXPECT_THROW(run(token), Error);
}

TEST(Lookups, AreOfInputsOfIntegersAndNeverGuarded) {
  const auto refuse = [](const std::string& from, const std::string& to) {
    EXPECT_THROW(parse(changed(rows_text, from, to)), Error) << to;
  };
  refuse("tokens: i64[n]", "tokens: f32[n]");
  refuse("lookup(tokens[i])", "lookup(tokens[i, 0])");
  refuse("lookup(tokens[i])", "lookup(tokens[j])");
  refuse("lookup(tokens[i])", "lookup(y[i, v])");
  refuse("y[i, v] =", "y[lookup(tokens[i]), v] =");
  refuse("table[lookup(tokens[i]), v]", "guarded(table[lookup(tokens[i]), v], less(index(v), 2:i64), 0:f32)");
  refuse("table[lookup(tokens[i]), v]", "table[lookup(tokens[lookup(tokens[i])]), v]");
}

}  // namespace
}  // namespace axrun::tests
