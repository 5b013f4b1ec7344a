// Identities of integers that wrap, of masks and of truth values, by elements and within sums.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_integers() {
  const std::string words = "i: i32 n; j: i32 n; k: i32 n; u: u8 n; t: u8 n; h: u8 n; w: i8 n; x: i8 n";
  const std::string truths = "p: bool n, m; q: bool n, m; r: bool n, m; A: n, m; W: m, k; w: n, 1";
  const auto word = [](const std::string& of) { return "Cast(" + of + "; to=6)"; };
  const auto real = [](const std::string& of) { return "Cast(" + of + "; to=1)"; };
  const auto total = [](const std::string& of) { return "ReduceSum(" + of + ", {1}; keepdims=1)"; };
  const std::string majority = "Or(Or(And(p, q), And(q, r)), And(p, r))";
  const std::string zero = "Cast(0.0; to=6)", one = "Cast(1.0; to=6)", full = "Cast(255.0; to=6)";
  const std::string sum = "Add(" + word("u") + ", " + word("t") + ")";
  const std::string gap = "Sub(" + word("u") + ", " + word("t") + ")";
  return {
      // Sums and products that wrap.
      {"Horner's rule wraps", words, "Add(Mul(Add(Mul(Add(Mul(i, j), k), j), i), j), k)",
       "Add(Add(Add(Mul(Mul(Mul(i, j), j), j), Mul(Mul(k, j), j)), Mul(i, j)), k)"},
      {"three factors of integers", "U: i32 n, k; V: i32 k, m; W: i32 m, p", "MatMul(MatMul(U, V), W)",
       "MatMul(U, MatMul(V, W))"},
      {"a square of differences wraps", "U: i32 n, k; V: i32 n, k", total("Mul(Sub(U, V), Sub(U, V))"),
       "Sub(Add(" + total("Mul(U, U)") + ", " + total("Mul(V, V)") + "), Mul(" + total("Mul(U, V)") +
           ", Cast(2.0; to=6)))"},
      {"low bytes of a sum of products", "U: i32 n, k; V: i32 n, k", "Cast(" + total("Mul(U, V)") + "; to=2)",
       "Cast(" + total(word("Mul(Cast(U; to=2), Cast(V; to=2))")) + "; to=2)"},
      {"integers summed in tiles and strides", "U: i32 n, t*c", total("U"),
       total("ReduceSum(Transpose(Reshape(U, {n, t, c}); perm=[0, 2, 1]), {2}; keepdims=0)")},
      {"a largest integer in tiles", "U: i32 n, t*c", "ReduceMax(U; axes=[1], keepdims=0)",
       "BitwiseNot(ReduceMin(ReduceMin(BitwiseNot(Reshape(U, {n, t, c})); axes=[2], keepdims=0); axes=[1], "
       "keepdims=0))"},
      // Bytes.
      {"a sum of bytes that saturates", words, "Cast(Min(" + sum + ", " + full + "); to=2)",
       "Add(u, Min(t, BitwiseNot(u)))"},
      {"a difference of bytes that saturates", words, "Cast(Max(" + gap + ", " + zero + "); to=2)",
       "Sub(Max(u, t), t)"},
      {"a distance of bytes", words, "Cast(Abs(" + gap + "); to=2)", "Sub(Max(u, t), Min(u, t))"},
      {"a distance of bytes by saturation", words, "Cast(Abs(" + gap + "); to=2)",
       "BitwiseOr(Sub(Max(u, t), t), Sub(Max(u, t), u))"},
      {"a byte and its complement", words, "Add(" + word("u") + ", " + word("BitwiseNot(u)") + ")",
       "Add(Mul(i, " + zero + "), " + full + ")"},
      {"a product by squares of a sum and a difference", words,
       "Mul(Mul(" + word("w") + ", " + word("x") + "), Cast(4.0; to=6))",
       "Sub(Mul(Add(" + word("w") + ", " + word("x") + "), Add(" + word("w") + ", " + word("x") +
           ")), Mul(Sub(" + word("w") + ", " + word("x") + "), Sub(" + word("w") + ", " + word("x") + ")))"},
      {"a sign of integers by comparisons", words,
       "Mul(Sub(" + word("Greater(i, " + zero + ")") + ", " + word("Less(i, " + zero + ")") + "), i)",
       "Abs(i)"},
      // Masks.
      {"a choice by bits", words, "BitwiseOr(BitwiseAnd(i, j), BitwiseAnd(BitwiseNot(i), k))",
       "BitwiseXor(k, BitwiseAnd(i, BitwiseXor(j, k)))"},
      {"a majority of bits", words,
       "BitwiseOr(BitwiseOr(BitwiseAnd(i, j), BitwiseAnd(j, k)), BitwiseAnd(i, k))",
       "BitwiseXor(BitwiseXor(BitwiseAnd(i, j), BitwiseAnd(j, k)), BitwiseAnd(i, k))"},
      {"a difference by bits", words, "Sub(i, j)",
       "Sub(BitwiseXor(i, j), Mul(BitwiseAnd(BitwiseNot(i), j), Cast(2.0; to=6)))"},
      {"three bytes without carries", words,
       "Add(Add(" + word("u") + ", " + word("t") + "), " + word("h") + ")",
       "Add(" + word("BitwiseXor(BitwiseXor(u, t), h)") + ", Mul(" +
           word("BitwiseOr(BitwiseOr(BitwiseAnd(u, t), BitwiseAnd(t, h)), BitwiseAnd(u, h))") +
           ", Cast(2.0; to=6)))"},
      {"a lowest bit cleared", words, "BitwiseAnd(i, Sub(i, " + one + "))", "Sub(i, BitwiseAnd(i, Neg(i)))"},
      // Truth values.
      {"a full adder", truths, "Add(Add(" + word("p") + ", " + word("q") + "), " + word("r") + ")",
       "Add(" + word("Xor(Xor(p, q), r)") + ", Mul(" + word(majority) + ", Cast(2.0; to=6)))"},
      {"a majority by an exclusion", truths, majority, "Or(And(p, q), And(r, Xor(p, q)))"},
      {"a union and an intersection", truths,
       "Add(" + total(word("Or(p, q)")) + ", " + total(word("And(p, q)")) + ")",
       "Add(" + total(word("p")) + ", " + total(word("q")) + ")"},
      {"some are true where not all are false", truths, "ReduceMax(" + word("p") + "; axes=[1])",
       "Sub(" + one + ", ReduceMin(" + word("Not(p)") + "; axes=[1]))"},
      {"a masked mean shifted", truths,
       "Div(" + total("Mul(Add(A, w), " + real("p") + ")") + ", " + total(real("p")) + ")",
       "Add(Div(" + total("Where(p, A, 0.0)") + ", " + total(real("p")) + "), w)"},
      {"a mask in two parts before a product", truths, "MatMul(Where(And(p, q), A, 0.0), W)",
       "Sub(MatMul(Where(p, A, 0.0), W), MatMul(Where(And(p, Not(q)), A, 0.0), W))"},
      {"a choice of rows past a product", "p: bool n, 1; A: n, m; B: n, m; W: m, k",
       "MatMul(Where(p, A, B), W)", "Where(p, MatMul(A, W), MatMul(B, W))"},
      {"nested choices by an exclusion", truths + "; B: n, m", "Where(p, Where(q, A, B), Where(q, B, A))",
       "Add(Mul(A, " + real("Not(Xor(p, q))") + "), Where(Xor(q, p), B, 0.0))"},
  };
}

}  // namespace axrun::tests
