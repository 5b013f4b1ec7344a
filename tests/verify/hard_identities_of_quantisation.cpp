// Identities of quantised arithmetic: zero points, scales of columns and groups, nibbles, requantisation.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_quantisation() {
  const std::string bytes = "U: u8 n, k; V: i8 k, m; X: n, k; s: ; c: ; z: u8 ; y: i8 ; g: m";
  const std::string image = "U: u8 b, 8, y, x; V: i8 12, 8, 3, 3; P: i8 12, 8, 1, 1; s: ; c: ; z: u8 ; g: 12";
  const std::string nibbles = "X: n, 2*k; U: u8 k, m; s: ";
  const std::string low = "BitwiseAnd(U, Cast(15.0; to=2))";
  const std::string high = "BitShift(U, Cast(4.0; to=2); direction=RIGHT)";
  const auto word = [](const std::string& of) { return "Cast(" + of + "; to=6)"; };
  const auto real = [](const std::string& of) { return "Cast(" + of + "; to=1)"; };
  const auto columns = [](const std::string& of) { return "ReduceSum(" + of + ", {0}; keepdims=1)"; };
  const auto rows = [](const std::string& of) { return "ReduceSum(" + of + ", {1}; keepdims=1)"; };
  const std::string zero = word("z"), other = word("y");
  return {
      // Zero points.
      {"a zero point out of a product of bytes", bytes, "MatMulInteger(U, V, z)",
       "Sub(MatMulInteger(U, V), Mul(" + zero + ", " + columns(word("V")) + "))"},
      {"two zero points in four terms", bytes, "MatMulInteger(U, V, z, y)",
       "Add(Sub(Sub(MatMulInteger(U, V), Mul(" + zero + ", " + columns(word("V")) + ")), Mul(" +
           rows(word("U")) + ", " + other + ")), Mul(Mul(" + zero + ", " + other +
           "), ReduceSum(Expand(Cast(1.0; to=6), {k}), {0}; "
           "keepdims=0)))"},
      {"dequantised by turning the sign", bytes, "DequantizeLinear(U, s, Cast(128.0; to=2))",
       "DequantizeLinear(Cast(BitwiseXor(U, Cast(128.0; to=2)); to=3), s)"},
      {"a product with a zero point and a bias", bytes,
       "Add(MatMul(DequantizeLinear(U, s, z), DequantizeLinear(V, c)), g)",
       "Add(Mul(" + real("MatMulInteger(U, V)") + ", Mul(s, c)), Sub(g, Mul(" + columns(real("V")) +
           ", Mul(Mul(s, c), " + real("z") + "))))"},
      {"zero points of what is padded", "U: u8 n, k; V: i8 k + 3, m; z: u8 ",
       "MatMulInteger(Concat(U, Expand(z, {n, 3}); axis=1), V, z)",
       "MatMulInteger(U, Slice(V, {0}, {k}, {0}), z)"},
      // Scales.
      {"scales of columns past a product", bytes, "MatMul(X, DequantizeLinear(V, g; axis=1))",
       "Mul(MatMul(X, " + real("V") + "), g)"},
      {"scales of groups past a product", "X: n, t*c; V: i8 t*c, m; S: t, m",
       "MatMul(X, Reshape(Mul(" + real("Reshape(V, {t, c, m})") + ", Unsqueeze(S, {1})), {t*c, m}))",
       "ReduceSum(Mul(MatMul(Transpose(Reshape(X, {n, t, c}); perm=[1, 0, 2]), " +
           real("Reshape(V, {t, c, m})") + "), Unsqueeze(S, {1})), {0}; keepdims=0)"},
      {"groups with zero points past a product", "X: n, t*c; V: i8 t*c, m; S: t, m; Z: t, m",
       "MatMul(X, Reshape(Mul(Sub(" + real("Reshape(V, {t, c, m})") +
           ", Unsqueeze(Z, {1})), Unsqueeze(S, {1})), "
           "{t*c, m}))",
       "Sub(ReduceSum(Mul(MatMul(Transpose(Reshape(X, {n, t, c}); perm=[1, 0, 2]), " +
           real("Reshape(V, {t, c, m})") +
           "), Unsqueeze(S, {1})), {0}; keepdims=0), MatMul(ReduceSum(Reshape(X, {n, t, c}), {2}; "
           "keepdims=0), "
           "Mul(S, Z)))"},
      {"scales of rows and columns around integers", "U: i8 n, k; V: i8 k, m; w: n, 1; g: m",
       "MatMul(Mul(" + real("U") + ", w), Mul(" + real("V") + ", g))",
       "Mul(Mul(" + real("MatMulInteger(U, V)") + ", g), w)"},
      {"a convolution of dequantised values", image,
       "Conv(DequantizeLinear(U, s), DequantizeLinear(V, c); pads=[1, 1, 1, 1])",
       "Mul(" + real("ConvInteger(U, V; pads=[1, 1, 1, 1])") + ", Mul(s, c))"},
      {"a zero point out of a convolution", image, "ConvInteger(U, V, z)",
       "Sub(ConvInteger(U, V), Mul(" + zero + ", Reshape(ReduceSum(" + word("V") +
           ", {1, 2, 3}; keepdims=0), {12, 1, 1})))"},
      {"a pointwise convolution of bytes as a product", image, "ConvInteger(U, P)",
       "Reshape(MatMul(" + word("Reshape(P, {12, 8})") + ", " + word("Reshape(U, {b, 8, y*x})") +
           "), {b, 12, y, x})"},
      // Nibbles and parts of integers.
      {"interleaved nibbles of a depth", nibbles,
       "MatMul(X, Reshape(Concat(Unsqueeze(" + real(low) + ", {1}), Unsqueeze(" + real(high) +
           ", {1}); axis=1), {2*k, m}))",
       "Add(MatMul(Slice(X, {0}, {2*k}, {1}, {2}), " + real(low) +
           "), MatMul(Slice(X, {1}, {2*k}, {1}, {2}), " + real(high) + "))"},
      {"nibbles with a zero point", nibbles,
       "MatMul(X, Mul(Sub(Concat(" + real(low) + ", " + real(high) + "; axis=0), 8.0), s))",
       "Mul(Sub(Add(MatMul(Slice(X, {0}, {k}, {1}), " + real(low) + "), MatMul(Slice(X, {k}, {2*k}, {1}), " +
           real(high) + ")), Mul(" + rows("X") + ", 8.0)), s)"},
      {"high and low bits of a factor", "U: i32 n, k; V: i32 k, m", "MatMul(U, V)",
       "Add(MatMul(BitwiseAnd(U, Cast(15.0; to=6)), V), MatMul(BitwiseAnd(U, BitwiseNot(Cast(15.0; to=6))), "
       "V))"},
      // Past movement and pieces.
      {"Relu of dequantised values", bytes, "Relu(DequantizeLinear(U, 0.5, z))",
       "DequantizeLinear(Max(U, z), 0.5, z)"},
      {"the largest of dequantised windows", "U: u8 b, c, 2*y, 2*x; z: u8 ",
       "DequantizeLinear(ReduceMax(Reshape(U, {b, c, y, 2, x, 2}); axes=[3, 5], keepdims=0), 0.5, z)",
       "MaxPool(DequantizeLinear(U, 0.5, z); kernel_shape=[2, 2], strides=[2, 2])"},
      {"requantised with its own scale", bytes, "QuantizeLinear(DequantizeLinear(U, 0.5, z), 0.5, z)",
       "Identity(U)"},
      {"quantised heads moved", "X: b, n, h*d; s: ; z: u8 ",
       "Transpose(Reshape(QuantizeLinear(X, s, z), {b, n, h, d}); perm=[0, 2, 1, 3])",
       "QuantizeLinear(Transpose(Reshape(X, {b, n, h, d}); perm=[0, 2, 1, 3]), s, z)"},
      {"quantised rows gathered",
       "E: v, k; i: i64 n; s: ; z: u8 ; c: ", "DequantizeLinear(Gather(QuantizeLinear(E, s, z), i), c, z)",
       "Gather(DequantizeLinear(QuantizeLinear(E, s, z), c, z), i)"},
      {"a mean of dequantised pixels", image, "GlobalAveragePool(DequantizeLinear(U, s, z))",
       "Mul(Sub(GlobalAveragePool(" + real("U") + "), " + real("z") + "), s)"},
      {"a softmax of dequantised scores", "U: u8 n, k; z: u8 ; s: ",
       "Softmax(DequantizeLinear(U, s, z); axis=1)", "Softmax(Mul(" + real("U") + ", s); axis=1)"},
  };
}

}  // namespace axrun::tests
