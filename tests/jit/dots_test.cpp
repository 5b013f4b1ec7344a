// Products of small integers that lie next to each other: one instruction for several statements.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

/// c[m, n] = a[m, k] b[k, n] with b in panels of 32 columns, of `group` neighbours along k.
std::string product(const std::string& left, const std::string& right, int group) {
  const std::string g = std::to_string(group);
  const std::string k = g + "*p + q";
  return "loops product(m: 1..64, n: 1..70, k: 1..64) {\n  input a: " + left + "[m, " + g +
         "*k]\n  input b: " + right + "[(n + 31) / 32, k, 32, " + g + R"(]
  output c: i32[m, n]
  for jt < (n + 31) / 32 {
    for it < (m + 3) / 4 {
      allocate tile: i32[4, 32] in registers
      unrolled i1 < min(4, m - 4*it) {
        vector j1 < min(32, n - 32*jt) {
          tile[i1, j1] = 0:i32
        }
      }
      for p < k {
        unrolled i1 < min(4, m - 4*it) {
          unrolled q < )" +
         g + R"( {
            vector j1 < min(32, n - 32*jt) {
              tile[i1, j1] += mul(cast:i32(a[4*it + i1, )" +
         k + R"(]), cast:i32(b[jt, p, j1, q]))
            }
          }
        }
      }
      unrolled i1 < min(4, m - 4*it) {
        vector j1 < min(32, n - 32*jt) {
          c[4*it + i1, 32*jt + j1] = tile[i1, j1]
        }
      }
    }
  }
}
)";
}

/// Mostly what is largest in magnitude: sums of two products of bytes do not fit 16 bits then.
Tensor extremes(ElementType type, const ir::Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor = Tensor::allocate(type, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto draw = random() % 4;
    const int64_t any = ir::wrap_to(type, static_cast<int64_t>(random()));
    tensor.set_int(i, draw == 0 ? ir::integer_min(type) : draw == 1 ? ir::integer_max(type) : any);
  }
  return tensor;
}

void expect_product(const jit::Target& target, const std::string& text, const char* instruction) {
  const ir::loop::LoopProgram program = ir::loop::parse(text);
  const auto code = jit::KernelCode::compile(program, target, {.annotate = true});
  if (instruction != nullptr) {
    EXPECT_NE(code->assembly().find(instruction), std::string::npos) << code->assembly();
  }
  for (const SizeValues& sizes : {SizeValues{{"m", 1}, {"n", 1}, {"k", 1}},
                                  {{"m", 4}, {"n", 32}, {"k", 9}},
                                  {{"m", 7}, {"n", 43}, {"k", 5}},
                                  {{"m", 13}, {"n", 70}, {"k", 33}}}) {
    std::vector<Tensor> inputs;
    for (const ir::loop::Buffer& buffer : program.buffers) {
      if (buffer.role != ir::loop::Role::input) continue;
      ir::Shape shape;
      for (const ir::Dim& dim : buffer.dims)
        shape.push_back(dim.substitute({{"m", ir::Dim(sizes.at("m"))},
                                        {"n", ir::Dim(sizes.at("n"))},
                                        {"k", ir::Dim(sizes.at("k"))}})
                            .value());
      inputs.push_back(extremes(buffer.type, shape, static_cast<unsigned>(inputs.size() + 1)));
    }
    const ir::loop::Outcome want = interpret(program, sizes, inputs);
    ASSERT_FALSE(want.mistake) << want.text;
    const Tensor got = run_code(code, sizes, inputs)[0];
    for (int64_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got.get_int(i), want.outputs[0].get_int(i)) << target.vector_bytes << " bytes, element " << i;
    }
  }
}

/// The targets of this machine, and the same without instructions for dot products.
std::vector<jit::Target> targets() {
  std::vector<jit::Target> all = code_targets();
  for (jit::Target target : code_targets()) {
    const auto is_dots = [](const std::string& name) { return name == "avx512_vnni" || name == "avx_vnni"; };
    if (std::erase_if(target.features, is_dots) != 0) all.push_back(target);
  }
  return all;
}

bool has_dots(const jit::Target& target) {
  return target.has(target.vector_bytes >= 64 ? "avx512_vnni" : "avx_vnni");
}

TEST(Dots, OfBytes) {
  for (const jit::Target& target : targets()) {
    const bool wide = target.vector_bytes >= 64;
    const char* wanted = has_dots(target) ? "vpdpbusd" : wide ? nullptr : "vphaddd";
    expect_product(target, product("u8", "i8", 4), wanted);
    expect_product(target, product("i8", "u8", 4), wanted);
  }
}

TEST(Dots, OfWords) {
  for (const jit::Target& target : targets())
    expect_product(target, product("i16", "i16", 2), has_dots(target) ? "vpdpwssd" : "vpmaddwd");
}

/// The same statements where no instruction does what they say.
TEST(Dots, OfOtherTypesAreSumsOfProducts) {
  for (const jit::Target& target : targets()) {
    expect_product(target, product("u8", "u8", 4), "vpmulld");
    expect_product(target, product("i8", "i8", 4), "vpmulld");
    expect_product(target, product("i16", "u16", 2), "vpmulld");
    std::string apart = product("u8", "i8", 4);
    apart.replace(apart.find("b[jt, p, j1, q]"), 15, "b[jt, p, j1, 3 - q]");
    expect_product(target, apart, "vpmulld");
  }
}

}  // namespace
}  // namespace axrun::tests
