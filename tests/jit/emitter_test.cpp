#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "ir/error.h"
#include "tests/jit/emitted.h"
#include "tests/loop/programs.h"

namespace axrun::tests {
namespace {

using ir::Tensor;
using ir::loop::LoopProgram;
using jit::KernelCode;

using Sizes = std::map<std::string, int64_t>;

TEST(Emitter, TiledProductWithPackedPanel) {
  std::vector<Sizes> sizes;
  for (const int64_t m : {1, 5, 6, 13}) {
    for (const int64_t n : {1, 7, 16, 17, 40}) {
      for (const int64_t k : {1, 7}) sizes.push_back({{"m", m}, {"n", n}, {"k", k}});
    }
  }
  std::string text = product_text;  // the panel is written in one loop and read by a parallel one inside
  text.replace(text.find("parallel i0"), 8, "for");
  expect_as_interpreted(text, sizes);
}

const std::string clamped_product = R"(loops product(m: 1..4096, k: 1..200) {
  input a: f32[m, k]
  input b: f32[k, 70]
  input bias: f32[70]
  output c: f32[m, 70]
  allocate b_packed: f32[3, k, 32] in memory
  parallel jp < 3 {
    for p < k {
      vector j1 < 32 {
        b_packed[jp, p, j1] = guarded(b[p, 32*jp + j1], less(index(32*jp + j1), 70:i64), 0:f32)
      }
    }
  }
  parallel jt < 3 {
    for it < (m + 11) / 12 {
      allocate tile: f32[12, 32] in registers
      unrolled i1 < 12 {
        vector j2 < 32 {
          tile[i1, j2] = 0:f32
        }
      }
      for p0 < (k + 3) / 4 {
        unrolled p1 < min(4, k - 4*p0) {
          unrolled i2 < 12 {
            vector j3 < 32 {
              tile[i2, j3] += mul(a[min(12*it + i2, m - 1), 4*p0 + p1], b_packed[jt, 4*p0 + p1, j3])
            }
          }
        }
      }
      unrolled i3 < min(12, m - 12*it) {
        vector j4 < min(32, 70 - 32*jt) {
          c[12*it + i3, 32*jt + j4] = max(add(tile[i3, j4], bias[32*jt + j4]), 0:f32)
        }
      }
    }
  }
}
)";

TEST(Emitter, ClampedRowsUnrolledDepthAndGuardedPacking) {
  std::vector<Sizes> sizes;
  for (const int64_t m : {1, 2, 11, 12, 13, 24, 25}) {
    for (const int64_t k : {1, 3, 4, 5, 8, 30}) sizes.push_back({{"m", m}, {"k", k}});
  }
  expect_as_interpreted(clamped_product, sizes);
}

/// What the code does is what the program says, not what it was meant to compute.
TEST(Emitter, ChangesOfTheProgramAreChangesOfTheCode) {
  const std::pair<const char*, const char*> changes[] = {
      {"= 0:f32\n        }\n      }\n      for p0", "= 1:f32\n        }\n      }\n      for p0"},
      {"max(add(", "min(add("},
      {"add(tile[i3, j4], bias[32*jt + j4])", "sub(tile[i3, j4], bias[32*jt + j4])"},
      {"bias[32*jt + j4]", "bias[j4]"},
      {"a[min(12*it + i2, m - 1), 4*p0 + p1]", "a[min(12*it, m - 1), 4*p0 + p1]"},
      {"b_packed[jt, 4*p0 + p1, j3]", "b_packed[jt, 4*p0, j3]"},
      {"tile[i2, j3] += mul(", "tile[i2, j3] max= mul("},
      {"unrolled p1 < min(4, k - 4*p0)", "unrolled p1 < min(1, k - 4*p0)"},
      {"c[12*it + i3, 32*jt + j4] =", "c[m - 1 - 12*it - i3, 32*jt + j4] ="},
  };
  for (const auto& [from, to] : changes) {
    std::string text = clamped_product;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    expect_as_interpreted(text, {{{"m", 13}, {"k", 6}}});
  }
}

TEST(Emitter, ConstantsArePreparedOnce) {
  const LoopProgram program = ir::loop::parse(clamped_product);
  const Sizes sizes = {{"m", 17}, {"k", 9}};
  const std::vector<Tensor> inputs = inputs_of(program, sizes);
  const ir::loop::Outcome want = interpret(program, sizes, inputs);
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(program, target, {});
    jit::BoundKernel kernel(code, sizes, {false, true, true});
    EXPECT_FALSE(kernel.is_prepared(0));
    EXPECT_TRUE(kernel.is_prepared(1));
    EXPECT_FALSE(kernel.is_prepared(2));
    EXPECT_GE(kernel.prepared_bytes(), 3 * 9 * 32 * sizeof(float));
    const std::vector<Tensor> got = run_code(code, sizes, inputs, {false, true, true});
    for (int64_t i = 0; i < got[0].size(); ++i) ASSERT_EQ(got[0].get_real(i), want.outputs[0].get_real(i));
  }
}

TEST(Emitter, ConstantsArePreparedOnceWhereASingleTileFollows) {
  const LoopProgram program = ir::loop::parse(R"(loops tile() {
  input a: f32[8]
  input b: f32[8, 16]
  output c: f32[16]
  allocate packed: f32[8, 16] in memory
  for p < 8 {
    vector j < 16 {
      packed[p, j] = b[p, j]
    }
  }
  allocate sums: f32[16] in registers
  vector j < 16 {
    sums[j] = 0:f32
  }
  for p < 8 {
    vector j < 16 {
      sums[j] += mul(a[p], packed[p, j])
    }
  }
  vector j < 16 {
    c[j] = sums[j]
  }
}
)");
  const std::vector<Tensor> inputs = inputs_of(program, {});
  const ir::loop::Outcome want = interpret(program, {}, inputs);
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(program, target, {});
    EXPECT_TRUE(jit::BoundKernel(code, {}, {false, true}).is_prepared(1));
    const std::vector<Tensor> got = run_code(code, {}, inputs, {false, true});
    for (int64_t i = 0; i < got[0].size(); ++i) ASSERT_EQ(got[0].get_real(i), want.outputs[0].get_real(i));
  }
}

TEST(Emitter, ElementwiseChainsWithFunctions) {
  const std::string text = R"(loops chain(n: 1..1000) {
  input x: f32[n]
  input scale: f32[]
  output y: f32[n]
  parallel t < (n + 63) / 64 {
    vector v < min(64, n - 64*t) {
      y[64*t + v] = mul(mul(mul(x[64*t + v], 0.5:f32), add(2:f32, erf(mul(x[64*t + v], 0.70710678:f32)))), scale[])
    }
  }
}
)";
  std::vector<Sizes> sizes;
  for (int64_t n : {1, 7, 8, 15, 16, 17, 63, 64, 65, 200}) sizes.push_back({{"n", n}});
  expect_as_interpreted(text, sizes, 2e-6);
  for (const char* function :
       {"exp", "tanh", "erf", "sqrt", "abs", "neg", "floor", "ceil", "round_even", "truncate"}) {
    std::string other = text;
    const size_t at = other.find("mul(mul(mul(");
    other.replace(at, other.find('\n', at) - at,
                  "add(" + std::string(function) + "(mul(x[64*t + v], 0.3:f32)), mul(0:f32, scale[]))");
    expect_as_interpreted(other, {{{"n", 77}}}, 1e-6);
  }
}

TEST(Emitter, QuotientsOfConstantsAreConstants) {
  expect_as_interpreted(R"(loops f() {
  input x: f32[20]
  output y: f32[20]
  vector v < 20 { y[v] = mul(x[v], div(1:f32, 9:f32)) }
}
)",
                        {{}});
}

TEST(Emitter, RowsOfSoftmax) {
  const std::string text = R"(loops softmax(r: 1..50, n: 1..300) {
  input x: f32[r, n]
  output y: f32[r, n]
  parallel i < r {
    allocate e: f32[n] in cache
    allocate top: f32[32] in registers
    vector a < 32 {
      top[a] = -inf:f32
    }
    for t < (n + 31) / 32 {
      vector v < min(32, n - 32*t) {
        top[v] max= x[i, 32*t + v]
      }
    }
    allocate m: f32[] in registers
    m[] = -inf:f32
    vector b < 32 {
      m[] max= top[b]
    }
    allocate sums: f32[32] in registers
    vector c < 32 {
      sums[c] = 0:f32
    }
    for t2 < (n + 31) / 32 {
      vector w < min(32, n - 32*t2) {
        e[32*t2 + w] = exp(sub(x[i, 32*t2 + w], m[]))
        sums[w] += e[32*t2 + w]
      }
    }
    allocate s: f32[] in registers
    s[] = 0:f32
    vector d < 32 {
      s[] += sums[d]
    }
    for t3 < (n + 31) / 32 {
      vector u < min(32, n - 32*t3) {
        y[i, 32*t3 + u] = div(e[32*t3 + u], s[])
      }
    }
  }
}
)";
  std::vector<Sizes> sizes;
  for (int64_t n : {1, 8, 16, 31, 32, 33, 100}) sizes.push_back({{"r", 3}, {"n", n}});
  expect_as_interpreted(text, sizes, 3e-6);
}

TEST(Emitter, StridesMasksAndScalars) {
  // A transposition by strided loads, and one by strided stores.
  const std::string transposed = R"(loops transpose(m: 1..40, n: 1..40) {
  input x: f32[m, n]
  output y: f32[n, m]
  output z: f32[n, m]
  for j < n {
    for t < (m + 15) / 16 {
      vector v < min(16, m - 16*t) {
        y[j, 16*t + v] = x[16*t + v, j]
      }
    }
  }
  for i < m {
    for s < (n + 15) / 16 {
      vector w < min(16, n - 16*s) {
        z[16*s + w, i] = add(x[i, 16*s + w], 1:f32)
      }
    }
  }
}
)";
  expect_as_interpreted(transposed, {{{"m", 1}, {"n", 1}}, {{"m", 17}, {"n", 5}}, {{"m", 5}, {"n", 35}}});
  const std::string causal = R"(loops causal(n: 1..40, d: 0..8) {
  input x: f32[n, n]
  input bias: f32[n]
  output y: f32[n, n]
  parallel i < n {
    allocate b: f32[] in registers
    b[] = mul(bias[i], 2:f32)
    for t < (n + 31) / 32 {
      vector v < min(32, n - 32*t) {
        y[i, 32*t + v] = select(less_equal(index(32*t + v), index(i + d)), add(x[i, 32*t + v], b[]), -1:f32)
      }
    }
  }
}
)";
  expect_as_interpreted(causal, {{{"n", 1}, {"d", 0}}, {{"n", 40}, {"d", 3}}, {{"n", 33}, {"d", 8}}});
  // A moving sum with guards: the first and last window reach over the ends.
  const std::string window = R"(loops window(n: 1..100) {
  input x: f32[n]
  output y: f32[n]
  output last: f32[]
  for t < (n + 15) / 16 {
    vector v < min(16, n - 16*t) {
      y[16*t + v] = add(guarded(x[16*t + v - 1], greater_equal(index(16*t + v), 1:i64), 5:f32), guarded(x[16*t + v + 1], less(index(16*t + v + 1), index(n)), 0:f32))
    }
  }
  last[] = guarded(x[n - 2], greater(index(n), 1:i64), 7:f32)
}
)";
  expect_as_interpreted(window, {{{"n", 1}}, {{"n", 2}}, {{"n", 16}}, {{"n", 17}}, {{"n", 100}}});
}

TEST(Emitter, Booleans) {
  const std::string text = R"(loops where(n: 1..100) {
  input c: bool[n]
  input x: f32[n]
  output y: f32[n]
  output flags: bool[n]
  for t < (n + 15) / 16 {
    vector v < min(16, n - 16*t) {
      y[16*t + v] = select(c[16*t + v], x[16*t + v], neg(x[16*t + v]))
      flags[16*t + v] = logical_and(c[16*t + v], greater(x[16*t + v], 0:f32))
    }
  }
}
)";
  const LoopProgram program = ir::loop::parse(text);
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(program, target, {});
    for (const int64_t n : {1, 15, 16, 40}) {
      const Sizes sizes = {{"n", n}};
      const std::vector<Tensor> inputs = inputs_of(program, sizes);
      const auto want = interpret(program, sizes, inputs).outputs;
      const auto got = run_code(code, sizes, inputs);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(got[0].get_real(i), want[0].get_real(i));
        EXPECT_EQ(got[1].get_int(i), want[1].get_int(i)) << i;
      }
    }
  }
}

TEST(Emitter, LongIntegersBecomeFloats) {
  const LoopProgram program = ir::loop::parse(R"(loops cast(n: 1..100) {
  input x: i64[n]
  input s: i64[]
  output y: f32[n]
  for t < (n + 31) / 32 {
    vector v < min(32, n - 32*t) {
      y[32*t + v] = add(cast:f32(x[32*t + v]), cast:f32(s[]))
    }
  }
}
)");
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(program, target, {});
    for (const int64_t n : {1, 7, 8, 9, 16, 31, 77}) {
      Tensor x = Tensor::allocate(ir::ElementType::i64, {n}), s = Tensor::allocate(ir::ElementType::i64, {});
      for (int64_t i = 0; i < n; ++i) x.set_int(i, (i - 5) * (i % 3 == 0 ? int64_t{1} << 40 : 16777217));
      s.set_int(0, -3);
      const auto want = interpret(program, {{"n", n}}, {x, s}).outputs;
      const auto got = run_code(code, {{"n", n}}, {x, s});
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(got[0].get_real(i), want[0].get_real(i)) << i;
    }
  }
}

TEST(Emitter, NaNsGoThroughMinimaAndMaxima) {
  const LoopProgram program = ir::loop::parse(R"(loops f(n: 1..100) {
  input x: f32[n]
  input z: f32[n]
  output y: f32[n]
  output top: f32[]
  vector v < min(100, n) {
    y[v] = max(min(x[v], z[v]), 0:f32)
  }
  top[] = -inf:f32
  vector w < min(100, n) {
    top[] max= x[w]
  }
}
)");
  const float nan = std::nanf("");
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(program, target, {});
    for (int64_t place : {0, 3, 16, 36}) {
      std::vector<Tensor> inputs = {small_integers({37}, 1), small_integers({37}, 2)};
      inputs[0].as<float>()[place] = nan;
      inputs[1].as<float>()[(place + 1) % 37] = nan;
      const auto got = run_code(code, {{"n", 37}}, inputs);
      EXPECT_TRUE(std::isnan(got[0].get_real(place)));
      EXPECT_TRUE(std::isnan(got[0].get_real((place + 1) % 37)));
      EXPECT_TRUE(std::isnan(got[1].get_real(0)));
    }
  }
}

TEST(Emitter, WhatItCannotSayIsRefused) {
  const char* programs[] = {
      "loops f(n: 1..9) {\n input x: f8e5m2[n]\n output y: f8e5m2[n]\n for i < n { y[i] = x[i] }\n}",
      "loops f(n: 1..9) {\n input x: f32[n]\n output y: f32[n]\n for i < n { y[i] = atan2(x[i], x[i]) }\n}",
      "loops f(n: 1..9) {\n input x: f32[n]\n output y: f32[n]\n for i < n { parallel j < 1 { y[i] = x[i] } "
      "}\n}",
      // A recurrence across lanes.
      "loops f(n: 1..9) {\n input x: f32[n]\n output y: f32[n]\n vector v < 8 { y[v] = x[v]\n y[7 - v] += "
      "x[v] }\n}",
  };
  for (const jit::Target& target : code_targets()) {
    for (const char* text : programs) {
      try {
        KernelCode::compile(ir::loop::parse(text), target, {});
        ADD_FAILURE() << text;
      } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::unsupported) << error.what();
      }
    }
  }
}

/// Of the pages that hold these bytes, as the kernel tells them; "----" for what is not mapped.
std::set<std::string> permissions_of(const void* address, size_t bytes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = at + bytes;
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; at < end && std::getline(maps, line);) {
    uintptr_t first = 0, last = 0;
    char permissions[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, permissions) != 3 || last <= at) continue;
    if (first > at) break;
    found.insert(permissions);
    at = last;
  }
  if (at < end) found.insert("----");
  return found;
}

TEST(Emitter, CodeIsReadableAndNeverWritable) {
  for (const jit::Target& target : code_targets()) {
    const auto code = KernelCode::compile(ir::loop::parse(clamped_product), target, {.annotate = true});
    EXPECT_NE(code->assembly().find("vfmadd231ps"), std::string::npos);
    EXPECT_NE(code->assembly().find("for it"), std::string::npos);
    EXPECT_LT(code->code_bytes(), 64U * 1024);
    const std::set<std::string> permissions = permissions_of(code->code(), code->code_bytes());
    EXPECT_TRUE(permissions == std::set<std::string>{"r-xp"} || permissions == std::set<std::string>{"r-xs"})
        << testing::PrintToString(permissions);
  }
}

}  // namespace
}  // namespace axrun::tests
