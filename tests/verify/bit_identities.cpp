// Identities of integers that rest on their bits: masks, shifts, comparisons, quotients, casts and
// saturation, by themselves and within sums; and ones that fail at few values, such as the least of a type.
#include "tests/verify/identities.h"

namespace axrun::tests {
namespace {

const char* const words = "i: i32 n; j: i32 n; k: i32 n; u: u8 n; t: u8 n; w: i8 n; x: i8 n; A: n; B: n";

}  // namespace

std::vector<Identity> bit_identities() {
  return {
      // Masks.
      {"a mask and its rest", words, "Add(BitwiseAnd(i, j), BitwiseAnd(i, BitwiseNot(j)))", "Identity(i)"},
      {"masks distribute", words, "BitwiseAnd(i, BitwiseOr(j, k))",
       "BitwiseOr(BitwiseAnd(i, j), BitwiseAnd(i, k))"},
      {"exclusive or twice", words, "BitwiseXor(BitwiseXor(i, j), j)", "Identity(i)"},
      {"de Morgan for or", words, "BitwiseNot(BitwiseOr(u, t))", "BitwiseAnd(BitwiseNot(u), BitwiseNot(t))"},
      {"an or by a sum", words, "BitwiseOr(i, j)", "Sub(Add(i, j), BitwiseAnd(i, j))"},
      {"a lowest bit", words, "BitwiseAnd(i, Neg(i))", "BitwiseAnd(i, Add(BitwiseNot(i), Cast(1.0; to=6)))"},
      {"nibbles put together", words,
       "BitwiseOr(BitwiseAnd(u, Cast(15.0; to=2)), BitShift(BitShift(u, Cast(4.0; to=2); direction=RIGHT), "
       "Cast(4.0; to=2); direction=LEFT))",
       "Identity(u)"},
      {"nibbles unpacked and weighed", words,
       "Add(Cast(BitwiseAnd(u, Cast(15.0; to=2)); to=6), Mul(Cast(BitShift(u, Cast(4.0; to=2); "
       "direction=RIGHT); "
       "to=6), Cast(16.0; to=6)))",
       "Cast(u; to=6)"},
      // Shifts and quotients.
      {"a shift is a product by a power of two", words, "BitShift(u, Cast(3.0; to=2); direction=LEFT)",
       "Mul(u, Cast(8.0; to=2))"},
      {"a shift is a quotient by a power of two", words, "BitShift(u, Cast(2.0; to=2); direction=RIGHT)",
       "Div(u, Cast(4.0; to=2))"},
      {"a remainder by a mask", words, "Mod(u, Cast(8.0; to=2))", "BitwiseAnd(u, Cast(7.0; to=2))"},
      {"a remainder of either sign by a mask", words, "Mod(i, Cast(8.0; to=6))",
       "BitwiseAnd(i, Cast(7.0; to=6))"},
      {"a quotient and a remainder", words,
       "Add(Mul(Div(u, Cast(5.0; to=2)), Cast(5.0; to=2)), Mod(u, Cast(5.0; to=2)))", "Identity(u)"},
      {"shifted by all bits", words, "BitShift(u, Cast(8.0; to=2); direction=LEFT)", "Sub(u, u)"},
      {"a mean without overflow", words,
       "Add(BitwiseAnd(u, t), BitShift(BitwiseXor(u, t), Cast(1.0; to=2); direction=RIGHT))",
       "Cast(BitShift(Add(Cast(u; to=4), Cast(t; to=4)), Cast(1.0; to=4); direction=RIGHT); to=2)"},
      {"a mean rounded up", words,
       "Sub(BitwiseOr(u, t), BitShift(BitwiseXor(u, t), Cast(1.0; to=2); direction=RIGHT))",
       "Cast(BitShift(Add(Add(Cast(u; to=4), Cast(t; to=4)), Cast(1.0; to=4)), Cast(1.0; to=4); "
       "direction=RIGHT); "
       "to=2)"},
      // Order.
      {"the larger and the smaller", words, "Add(Max(i, j), Min(i, j))", "Add(i, j)"},
      {"a maximum of integers by a choice", words, "Where(Less(i, j), j, i)", "Max(i, j)"},
      {"an absolute value of integers", words, "Where(Less(i, Cast(0.0; to=6)), Neg(i), i)", "Abs(i)"},
      {"a difference that is nothing", words, "Equal(BitwiseXor(i, j), Cast(0.0; to=6))", "Equal(i, j)"},
      {"less than the larger", words, "Less(i, Max(i, j))", "Less(i, j)"},
      {"a clip of integers in two steps", words,
       "Clip(Max(i, Cast(0.0; to=6)), Cast(0.0; to=6), Cast(255.0; to=6))",
       "Clip(i, Cast(0.0; to=6), Cast(255.0; to=6))"},
      {"a byte that was clipped", words,
       "Cast(Cast(Clip(i, Cast(0.0; to=6), Cast(255.0; to=6)); to=2); to=6)",
       "Clip(i, Cast(0.0; to=6), Cast(255.0; to=6))"},
      {"a choice of reals by parity", words,
       "Where(Equal(BitwiseAnd(i, Cast(1.0; to=6)), Cast(0.0; to=6)), A, B)",
       "Where(Equal(Mod(i, Cast(2.0; to=6)), Cast(0.0; to=6)), A, B)"},
      {"a real of what is masked", words, "Mul(Cast(BitwiseAnd(u, u); to=1), A)", "Mul(A, Cast(u; to=1))"},
      // Quantised arithmetic.
      {"a byte with its sign turned", words, "Cast(Cast(BitwiseXor(u, Cast(128.0; to=2)); to=3); to=6)",
       "Sub(Cast(u; to=6), Cast(128.0; to=6))"},
      {"signed bytes in place of unsigned ones", "U: u8 n, k; V: i8 k, m",
       "MatMul(Cast(Cast(BitwiseXor(U, Cast(128.0; to=2)); to=3); to=6), Cast(V; to=6))",
       "Sub(MatMulInteger(U, V), Mul(ReduceSum(Cast(V; to=6), {0}; keepdims=1), Cast(128.0; to=6)))"},
      {"nibbles of weights", "U: u8 k, m; X: i32 n, k", "MatMul(X, Cast(U; to=6))",
       "Add(MatMul(X, Cast(BitwiseAnd(U, Cast(15.0; to=2)); to=6)), Mul(MatMul(X, Cast(BitShift(U, Cast(4.0; "
       "to=2); "
       "direction=RIGHT); to=6)), Cast(16.0; to=6)))"},
      // Within sums, where no two terms cancel.
      {"sums of maxima and of minima", "X: i32 n, k; Y: i32 n, k",
       "Add(ReduceSum(Max(X, Y), {1}; keepdims=0), ReduceSum(Min(X, Y), {1}; keepdims=0))",
       "Add(ReduceSum(X, {1}; keepdims=0), ReduceSum(Y, {1}; keepdims=0))"},
      {"sums of larger and smaller reals", "X: n, k; Y: n, k",
       "Add(ReduceSum(Max(X, Y), {1}; keepdims=0), ReduceSum(Min(X, Y), {1}; keepdims=0))",
       "Add(ReduceSum(X, {1}; keepdims=0), ReduceSum(Y, {1}; keepdims=0))"},
      {"masked sums of integers", "X: i32 n, k; Y: i32 n, k", "ReduceSum(BitwiseXor(X, Y), {1}; keepdims=0)",
       "Sub(ReduceSum(BitwiseOr(X, Y), {1}; keepdims=0), ReduceSum(BitwiseAnd(X, Y), {1}; keepdims=0))"},
  };
}

std::vector<Identity> false_bit_identities() {
  return {
      {"an or is no sum", words, "BitwiseOr(i, j)", "Add(i, j)"},
      {"a mask of the wrong width", words, "Mod(u, Cast(8.0; to=2))", "BitwiseAnd(u, Cast(8.0; to=2))"},
      {"a mask lost", words, "BitwiseAnd(BitShift(u, Cast(4.0; to=2); direction=RIGHT), Cast(7.0; to=2))",
       "BitShift(u, Cast(4.0; to=2); direction=RIGHT)"},
      {"a quotient of negatives is no shift", words, "Div(i, Cast(4.0; to=6))",
       "Div(Sub(i, BitwiseAnd(i, Cast(3.0; to=6))), Cast(4.0; to=6))"},
      {"saturated is not wrapped", words, "Cast(Clip(i, Cast(0.0; to=6), Cast(255.0; to=6)); to=2)",
       "Cast(i; to=2)"},
      {"a mean that overflows", words, "BitShift(Add(u, t), Cast(1.0; to=2); direction=RIGHT)",
       "Cast(BitShift(Add(Cast(u; to=4), Cast(t; to=4)), Cast(1.0; to=4); direction=RIGHT); to=2)"},
      {"products that saturate 16 bits", "u: u8 n; t: u8 n; w: i8 n; x: i8 n",
       "Cast(Add(Mul(Cast(u; to=5), Cast(w; to=5)), Mul(Cast(t; to=5), Cast(x; to=5))); to=6)",
       "Add(Mul(Cast(u; to=6), Cast(w; to=6)), Mul(Cast(t; to=6), Cast(x; to=6)))"},
      // At few values, which no random test meets.
      {"the least integer has no absolute value", words, "Cast(Less(Abs(i), Cast(0.0; to=6)); to=6)",
       "Sub(i, i)"},
      {"the least integer negated", words, "Less(i, j)", "Less(Neg(j), Neg(i))"},
      {"the largest integer and one", words, "Less(i, Add(i, Cast(1.0; to=6)))", "Equal(i, i)"},
      {"one value in four billion", words, "Where(Equal(i, Cast(1234567.0; to=6)), j, i)", "Identity(i)"},
      {"one pair in many", words,
       "Where(And(Equal(Mul(i, Cast(3.0; to=6)), Cast(1234567.0; to=6)), Equal(BitwiseXor(i, j), "
       "Cast(54321.0; "
       "to=6))), k, i)",
       "Identity(i)"},
      {"one value in a sum", "X: i32 n, k; Y: i32 n, k",
       "ReduceSum(Where(Equal(X, Cast(7654321.0; to=6)), Y, X), {1}; keepdims=0)",
       "ReduceSum(X, {1}; keepdims=0)"},
  };
}

}  // namespace axrun::tests
