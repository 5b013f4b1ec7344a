// Machine code for elements of every type against the interpreter of loop programs, to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ir/error.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

/// Anything that the type holds: bounds, numbers near them and near 0, and for floats what is no number.
Tensor any_elements(ElementType type, const ir::Shape& shape, unsigned seed) {
  std::mt19937_64 random(seed);
  Tensor tensor = Tensor::allocate(type, shape);
  const auto pick = [&](auto... values) {
    const double all[] = {static_cast<double>(values)...};
    return all[random() % std::size(all)];
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const uint64_t draw = random() % 4;
    if (ir::is_float(type)) {
      const double near = static_cast<double>(static_cast<int64_t>(random() % 4001) - 2000) / 4;
      const double special = pick(std::nan(""), infinity, -infinity, 0.0, -0.0, 127.5, 128, -128.5, 255.5,
                                  32768, 65535.5, 65536, 2147483648.0, 2147483520.0, -2147483648.0,
                                  -2147483904.0, 9223372036854775808.0, -9223372036854775808.0, 1e30, 1e-30,
                                  3e38, 0x1p-140, 0x1.008p-3, 0x1.018p-3, 0x1.01p-3, 65519.99, 65520);
      const double any = std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                    -40 - static_cast<int>(random() % 24));
      tensor.set_real(i, ir::round_to(type, draw == 0 ? special : draw == 1 ? any : near));
    } else if (type == ElementType::boolean) {
      tensor.set_int(i, static_cast<int64_t>(draw % 2));
    } else {
      const int64_t low = ir::integer_min(type), high = ir::integer_max(type);
      const auto near = static_cast<int64_t>(random() % 5);
      const int64_t any = ir::wrap_to(type, static_cast<int64_t>(random() >> (random() % 60)));
      tensor.set_int(i, draw == 0   ? low + near
                        : draw == 1 ? high - near
                        : draw == 2 ? any
                                    : ir::wrap_to(type, near - 2));
    }
  }
  return tensor;
}

const std::vector<SizeValues> all_sizes = {{{"n", 1}},  {{"n", 3}},  {{"n", 7}},  {{"n", 8}},
                                           {{"n", 9}},  {{"n", 15}}, {{"n", 16}}, {{"n", 17}},
                                           {{"n", 31}}, {{"n", 64}}, {{"n", 77}}};

/// A program of one statement over n elements: of x, y (types given) and z.
std::string statement(const std::string& x, const std::string& y, const std::string& z,
                      const std::string& value) {
  return "loops t(n: 1..100) {\n  input x: " + x + "[n]\n  input y: " + y + "[n]\n  output z: " + z +
         "[n]\n  for i0 < (n + 31) / 32 {\n    vector i1 < min(32, n - 32*i0) {\n      z[32*i0 + i1] = " +
         value + "\n    }\n  }\n}\n";
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& where) {
  ASSERT_EQ(got.size(), want.size());
  for (int64_t i = 0; i < got.size(); ++i) {
    if (ir::is_float(got.type())) {
      const double a = got.get_real(i), b = want.get_real(i);
      ASSERT_TRUE((a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b)))
          << where << ": element " << i << " is " << a << " instead of " << b;
    } else {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << where << ": element " << i;
    }
  }
}

/// False where the emitter refuses the program on this target.
bool runs_as_interpreted(const std::string& text, const jit::Target& target) {
  const ir::loop::LoopProgram program = ir::loop::parse(text);
  std::shared_ptr<const jit::KernelCode> code;
  try {
    code = jit::KernelCode::compile(program, target, {});
  } catch (const Error& error) {
    if (error.fault() != Fault::unsupported) throw;
    return false;
  }
  for (const SizeValues& sizes : all_sizes) {
    const ir::Shape shape = {sizes.at("n")};
    std::vector<Tensor> inputs;
    for (const ir::loop::Buffer& buffer : program.buffers) {
      if (buffer.role == ir::loop::Role::input)
        inputs.push_back(any_elements(buffer.type, shape, static_cast<unsigned>(inputs.size() + 7)));
    }
    const ir::loop::Outcome want = interpret(program, sizes, inputs);
    EXPECT_FALSE(want.mistake) << want.text;
    const std::string where =
        text + std::to_string(target.vector_bytes) + " bytes, n = " + std::to_string(sizes.at("n"));
    expect_same(run_code(code, sizes, inputs)[0], want.outputs[0], where);
    if (testing::Test::HasFatalFailure()) return true;
  }
  return true;
}

const std::vector<std::string> integers = {"i4", "u4", "i8", "u8", "i16", "u16", "i32", "i64"};
const std::vector<std::string> all_types = {"i4",  "u4",  "i8",  "u8",   "i16", "u16", "i32", "u32",
                                            "i64", "u64", "f16", "bf16", "f32", "f64", "bool"};

TEST(Types, AreCopied) {
  for (const jit::Target& target : code_targets()) {
    for (const std::string& type : all_types) {
      EXPECT_TRUE(runs_as_interpreted(statement(type, type, type, "x[32*i0 + i1]"), target)) << type;
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Types, AreConverted) {
  for (const jit::Target& target : code_targets()) {
    std::string refused;
    for (const std::string& from : all_types) {
      for (const std::string& to : all_types) {
        for (const char* cast : {"cast", "cast_saturate"}) {
          const std::string value = std::string(cast) + ":" + to + "(x[32*i0 + i1])";
          if (!runs_as_interpreted(statement(from, from, to, value), target) && cast == std::string("cast"))
            refused += from + "-" + to + " ";
          if (HasFatalFailure()) return;
        }
      }
    }
    // Nothing that quantised models and token models are made of.
    const bool wide = target.vector_bytes >= 64;
    EXPECT_EQ(refused,
              wide ? "i32-bf16 u32-bf16 i64-f16 i64-bf16 u64-f16 u64-bf16 u64-f32 u64-f64 f16-u64 bf16-u64 "
                     "f32-u64 f64-u32 f64-u64 f64-f16 f64-bf16 "
                   : "i32-bf16 u32-f16 u32-bf16 u32-f32 i64-f16 i64-bf16 u64-f16 u64-bf16 u64-f32 u64-f64 "
                     "f16-u32 f16-u64 bf16-u32 bf16-u64 f32-u32 f32-u64 f64-u32 f64-u64 f64-f16 f64-bf16 ")
        << target.vector_bytes << " bytes";
  }
}

TEST(Types, Compute) {
  for (const jit::Target& target : code_targets()) {
    for (const std::string& type : integers) {
      for (const char* op : {"add", "sub", "mul", "min", "max"}) {
        const std::string value = std::string(op) + "(x[32*i0 + i1], y[32*i0 + i1])";
        EXPECT_TRUE(runs_as_interpreted(statement(type, type, type, value), target)) << type << ' ' << op;
        if (HasFatalFailure()) return;
      }
      for (const char* op : {"neg", "abs"}) {
        const std::string value = std::string(op) + "(x[32*i0 + i1])";
        EXPECT_TRUE(runs_as_interpreted(statement(type, type, type, value), target)) << type << ' ' << op;
        if (HasFatalFailure()) return;
      }
    }
    for (const char* type : {"f16", "bf16", "f64"}) {
      for (const char* op : {"add", "sub", "mul", "div", "min", "max"}) {
        const std::string value = std::string(op) + "(x[32*i0 + i1], y[32*i0 + i1])";
        EXPECT_TRUE(runs_as_interpreted(statement(type, type, type, value), target)) << type << ' ' << op;
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Types, AreCompared) {
  for (const jit::Target& target : code_targets()) {
    for (const std::string& type : all_types) {
      for (const char* op : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
        if ((type == "bool" || type == "u64") && op[0] != 'e' && op[0] != 'n') continue;
        const std::string value = std::string(op) + "(x[32*i0 + i1], y[32*i0 + i1])";
        EXPECT_TRUE(runs_as_interpreted(statement(type, type, "bool", value), target)) << type << ' ' << op;
        const std::string chosen = "select(" + value + ", y[32*i0 + i1], x[32*i0 + i1])";
        EXPECT_TRUE(runs_as_interpreted(statement(type, type, type, chosen), target)) << type << ' ' << op;
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// Lanes in registers that are combined, then with each other.
TEST(Types, AreReduced) {
  for (const jit::Target& target : code_targets()) {
    for (const std::string type : {"i8", "u8", "i16", "u16", "i32", "i64", "f64"}) {
      for (const auto& [combine, start] : {std::pair("+", "0"), {"*", "1"}, {"min", "7"}, {"max", "0"}}) {
        const std::string literal = std::string(start) + ":" + type;
        const std::string text =
            "loops t(n: 1..100) {\n  input x: " + type + "[n]\n  output z: " + type +
            "[1]\n  allocate part: " + type + "[32] in registers\n  allocate all: " + type +
            "[] in registers\n  vector i < 32 { part[i] = " + literal +
            " }\n  for i0 < (n + 31) / 32 {\n    vector i1 < min(32, n - 32*i0) { part[i1] " + combine +
            "= x[32*i0 + i1] }\n  }\n  all[] = " + literal + "\n  vector i < 32 { all[] " + combine +
            "= part[i] }\n  z[0] = all[]\n}\n";
        if (type == "f64" && combine[0] != 'm') continue;  // another order, another result
        EXPECT_TRUE(runs_as_interpreted(text, target)) << type << ' ' << combine;
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
