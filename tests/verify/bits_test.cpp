// Every operation of integers, as the prover has it in bits, against the interpreter's: that it is its own
// value at chosen arguments is proved, that it is another one is refuted.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "ir/arithmetic.h"
#include "ir/builder.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Scalar;
using ir::ScalarOp;
using verify::Verdict;

constexpr ElementType types[] = {ElementType::u8, ElementType::i8, ElementType::i16, ElementType::i32,
                                 ElementType::u64};

struct Case {
  std::function<Scalar(const Scalar& x, const Scalar& y)> made;
  ElementType from, to;
  int64_t a, b;
};

/// What is made of x and y where these are a and b, and 0 elsewhere; or this value there.
ir::Program program(const Case& c, std::optional<int64_t> value) {
  ir::Builder b("bits");
  const ir::Dims dims = {ir::Dim::symbol("n")};
  const ir::TensorRef x = b.operand(0, c.from, dims), y = b.operand(1, c.from, dims);
  b.output(b.map(dims, [&](const ir::Indices& i) {
    const Scalar here = logical_and(x(i) == b.integer(c.a, c.from), y(i) == b.integer(c.b, c.from));
    Scalar result = c.made(x(i), y(i));
    if (value) result = b.integer(*value, c.to);
    return select(here, result, b.integer(0, c.to));
  }));
  return b.finish();
}

void expect_value(const Case& c, int64_t value, const std::string& what) {
  const std::vector<ir::loop::Size> sizes = {{"n", 1, 64, 1}};
  const auto right = verify::prove_equal(program(c, std::nullopt), program(c, value), sizes);
  EXPECT_EQ(right.verdict, Verdict::proved) << what << ": " << right.text;
  const int64_t other = ir::wrap_to(c.to, static_cast<int64_t>(static_cast<uint64_t>(value) + 1));
  const auto wrong = verify::prove_equal(program(c, std::nullopt), program(c, other), sizes);
  EXPECT_EQ(wrong.verdict, Verdict::refuted) << what << ": " << wrong.text;
}

/// Bounds, small numbers, widths, and any.
int64_t argument(ElementType type, std::mt19937_64& random) {
  const int64_t special[] = {0, 1, -1, 2, 7, 8, ir::integer_min(type), ir::integer_max(type)};
  const uint64_t drawn = random();
  return ir::wrap_to(
      type, drawn % 2 == 0 ? special[drawn / 2 % std::size(special)] : static_cast<int64_t>(random()));
}

TEST(Bits, OperationsAreTheInterpreters) {
  constexpr ScalarOp operations[] = {ScalarOp::add,        ScalarOp::sub,        ScalarOp::mul,
                                     ScalarOp::div,        ScalarOp::floor_div,  ScalarOp::floor_mod,
                                     ScalarOp::remainder,  ScalarOp::min,        ScalarOp::max,
                                     ScalarOp::bit_and,    ScalarOp::bit_or,     ScalarOp::bit_xor,
                                     ScalarOp::shift_left, ScalarOp::shift_right};
  std::mt19937_64 random(1);
  for (const ElementType type : types) {
    for (const ScalarOp op : operations) {
      for (int k = 0; k < 2; ++k) {
        const int64_t a = argument(type, random);
        int64_t b = argument(type, random);
        if (op == ScalarOp::shift_left || op == ScalarOp::shift_right) b = static_cast<int64_t>(random() % 9);
        const auto value = ir::integer_binary(op, type, a, b);
        if (!value) continue;  // a division by 0
        // Divisors are numbers: what divides by an input needs more than what does not.
        const bool divides = op >= ScalarOp::div && op <= ScalarOp::remainder;
        const Case c{[&](const Scalar& x, const Scalar& y) {
                       return binary(op, x, divides ? x.builder().integer(b, type) : y);
                     },
                     type, type, a, b};
        expect_value(c, *value,
                     std::string(ir::name_of(op)) + " of " + std::string(ir::name_of(type)) + " " +
                         std::to_string(a) + ", " + std::to_string(b));
      }
    }
    for (const ScalarOp op : {ScalarOp::neg, ScalarOp::abs, ScalarOp::sign, ScalarOp::bit_not}) {
      for (int k = 0; k < 2; ++k) {
        const int64_t a = argument(type, random);
        const Case c{[op](const Scalar& x, const Scalar&) { return unary(op, x); }, type, type, a, 1};
        expect_value(
            c, ir::integer_unary(op, type, a),
            std::string(ir::name_of(op)) + " of " + std::string(ir::name_of(type)) + " " + std::to_string(a));
      }
    }
  }
}

TEST(Bits, ComparisonsAreTheInterpreters) {
  std::mt19937_64 random(2);
  for (const ElementType type : types) {
    for (const ScalarOp op : {ScalarOp::equal, ScalarOp::not_equal, ScalarOp::less, ScalarOp::less_equal,
                              ScalarOp::greater, ScalarOp::greater_equal}) {
      for (int k = 0; k < 2; ++k) {
        const int64_t a = argument(type, random), b = k == 0 ? a : argument(type, random);
        const Case c{
            [op](const Scalar& x, const Scalar& y) { return cast(ElementType::i32, binary(op, x, y)); }, type,
            ElementType::i32, a, b};
        expect_value(c, *ir::integer_binary(op, type, a, b),
                     std::string(ir::name_of(op)) + " of " + std::string(ir::name_of(type)) + " " +
                         std::to_string(a) + ", " + std::to_string(b));
      }
    }
  }
}

TEST(Bits, CastsAndSaturationAreTheInterpreters) {
  std::mt19937_64 random(3);
  for (const ElementType from : types) {
    for (const ElementType to : types) {
      for (const bool saturate : {false, true}) {
        if (from == to) continue;
        for (int k = 0; k < 2; ++k) {
          const int64_t a = argument(from, random);
          // Of what is no plain cast of an input.
          const Case c{[&](const Scalar& x, const Scalar& y) {
                         const Scalar of = binary(ScalarOp::bit_xor, x, y);
                         return saturate ? cast_saturate(to, of) : cast(to, of);
                       },
                       from, to, a, 0};
          expect_value(c, ir::integer_to_integer(from, to, a, saturate),
                       std::string(saturate ? "saturated " : "cast ") + std::string(ir::name_of(from)) + " " +
                           std::to_string(a) + " to " + std::string(ir::name_of(to)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
