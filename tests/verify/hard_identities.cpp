// Identities that take more than one law: blocks of models, tiled reductions, integers, quantised arithmetic.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities() {
  const std::string heads =
      "X: b, n, h*d; W: h*d, h*d; Q: b, h, n, d; K: b, h, e, d; V: b, h, e, d; s: ; M: n, e";
  const std::string image =
      "X: b, 8, y, x; F: 12, 8, 3, 3; G: 12, 8, 3, 3; P: 12, 8, 1, 1; O: 16, 12, 1, 1; D: 8, 1, 3, 3; g: 12; "
      "a: 12; "
      "v: 12; e: 12; c: 8; s: ";
  const std::string tiles = "X: n, t*c; Y: n, t*c; W: t*c, m; Z: n, a; U: n, c; V: a, m; R: c, m";
  const std::string words = "i: i32 n; j: i32 n; k: i32 n; p: i64 n; q: i64 n; u: u8 n; w: i8 n; r: i16 n";
  const std::string matrix = "A: n, k; B: n, k; W: k, m; V: k, m; g: k; b: k; c: m; s: ; w: n, 1";
  const std::string maximum = "Max(ReduceMax(Z; axes=[1]), ReduceMax(U; axes=[1]))";
  const std::string whole = "Concat(Z, U; axis=1)";
  const auto shifted = [](const std::string& of) {
    return "Exp(Sub(" + of + ", ReduceMax(" + of + "; axes=[1])))";
  };
  const auto factor = [&](const std::string& of) {
    return "Exp(Sub(ReduceMax(" + of + "; axes=[1]), " + maximum + "))";
  };
  return {
      // Reductions split into tiles.
      {"a sum in tiles", tiles, "ReduceSum(X, {1}; keepdims=0)",
       "ReduceSum(ReduceSum(Reshape(X, {n, t, c}), {2}; keepdims=0), {1}; keepdims=0)"},
      {"a sum in strides", tiles, "ReduceSum(X, {1}; keepdims=0)",
       "ReduceSum(ReduceSum(Reshape(X, {n, t, c}), {1}; keepdims=0), {1}; keepdims=0)"},
      {"a product in tiles", tiles, "MatMul(X, W)",
       "ReduceSum(MatMul(Transpose(Reshape(X, {n, t, c}); perm=[1, 0, 2]), Reshape(W, {t, c, m})), {0}; "
       "keepdims=0)"},
      {"a maximum in tiles", tiles, "ReduceMax(X; axes=[1], keepdims=0)",
       "ReduceMax(ReduceMax(Reshape(X, {n, t, c}); axes=[1], keepdims=0); axes=[1], keepdims=0)"},
      {"a minimum in tiles", tiles, "ReduceMin(X; axes=[1], keepdims=0)",
       "ReduceMin(ReduceMin(Reshape(X, {n, t, c}); axes=[2], keepdims=0); axes=[1], keepdims=0)"},
      {"a mean in tiles", tiles, "ReduceMean(X; axes=[1], keepdims=0)",
       "ReduceMean(ReduceMean(Reshape(X, {n, t, c}); axes=[1], keepdims=0); axes=[1], keepdims=0)"},
      {"a dot product in tiles", tiles, "ReduceSum(Mul(X, Y), {1}; keepdims=0)",
       "ReduceSum(ReduceSum(Mul(Reshape(X, {n, t, c}), Reshape(Y, {n, t, c})), {2}; keepdims=0), {1}; "
       "keepdims=0)"},
      {"squares in tiles", tiles, "ReduceSumSquare(X; axes=[1], keepdims=0)",
       "ReduceSum(ReduceSumSquare(Reshape(X, {n, t, c}); axes=[2], keepdims=0), {1}; keepdims=0)"},
      {"a norm in tiles", tiles, "ReduceL2(X; axes=[1], keepdims=0)",
       "ReduceL2(ReduceL2(Reshape(X, {n, t, c}); axes=[2], keepdims=0); axes=[1], keepdims=0)"},
      {"absolute values in tiles", tiles, "ReduceL1(X; axes=[1], keepdims=0)",
       "ReduceSum(ReduceSum(Abs(Reshape(X, {n, t, c})), {1}; keepdims=0), {1}; keepdims=0)"},
      {"a product of joined depths", tiles, "MatMul(" + whole + ", Concat(V, R; axis=0))",
       "Add(MatMul(Z, V), MatMul(U, R))"},
      {"a sum less its tail", "X: n, m + 3", "ReduceSum(X, {1}; keepdims=0)",
       "Add(ReduceSum(Slice(X, {0}, {m}, {1}), {1}; keepdims=0), ReduceSum(Slice(X, {m}, {m + 3}, {1}), {1}; "
       "keepdims=0))"},
      {"a maximum with its tail", "X: n, m + 3", "ReduceMax(X; axes=[1])",
       "Max(ReduceMax(Slice(X, {0}, {m}, {1}); axes=[1]), ReduceMax(Slice(X, {m}, {m + 3}, {1}); axes=[1]))"},
      // Online softmax: init, combine, finish; sums, weighted sums and maxima.
      {"online softmax, the maximum combined", tiles, "ReduceMax(" + whole + "; axes=[1])", maximum},
      {"online softmax, the sum combined", tiles, "ReduceSum(" + shifted(whole) + ", {1}; keepdims=1)",
       "Add(Mul(ReduceSum(" + shifted("Z") + ", {1}; keepdims=1), " + factor("Z") + "), Mul(ReduceSum(" +
           shifted("U") + ", {1}; keepdims=1), " + factor("U") + "))"},
      {"online softmax, values combined", tiles, "MatMul(" + shifted(whole) + ", Concat(V, R; axis=0))",
       "Add(Mul(MatMul(" + shifted("Z") + ", V), " + factor("Z") + "), Mul(MatMul(" + shifted("U") +
           ", R), " + factor("U") + "))"},
      {"online softmax, finished", tiles, "MatMul(Softmax(" + whole + "; axis=1), Concat(V, R; axis=0))",
       "Div(Add(Mul(MatMul(" + shifted("Z") + ", V), " + factor("Z") + "), Mul(MatMul(" + shifted("U") +
           ", R), " + factor("U") + ")), Add(Mul(ReduceSum(" + shifted("Z") + ", {1}; keepdims=1), " +
           factor("Z") + "), Mul(ReduceSum(" + shifted("U") + ", {1}; keepdims=1), " + factor("U") + ")))"},
      {"softmax in tiles", tiles, "Reshape(Softmax(X; axis=1), {n, t, c})",
       "Div(Exp(Sub(Reshape(X, {n, t, c}), ReduceMax(Reshape(X, {n, t, c}); axes=[1, 2]))), "
       "ReduceSum(Exp(Sub(Reshape(X, {n, t, c}), ReduceMax(Reshape(X, {n, t, c}); axes=[1, 2]))), {1, 2}; "
       "keepdims=1))"},
      {"the sum of softmax in tiles", tiles, "ReduceSum(" + shifted("X") + ", {1}; keepdims=1)",
       "ReduceSum(Mul(ReduceSum(Exp(Sub(Reshape(X, {n, t, c}), ReduceMax(Reshape(X, {n, t, c}); axes=[2]))), "
       "{2}; "
       "keepdims=0), Exp(Sub(ReduceMax(Reshape(X, {n, t, c}); axes=[2], keepdims=0), ReduceMax(X; "
       "axes=[1])))), "
       "{1}; keepdims=1)"},
      {"log-sum-exp shifted", matrix, "Log(ReduceSum(Exp(A), {1}; keepdims=1))",
       "Add(Log(ReduceSum(Exp(Sub(A, w)), {1}; keepdims=1)), w)"},
      {"log-sum-exp by its maximum", matrix, "ReduceLogSumExp(A; axes=[1])",
       "Add(Log(ReduceSum(" + shifted("A") + ", {1}; keepdims=1)), ReduceMax(A; axes=[1]))"},
      {"log-softmax by its sum", matrix, "LogSoftmax(A; axis=1)",
       "Sub(Sub(A, ReduceMax(A; axes=[1])), Log(ReduceSum(" + shifted("A") + ", {1}; keepdims=1)))"},
      // Attention.
      {"attention with the scale on both sides", heads,
       "Softmax(Mul(MatMul(Q, Transpose(K; perm=[0, 1, 3, 2])), Mul(s, s)); axis=3)",
       "Softmax(MatMul(Mul(Q, s), Transpose(Mul(K, s); perm=[0, 1, 3, 2])); axis=3)"},
      {"attention's mask shifted by rows", heads + "; w: n, 1",
       "MatMul(Softmax(Add(MatMul(Q, Transpose(K; perm=[0, 1, 3, 2])), Add(M, w)); axis=3), V)",
       "MatMul(Softmax(Add(MatMul(Q, Transpose(K; perm=[0, 1, 3, 2])), M); axis=3), V)"},
      {"heads split before a projection's bias", "X: b, n, k; W: k, h*d; c: h*d",
       "Transpose(Reshape(Add(MatMul(X, W), c), {b, n, h, d}); perm=[0, 2, 1, 3])",
       "Add(MatMul(Unsqueeze(X, {1}), Transpose(Reshape(W, {k, h, d}); perm=[1, 0, 2])), Reshape(c, {h, 1, "
       "d}))"},
      {"heads merged into a projection", heads,
       "MatMul(Reshape(Transpose(Q; perm=[0, 2, 1, 3]), {b, n, h*d}), W)",
       "ReduceSum(MatMul(Q, Reshape(W, {h, d, h*d})), {1}; keepdims=0)"},
      {"queries, keys and values as one product", "X: b, n, k; A: k, m; B: k, m; C: k, m",
       "MatMul(X, A) | MatMul(X, B) | MatMul(X, C)",
       "Slice(MatMul(X, Concat(A, B, C; axis=1)), {0}, {m}, {2}) | Slice(MatMul(X, Concat(A, B, C; axis=1)), "
       "{m}, "
       "{2*m}, {2}) | Slice(MatMul(X, Concat(A, B, C; axis=1)), {2*m}, {3*m}, {2})"},
      {"biases of merged products", "X: n, k; A: k, m; B: k, p; a: m; c: p",
       "Add(MatMul(X, A), a) | Add(MatMul(X, B), c)",
       "Slice(Add(MatMul(X, Concat(A, B; axis=1)), Concat(a, c; axis=0)), {0}, {m}, {1}) | "
       "Slice(Add(MatMul(X, Concat(A, B; axis=1)), Concat(a, c; axis=0)), {m}, {m + p}, {1})"},
      {"keys of a cache", "Q: b, h, 1, d; K: b, h, e, d; L: b, h, 1, d",
       "MatMul(Q, Transpose(Concat(K, L; axis=2); perm=[0, 1, 3, 2]))",
       "Concat(MatMul(Q, Transpose(K; perm=[0, 1, 3, 2])), MatMul(Q, Transpose(L; perm=[0, 1, 3, 2])); "
       "axis=3)"},
      {"keys that heads share", "Q: b, g*r, n, d; K: b, g, e, d",
       "MatMul(Q, Transpose(Reshape(Expand(Unsqueeze(K, {2}), {b, g, r, e, d}), {b, g*r, e, d}); perm=[0, 1, "
       "3, 2]))",
       "Reshape(MatMul(Reshape(Q, {b, g, r, n, d}), Unsqueeze(Transpose(K; perm=[0, 1, 3, 2]), {2})), {b, "
       "g*r, n, "
       "e})"},
      {"values past the output projection", "P: b, n, e; V: b, e, d; W: d, m", "MatMul(MatMul(P, V), W)",
       "MatMul(P, MatMul(V, W))"},
      {"keys past the query projection", "X: n, k; Y: e, k; W: k, d; V: k, d",
       "MatMul(MatMul(X, W), Transpose(MatMul(Y, V); perm=[1, 0]))",
       "MatMul(MatMul(X, MatMul(W, Transpose(V; perm=[1, 0]))), Transpose(Y; perm=[1, 0]))"},
      {"linear attention", "Q: n, d; K: e, d; V: e, m", "MatMul(MatMul(Q, Transpose(K; perm=[1, 0])), V)",
       "MatMul(Q, MatMul(Transpose(K; perm=[1, 0]), V))"},
      {"a rotation of halves", "X: n, 2*d; c: d; s: d",
       "Add(Mul(X, Concat(c, c; axis=0)), Mul(Concat(Neg(Slice(X, {d}, {2*d}, {1})), Slice(X, {0}, {d}, "
       "{1}); axis=1), "
       "Concat(s, s; axis=0)))",
       "Concat(Sub(Mul(Slice(X, {0}, {d}, {1}), c), Mul(Slice(X, {d}, {2*d}, {1}), s)), Add(Mul(Slice(X, "
       "{d}, {2*d}, "
       "{1}), c), Mul(Slice(X, {0}, {d}, {1}), s)); axis=1)"},
      {"scores of rotated pairs depend on differences",
       "x: n, 1; y: n, 1; u: n, 1; v: n, 1; c: n, 1; s: n, 1",
       "Add(Mul(Sub(Mul(x, c), Mul(y, s)), Sub(Mul(u, c), Mul(v, s))), Mul(Add(Mul(x, s), Mul(y, c)), "
       "Add(Mul(u, s), "
       "Mul(v, c))))",
       "Mul(Add(Mul(x, u), Mul(y, v)), Add(Mul(c, c), Mul(s, s)))"},
      // Low rank, gates, feed-forward blocks.
      {"a low-rank update with its scale inside", "X: n, k; W: k, m; A: k, r; B: r, m; s: ; c: m",
       "Add(MatMul(X, Add(W, Mul(MatMul(A, B), s))), c)",
       "Add(Add(MatMul(X, W), Mul(MatMul(MatMul(X, A), B), s)), c)"},
      {"two low-rank updates", "X: n, k; A: k, r; B: r, m; C: k, q; D: q, m",
       "Add(MatMul(MatMul(X, A), B), MatMul(MatMul(X, C), D))",
       "MatMul(MatMul(X, Concat(A, C; axis=1)), Concat(B, D; axis=0))"},
      {"four factors", "A: n, k; B: k, m; C: m, p; D: p, q", "MatMul(MatMul(MatMul(A, B), C), D)",
       "MatMul(A, MatMul(B, MatMul(C, D)))"},
      {"a gate and its value as one product", "X: n, k; A: k, m; B: k, m",
       "Mul(Mul(MatMul(X, A), Sigmoid(MatMul(X, A))), MatMul(X, B))",
       "Mul(Mul(Slice(MatMul(X, Concat(A, B; axis=1)), {0}, {m}, {1}), Sigmoid(Slice(MatMul(X, Concat(A, B; "
       "axis=1)), "
       "{0}, {m}, {1}))), Slice(MatMul(X, Concat(A, B; axis=1)), {m}, {2*m}, {1}))"},
      {"Gelu by halves", matrix, "Mul(Mul(A, 0.5), Add(1.0, Erf(Mul(A, 0.7071))))",
       "Mul(A, Sub(1.0, Mul(0.5, Add(1.0, Erf(Mul(Neg(A), 0.7071))))))"},
      {"Gelu's tanh by a sigmoid", matrix,
       "Mul(Mul(A, 0.5), Add(1.0, Tanh(Mul(A, Add(0.75, Mul(0.03125, Mul(A, A)))))))",
       "Mul(A, Sigmoid(Mul(A, Add(1.5, Mul(0.0625, Mul(A, A))))))"},
      {"the sigmoid of a negation in a gate", matrix, "Mul(A, Sigmoid(A))",
       "Sub(A, Mul(A, Sigmoid(Neg(A))))"},
      {"softplus' difference", matrix, "Sub(Softplus(A), Softplus(Neg(A)))", "Identity(A)"},
      {"a square of a sum past a product", matrix, "MatMul(Mul(Add(A, B), Add(A, B)), W)",
       "Add(Add(MatMul(Mul(A, A), W), MatMul(Mul(Mul(A, B), 2.0), W)), MatMul(Mul(B, B), W))"},
      {"squared distances", "X: n, k; Y: m, k",
       "ReduceSum(Pow(Sub(Unsqueeze(X, {1}), Y), 2.0), {2}; keepdims=0)",
       "Add(Sub(ReduceSum(Mul(X, X), {1}; keepdims=1), Mul(MatMul(X, Transpose(Y; perm=[1, 0])), 2.0)), "
       "ReduceSum(Mul(Y, Y), {1}; keepdims=0))"},
      {"a product of differences from the mean", matrix, "MatMul(Sub(A, ReduceMean(A; axes=[1])), W)",
       "Sub(MatMul(A, W), Mul(ReduceMean(A; axes=[1]), ReduceSum(W, {0}; keepdims=0)))"},
      {"a covariance", matrix,
       "ReduceMean(Mul(Sub(A, ReduceMean(A; axes=[1])), Sub(B, ReduceMean(B; axes=[1]))); axes=[1])",
       "Sub(ReduceMean(Mul(A, B); axes=[1]), Mul(ReduceMean(A; axes=[1]), ReduceMean(B; axes=[1])))"},
      // Normalisation.
      {"RMSNorm's scale in the weights of two products", matrix + "; U: k, p",
       "MatMul(Mul(Div(A, Sqrt(Add(ReduceMean(Mul(A, A); axes=[1]), 0.00001))), g), W) | "
       "MatMul(Mul(Div(A, Sqrt(Add(ReduceMean(Mul(A, A); axes=[1]), 0.00001))), g), U)",
       "Div(MatMul(A, Mul(Reshape(g, {k, 1}), W)), Sqrt(Add(ReduceMean(Mul(A, A); axes=[1]), 0.00001))) | "
       "Div(MatMul(A, Mul(Reshape(g, {k, 1}), U)), Sqrt(Add(ReduceMean(Mul(A, A); axes=[1]), 0.00001)))"},
      {"RMSNorm of what is scaled without epsilon", matrix,
       "Div(Mul(A, 4.0), Sqrt(ReduceMean(Mul(Mul(A, 4.0), Mul(A, 4.0)); axes=[1])))",
       "Div(A, Sqrt(ReduceMean(Mul(A, A); axes=[1])))"},
      {"RMSNorm by a sum", "X: n, k; g: k", "Div(X, Sqrt(ReduceMean(Mul(X, X); axes=[1])))",
       "Div(X, Sqrt(Mul(ReduceSumSquare(X; axes=[1]), ReduceMean(Div(1.0, ReduceSum(Expand(1.0, {n, k}), "
       "{1}; keepdims=1)); axes=[0, 1]))))"},
      {"LayerNormalization's root past a product", matrix,
       "MatMul(Div(Sub(A, ReduceMean(A; axes=[1])), Sqrt(Add(ReduceMean(Pow(Sub(A, ReduceMean(A; axes=[1])), "
       "2.0); "
       "axes=[1]), 0.5))), W)",
       "Div(MatMul(Sub(A, ReduceMean(A; axes=[1])), W), Sqrt(Add(ReduceMean(Pow(Sub(A, ReduceMean(A; "
       "axes=[1])), 2.0); "
       "axes=[1]), 0.5)))"},
      {"LayerNormalization's mean into the weights", matrix,
       "MatMul(LayerNormalization(A, g, b; axis=-1, epsilon=0.5), W)",
       "Add(Div(MatMul(Sub(A, ReduceMean(A; axes=[1])), Mul(Reshape(g, {k, 1}), W)), "
       "Sqrt(Add(Sub(ReduceMean(Mul(A, A); axes=[1]), Pow(ReduceMean(A; axes=[1]), 2.0)), 0.5))), MatMul(b, "
       "W))"},
      {"LayerNormalization of a transposed reshape", "X: a, n, h*d; g: h*d; b: h*d",
       "Reshape(LayerNormalization(X, g, b; axis=-1), {a*n, h*d})",
       "LayerNormalization(Reshape(X, {a*n, h*d}), g, b; axis=-1)"},
      {"LayerNormalization's affine part doubled", matrix, "Mul(LayerNormalization(A, g, b; axis=-1), s)",
       "LayerNormalization(A, Mul(g, s), Mul(b, s); axis=-1)"},
      {"InstanceNormalization by its parts", "X: b, c, y, x; g: c; e: c",
       "InstanceNormalization(X, g, e; epsilon=0.5)",
       "Add(Mul(Div(Sub(X, ReduceMean(X; axes=[2, 3])), Sqrt(Add(ReduceMean(Pow(Sub(X, ReduceMean(X; "
       "axes=[2, 3])), "
       "2.0); axes=[2, 3]), 0.5))), Reshape(g, {c, 1, 1})), Reshape(e, {c, 1, 1}))"},
      {"two BatchNormalizations", image,
       "BatchNormalization(BatchNormalization(Conv(X, F), g, a, e, v; epsilon=0.5), g, a, e, v; epsilon=0.5)",
       "Add(Mul(Conv(X, F), Reshape(Mul(Div(g, Sqrt(Add(v, 0.5))), Div(g, Sqrt(Add(v, 0.5)))), {12, 1, 1})), "
       "Reshape(Add(a, Mul(Div(g, Sqrt(Add(v, 0.5))), Sub(Sub(a, Div(Mul(e, g), Sqrt(Add(v, 0.5)))), e))), "
       "{12, 1, 1}))"},
      {"BatchNormalization of a shift", image, "BatchNormalization(Add(Conv(X, F), s), g, a, e, v)",
       "BatchNormalization(Conv(X, F), g, a, Sub(e, s), v)"},
      // Convolutions.
      {"BatchNormalization before Relu into a padded convolution", image,
       "Relu(BatchNormalization(Conv(X, F; pads=[1, 1, 1, 1]), g, a, e, v; epsilon=0.5))",
       "Relu(Conv(X, Mul(F, Reshape(Div(g, Sqrt(Add(v, 0.5))), {12, 1, 1, 1})), Sub(a, Div(Mul(e, g), "
       "Sqrt(Add(v, "
       "0.5)))); pads=[1, 1, 1, 1]))"},
      {"a depthwise scale", image, "Conv(Mul(X, Reshape(c, {8, 1, 1})), D; group=8, pads=[1, 1, 1, 1])",
       "Mul(Conv(X, D; group=8, pads=[1, 1, 1, 1]), Reshape(c, {8, 1, 1}))"},
      {"a pointwise convolution of a convolution", image, "Conv(Conv(X, F), O)",
       "Conv(X, Reshape(MatMul(Reshape(O, {16, 12}), Reshape(F, {12, 72})), {16, 8, 3, 3}))"},
      {"pointwise convolutions compose", image, "Conv(Conv(X, P), O)",
       "Conv(X, Reshape(MatMul(Reshape(O, {16, 12}), Reshape(P, {12, 8})), {16, 8, 1, 1}))"},
      {"a residual as a convolution", "X: b, 8, y, x; F: 8, 8, 3, 3; I: 8, 8, 3, 3",
       "Add(Conv(X, F; pads=[1, 1, 1, 1]), Conv(X, I; pads=[1, 1, 1, 1]))",
       "Conv(X, Add(F, I); pads=[1, 1, 1, 1])"},
      {"three branches of a convolution", image,
       "Add(Add(Conv(X, F; pads=[1, 1, 1, 1]), Conv(X, P)), Conv(X, G; pads=[1, 1, 1, 1]))",
       "Conv(X, Add(Add(F, Pad(P, {0, 0, 1, 1, 0, 0, 1, 1})), G); pads=[1, 1, 1, 1])"},
      {"channels of the input concatenated", "X: b, 8, y, x; Y: b, 4, y, x; F: 12, 8, 3, 3; G: 12, 4, 3, 3",
       "Conv(Concat(X, Y; axis=1), Concat(F, G; axis=1))", "Add(Conv(X, F), Conv(Y, G))"},
      {"channels of the output sliced", image, "Slice(Conv(X, F), {3}, {9}, {1})",
       "Conv(X, Slice(F, {3}, {9}, {0}))"},
      {"images side by side", "X: b, 8, y, x; Y: c, 8, y, x; F: 12, 8, 3, 3", "Conv(Concat(X, Y; axis=0), F)",
       "Concat(Conv(X, F), Conv(Y, F); axis=0)"},
      {"a strided pointwise convolution", image, "Conv(X, P; strides=[2, 2])",
       "Conv(MaxPool(X; kernel_shape=[1, 1], strides=[2, 2]), P)"},
      {"the mean of a padded convolution's scale", image,
       "ReduceMean(Mul(Conv(X, F; pads=[1, 1, 1, 1]), s); axes=[2, 3])",
       "Mul(GlobalAveragePool(Conv(X, F; pads=[1, 1, 1, 1])), s)"},
      {"a squeeze-and-excitation gate into the weights", "X: 1, 8, y, x; P: 12, 8, 1, 1; g: 8",
       "Conv(Mul(X, Reshape(g, {1, 8, 1, 1})), P)", "Conv(X, Mul(P, Reshape(g, {1, 8, 1, 1})))"},
      {"AveragePool as a convolution's mean", image,
       "AveragePool(Conv(X, P); kernel_shape=[2, 2], strides=[2, 2])",
       "Conv(AveragePool(X; kernel_shape=[2, 2], strides=[2, 2]), P)"},
      {"a convolution over one axis as a product", "X: b, c, n; F: m, c, 1", "Conv(X, F)",
       "MatMul(Reshape(F, {m, c}), X)"},
      {"Winograd for two outputs of a filter of three", "X: n, 4; w: 3",
       "Concat(ReduceSum(Mul(Slice(X, {0}, {3}, {1}), w), {1}; keepdims=1), ReduceSum(Mul(Slice(X, {1}, {4}, "
       "{1}), w), "
       "{1}; keepdims=1); axis=1)",
       "MatMul(Mul(MatMul(X, Concat(Reshape(Concat(Expand(1.0, {1}), Expand(0.0, {1}), Expand(-1.0, {1}), "
       "Expand(0.0, "
       "{1}); axis=0), {4, 1}), Reshape(Concat(Expand(0.0, {1}), Expand(1.0, {1}), Expand(1.0, {1}), "
       "Expand(0.0, {1}); "
       "axis=0), {4, 1}), Reshape(Concat(Expand(0.0, {1}), Expand(-1.0, {1}), Expand(1.0, {1}), Expand(0.0, "
       "{1}); "
       "axis=0), {4, 1}), Reshape(Concat(Expand(0.0, {1}), Expand(1.0, {1}), Expand(0.0, {1}), Expand(-1.0, "
       "{1}); "
       "axis=0), {4, 1}); axis=1)), Concat(Slice(w, {0}, {1}, {0}), Mul(ReduceSum(w, {0}; keepdims=1), 0.5), "
       "Mul(Add(Sub(Slice(w, {0}, {1}, {0}), Slice(w, {1}, {2}, {0})), Slice(w, {2}, {3}, {0})), 0.5), "
       "Slice(w, {2}, "
       "{3}, {0}); axis=0)), Concat(Reshape(Concat(Expand(1.0, {3}), Expand(0.0, {1}); axis=0), {4, 1}), "
       "Reshape(Concat(Expand(0.0, {1}), Expand(1.0, {1}), Expand(-1.0, {1}), Expand(-1.0, {1}); axis=0), "
       "{4, 1}); "
       "axis=1))"},
      // Index maps.
      {"depth to space and back", "X: b, 4*c, y, x",
       "SpaceToDepth(DepthToSpace(X; blocksize=2); blocksize=2)", "Identity(X)"},
      {"depth to space by a transposition", "X: b, 4*c, y, x", "DepthToSpace(X; blocksize=2)",
       "Reshape(Transpose(Reshape(X, {b, 2, 2, c, y, x}); perm=[0, 3, 4, 1, 5, 2]), {b, c, 2*y, 2*x})"},
      {"channels shuffled twice", "X: b, g*c, y, x",
       "Reshape(Transpose(Reshape(Reshape(Transpose(Reshape(X, {b, g, c, y, x}); perm=[0, 2, 1, 3, 4]), {b, "
       "g*c, y, "
       "x}), {b, c, g, y, x}); perm=[0, 2, 1, 3, 4]), {b, g*c, y, x})",
       "Identity(X)"},
      {"windows partitioned and reversed", "X: b, y*w, x*v, c",
       "Reshape(Transpose(Reshape(Reshape(Transpose(Reshape(X, {b, y, w, x, v, c}); perm=[0, 1, 3, 2, 4, "
       "5]), {b*y*x, "
       "w*v, c}), {b, y, x, w, v, c}); perm=[0, 1, 3, 2, 4, 5]), {b, y*w, x*v, c})",
       "Identity(X)"},
      {"a reshape past a product's batch", "X: a, b, n, k; W: k, m", "Reshape(MatMul(X, W), {a*b*n, m})",
       "MatMul(Reshape(X, {a*b*n, k}), W)"},
      {"slices of a reshape", "X: n, 3*m", "Slice(Reshape(X, {n, 3, m}), {1}, {2}, {1})",
       "Reshape(Slice(X, {m}, {2*m}, {1}), {n, 1, m})"},
      {"a gathered product's column", "E: v, k; i: i64 n; W: k, m; c: m", "Add(MatMul(Gather(E, i), W), c)",
       "Gather(Add(MatMul(E, W), c), i)"},
      {"gathers of a transposed table", "E: k, v; i: i64 n", "Gather(Transpose(E; perm=[1, 0]), i; axis=0)",
       "Transpose(Gather(E, i; axis=1); perm=[1, 0])"},
      {"a gathered norm", "E: v, k; i: i64 n", "ReduceL2(Gather(E, i); axes=[1])",
       "Gather(ReduceL2(E; axes=[1]), i)"},
      {"padding past a scale", "X: n, m; s: ", "Pad(Mul(X, s), {0, 2, 0, 3})",
       "Mul(Pad(X, {0, 2, 0, 3}), s)"},
      {"paddings compose", "X: n, m", "Pad(Pad(X, {0, 1, 0, 2}), {3, 0, 1, 0})", "Pad(X, {3, 1, 1, 2})"},
      {"a slice of padding", "X: n, m", "Slice(Pad(X, {0, 2, 0, 3}), {2}, {m + 2}, {1})", "Identity(X)"},
      {"a padded sum", "X: n, m", "ReduceSum(Pad(X, {0, 2, 0, 3}), {1}; keepdims=0)",
       "ReduceSum(X, {1}; keepdims=0)"},
      {"a padded depth of a product", "X: n, k; W: k, m",
       "MatMul(Pad(X, {0, 0, 0, 5}), Pad(W, {0, 0, 5, 0}))", "MatMul(X, W)"},
      // Piecewise functions and their ties.
      {"a maximum by half the sums", matrix, "Max(A, B)", "Mul(Add(Add(A, B), Abs(Sub(A, B))), 0.5)"},
      {"a minimum by half the sums", matrix, "Min(A, B)", "Mul(Sub(Add(A, B), Abs(Sub(A, B))), 0.5)"},
      {"a clip as two Relus", matrix, "Clip(A, 0.0, 6.0)", "Sub(Relu(A), Relu(Sub(A, 6.0)))"},
      {"a median of three", matrix + "; C: n, k", "Max(Min(A, B), Min(Max(A, B), C))",
       "Min(Max(A, B), Max(Min(A, B), C))"},
      {"a tie that does not matter", matrix, "Where(Less(A, B), A, B)", "Where(LessOrEqual(A, B), A, B)"},
      {"a maximum by a choice", matrix, "Where(Greater(A, B), A, B)", "Max(A, B)"},
      {"an absolute value by a choice", matrix, "Where(GreaterOrEqual(A, 0.0), A, Neg(A))", "Abs(A)"},
      {"a shrinkage", matrix, "Sub(Relu(Sub(A, 0.5)), Relu(Sub(Neg(A), 0.5)))", "Sub(A, Clip(A, -0.5, 0.5))"},
      {"LeakyRelu by two Relus", matrix, "LeakyRelu(A; alpha=0.25)", "Sub(Relu(A), Mul(Relu(Neg(A)), 0.25))"},
      {"HardSigmoid by a clip", matrix, "HardSigmoid(A; alpha=0.25, beta=0.5)",
       "Clip(Add(Mul(A, 0.25), 0.5), 0.0, 1.0)"},
      {"the largest of what is clipped", matrix, "ReduceMax(Clip(A, -1.0, 1.0); axes=[1])",
       "Clip(ReduceMax(A; axes=[1]), -1.0, 1.0)"},
      {"Relu past a maximum", matrix, "Relu(ReduceMax(A; axes=[1]))", "ReduceMax(Relu(A); axes=[1])"},
      {"MaxPool past a positive scale", image, "MaxPool(Mul(X, 0.5); kernel_shape=[2, 2])",
       "Mul(MaxPool(X; kernel_shape=[2, 2]), 0.5)"},
      // Integers, wrapped, and quantised arithmetic.
      {"binomials wrap", words, "Mul(Add(i, j), Sub(i, j))", "Sub(Mul(i, i), Mul(j, j))"},
      {"a product of sums wraps", words, "Mul(Add(i, j), Add(j, k))",
       "Add(Add(Mul(i, j), Mul(i, k)), Add(Mul(j, j), Mul(j, k)))"},
      {"a difference widened of bytes", words, "Sub(Cast(u; to=6), Cast(w; to=6))",
       "Neg(Sub(Cast(w; to=6), Cast(u; to=6)))"},
      {"bytes multiplied in 16 or 32 bits", words, "Cast(Mul(Cast(u; to=5), Cast(w; to=5)); to=6)",
       "Mul(Cast(u; to=6), Cast(w; to=6))"},
      {"bytes added in 16 or 32 bits", words, "Cast(Add(Cast(u; to=5), Cast(w; to=5)); to=6)",
       "Add(Cast(u; to=6), Cast(w; to=6))"},
      {"a low byte of a sum", words, "Cast(Add(i, j); to=2)", "Add(Cast(i; to=2), Cast(j; to=2))"},
      {"a low byte of a product", words, "Cast(Mul(i, j); to=2)", "Mul(Cast(i; to=2), Cast(j; to=2))"},
      {"a byte there and back", words, "Cast(Cast(u; to=7); to=2)", "Identity(u)"},
      {"a shift as a product", words, "Mul(i, Cast(8.0; to=6))",
       "Add(Mul(i, Cast(4.0; to=6)), Mul(i, Cast(4.0; to=6)))"},
      {"widened sums of bytes", "U: u8 n, k; V: u8 n, k",
       "ReduceSum(Cast(Add(Cast(U; to=6), Cast(V; to=6)); to=6), {1}; keepdims=0)",
       "Add(ReduceSum(Cast(U; to=6), {1}; keepdims=0), ReduceSum(Cast(V; to=6), {1}; keepdims=0))"},
      {"a zero point out of a product", "U: i32 n, k; V: i32 k, m; z: i32 ", "MatMul(Sub(U, z), V)",
       "Sub(MatMul(U, V), Mul(z, ReduceSum(V, {0}; keepdims=1)))"},
      {"two zero points out of a product", "U: i32 n, k; V: i32 k, m; z: i32 ; y: i32 1, m",
       "MatMul(Sub(U, z), Sub(V, y))",
       "Sub(Sub(MatMul(U, V), Mul(z, ReduceSum(Sub(V, y), {0}; keepdims=1))), Mul(ReduceSum(U, {1}; "
       "keepdims=1), y))"},
      {"MatMulInteger by 32 bits", "U: u8 n, k; V: i8 k, m", "MatMulInteger(U, V)",
       "MatMul(Cast(U; to=6), Cast(V; to=6))"},
      {"a scale out of dequantised values", "U: u8 n, k; s: ; z: u8 ; W: k, m",
       "MatMul(DequantizeLinear(U, s, z), W)", "Mul(MatMul(Sub(Cast(U; to=1), Cast(z; to=1)), W), s)"},
      {"dequantised by a difference", "U: u8 n, k; s: ; z: u8 ", "DequantizeLinear(U, s, z)",
       "Mul(Sub(Cast(U; to=1), Cast(z; to=1)), s)"},
      {"a product of dequantised values", "U: u8 n, k; V: i8 k, m; s: ; c: ; z: u8 ; y: i8 ",
       "MatMul(DequantizeLinear(U, s, z), DequantizeLinear(V, c, y))",
       "Mul(MatMul(Sub(Cast(U; to=1), Cast(z; to=1)), Sub(Cast(V; to=1), Cast(y; to=1))), Mul(s, c))"},
      {"a product of dequantised values in integers",
       "U: u8 n, k; V: i8 k, m; s: ; c: ", "MatMul(DequantizeLinear(U, s), DequantizeLinear(V, c))",
       "Mul(Cast(MatMulInteger(U, V); to=1), Mul(s, c))"},
      {"a transposition past quantisation", "X: n, m; s: ; z: u8 ",
       "Transpose(QuantizeLinear(X, s, z); perm=[1, 0])", "QuantizeLinear(Transpose(X; perm=[1, 0]), s, z)"},
      {"a concatenation past quantisation", "X: n, m; Y: n, p; s: ; z: u8 ",
       "QuantizeLinear(Concat(X, Y; axis=1), s, z)",
       "Concat(QuantizeLinear(X, s, z), QuantizeLinear(Y, s, z); axis=1)"},
      {"masks by bits", words, "BitwiseAnd(u, u)", "Identity(u)"},
      {"de Morgan by bits", words, "BitwiseNot(BitwiseAnd(i, j))", "BitwiseOr(BitwiseNot(i), BitwiseNot(j))"},
      {"an exclusive or by bits", words, "BitwiseXor(i, j)", "Sub(BitwiseOr(i, j), BitwiseAnd(i, j))"},
      {"a sum by bits", words, "Add(i, j)", "Add(BitwiseXor(i, j), Mul(BitwiseAnd(i, j), Cast(2.0; to=6)))"},
      {"a negation by bits", words, "Neg(i)", "Add(BitwiseNot(i), Cast(1.0; to=6))"},
      // Truth values.
      {"conjunctions distribute", "p: bool n; q: bool n; r: bool n", "And(p, Or(q, r))",
       "Or(And(p, q), And(p, r))"},
      {"a choice by exclusion", "p: bool n; q: bool n; A: n; B: n", "Where(Xor(p, q), A, B)",
       "Where(p, Where(q, B, A), Where(q, A, B))"},
      {"a mask multiplied", "p: bool n, m; A: n, m; W: m, k", "MatMul(Where(p, A, 0.0), W)",
       "MatMul(Mul(A, Cast(p; to=1)), W)"},
      {"masked sums", "p: bool n, m; A: n, m",
       "Add(ReduceSum(Where(p, A, 0.0), {1}; keepdims=0), ReduceSum(Where(Not(p), A, 0.0), {1}; keepdims=0))",
       "ReduceSum(A, {1}; keepdims=0)"},
      {"a masked softmax's numerator", "p: bool n, m; A: n, m", "Mul(Exp(A), Cast(p; to=1))",
       "Where(p, Exp(A), 0.0)"},
      {"counts of truth values", "p: bool n, m",
       "Add(ReduceSum(Cast(p; to=6), {1}; keepdims=0), ReduceSum(Cast(Not(p); to=6), {1}; keepdims=0))",
       "ReduceSum(Cast(Or(p, Not(p)); to=6), {1}; keepdims=0)"},
  };
}

}  // namespace axrun::tests
