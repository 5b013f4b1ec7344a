// Identities of the other parts of transformers: normalisation, gates, experts, low ranks, losses.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_blocks() {
  const std::string matrix = "A: n, k; B: n, k; W: k, m; V: k, m; g: k; b: k; c: m; s: ; w: n, 1";
  const auto centred = [](const std::string& of) {
    return "Sub(" + of + ", ReduceMean(" + of + "; axes=[1]))";
  };
  const auto root = [](const std::string& of) {
    return "Sqrt(Add(ReduceMean(Mul(" + of + ", " + of + "); axes=[1]), 0.5))";
  };
  const std::string even = "Squeeze(Slice(Reshape(W, {k, m, 2}), {0}, {1}, {2}), {2})";
  const std::string odd = "Squeeze(Slice(Reshape(W, {k, m, 2}), {1}, {2}, {2}), {2})";
  const std::string wide = "Reshape(MatMul(X, W), {n, m, 2})";
  const std::string groups = "X: b, g*c, y, x; r: g*c; e: g*c";
  const std::string apart = "Reshape(X, {b, g, c, y, x})";
  const std::string from_mean = "Sub(" + apart + ", ReduceMean(" + apart + "; axes=[2, 3, 4]))";
  const auto column = [](const std::string& of) { return "Reshape(" + of + ", {g*c, 1, 1})"; };
  const auto normal = "Mul(Div(A, " + root("A") + "), g)";
  const auto sums = [](const std::string& of) { return "ReduceSum(" + of + ", {1}; keepdims=1)"; };
  const auto swish = [](const std::string& of) { return "Mul(" + of + ", Sigmoid(" + of + "))"; };
  const auto folded = [&](const std::string& of) {
    return "Div(MatMul(A, Mul(Reshape(g, {k, 1}), " + of + ")), " + root("A") + ")";
  };
  return {
      // Normalisation.
      {"a mean out of the weights before LayerNormalization", matrix + "; r: m",
       "LayerNormalization(MatMul(A, W), r, c; axis=-1, epsilon=0.5)",
       "Add(Mul(Div(MatMul(A, " + centred("W") + "), " + root("MatMul(A, " + centred("W") + ")") +
           "), r), c)"},
      {"LayerNormalization of what is centred", matrix,
       "LayerNormalization(" + centred("A") + ", g, b; axis=-1, epsilon=0.5)",
       "Add(Mul(Div(" + centred("A") + ", " + root(centred("A")) + "), g), b)"},
      {"LayerNormalization of both signs", matrix, "LayerNormalization(Neg(A), g, b; axis=-1)",
       "Sub(Mul(b, 2.0), LayerNormalization(A, g, b; axis=-1))"},
      {"a normalisation's scale into a gated pair", matrix,
       "Mul(" + swish("MatMul(" + normal + ", W)") + ", MatMul(" + normal + ", V))",
       "Mul(" + swish(folded("W")) + ", " + folded("V") + ")"},
      {"a residual normalised by its parts", matrix, "Div(Add(A, B), " + root("Add(A, B)") + ")",
       "Div(Add(A, B), Sqrt(Add(Add(Add(ReduceMean(Mul(A, A); axes=[1]), Mul(ReduceMean(Mul(A, B); "
       "axes=[1]), 2.0)), ReduceMean(Mul(B, B); axes=[1])), 0.5)))"},
      {"groups normalised as instances", groups,
       "Add(Mul(Reshape(InstanceNormalization(Reshape(X, {b, g, c*y*x}), Expand(1.0, {g}), Expand(0.0, {g}); "
       "epsilon=0.5), {b, g*c, y, x}), " +
           column("r") + "), " + column("e") + ")",
       "Add(Mul(Reshape(Div(" + from_mean + ", Sqrt(Add(ReduceMean(Pow(" + from_mean +
           ", 2.0); axes=[2, 3, 4]), 0.5))), {b, g*c, y, x}), " + column("r") + "), " + column("e") + ")"},
      {"LayerNormalization over channels", "X: b, c, y, x; g: c; e: c",
       "Transpose(LayerNormalization(Transpose(X; perm=[0, 2, 3, 1]), g, e; axis=-1, epsilon=0.5); perm=[0, "
       "3, 1, 2])",
       "Add(Mul(Div(" + centred("X") + ", Sqrt(Add(ReduceMean(Pow(" + centred("X") +
           ", 2.0); axes=[1]), 0.5))), Reshape(g, {c, 1, 1})), Reshape(e, {c, 1, 1}))"},
      {"normalised rows of an embedding", "E: v, k; i: i64 n; g: k; b: k; W: k, m",
       "MatMul(LayerNormalization(Gather(E, i), g, b; axis=-1), W)",
       "Gather(MatMul(LayerNormalization(E, g, b; axis=-1), W), i)"},
      {"tokens shifted before a product", "X: n + 1, k; g: k; W: k, m",
       "MatMul(Add(X, Mul(Sub(Pad(Slice(X, {0}, {n}, {0}), {1, 0, 0, 0}), X), g)), W)",
       "Add(MatMul(Mul(X, Sub(1.0, g)), W), Pad(MatMul(Slice(X, {0}, {n}, {0}), Mul(Reshape(g, {k, 1}), W)), "
       "{1, 0, 0, 0}))"},
      // Gates and experts.
      {"a gate beside its value column by column", "X: n, k; W: k, 2*m",
       "Squeeze(Mul(Sigmoid(Slice(" + wide + ", {0}, {1}, {2})), Slice(" + wide + ", {1}, {2}, {2})), {2})",
       "Mul(Sigmoid(MatMul(X, " + even + ")), MatMul(X, " + odd + "))"},
      {"an update between two states", "Z: n, m; H: n, m; N: n, m",
       "Add(Mul(Sigmoid(Neg(Z)), H), Mul(Sigmoid(Z), N))", "Add(H, Mul(Sigmoid(Z), Sub(N, H)))"},
      {"a choice of two experts as a sigmoid", "a: n, 1; c: n, 1; X: n, m; Y: n, m",
       "Add(Mul(Slice(Softmax(Concat(a, c; axis=1); axis=1), {0}, {1}, {1}), X), Mul(Slice(Softmax(Concat(a, "
       "c; axis=1); axis=1), {1}, {2}, {1}), Y))",
       "Add(Y, Mul(Sigmoid(Sub(a, c)), Sub(X, Y)))"},
      {"experts weighed before their last product", "X: n, k; Y: n, j; A: k, m; B: j, m; p: n, 1; q: n, 1",
       "Add(Mul(MatMul(X, A), p), Mul(MatMul(Y, B), q))",
       "MatMul(Concat(Mul(X, p), Mul(Y, q); axis=1), Concat(A, B; axis=0))"},
      {"experts as one depth", "X: n, k; W: e, k, m; P: n, e",
       "ReduceSum(Mul(MatMul(Unsqueeze(X, {0}), W), Unsqueeze(Transpose(P; perm=[1, 0]), {2})), {0}; "
       "keepdims=0)",
       "MatMul(Reshape(Mul(Unsqueeze(P, {2}), Unsqueeze(X, {1})), {n, e*k}), Reshape(W, {e*k, m}))"},
      {"gates renormalised among the chosen", "G: n, e; p: bool n, e",
       "Div(Mul(Softmax(G; axis=1), Cast(p; to=1)), " + sums("Mul(Softmax(G; axis=1), Cast(p; to=1))") + ")",
       "Div(Where(p, Exp(G), 0.0), " + sums("Where(p, Exp(G), 0.0)") + ")"},
      {"two linear pieces by their difference", matrix, "Max(MatMul(A, W), MatMul(A, V))",
       "Add(MatMul(A, V), Relu(MatMul(A, Sub(W, V))))"},
      {"a product with pairs of features", "X: n, k; Y: n, l; W: k*l, m",
       "MatMul(Reshape(Mul(Unsqueeze(X, {2}), Unsqueeze(Y, {1})), {n, k*l}), W)",
       "ReduceSum(Mul(Unsqueeze(X, {2}), Reshape(MatMul(Y, Reshape(Transpose(Reshape(W, {k, l, m}); perm=[1, "
       "0, 2]), {l, k*m})), {n, k, m})), {1}; keepdims=0)"},
      // Low ranks and weights.
      {"low ranks of merged weights", "X: n, k; W: k, 2*m; A: k, r; B: r, m; C: k, q; D: q, m",
       "Add(MatMul(X, W), Concat(MatMul(MatMul(X, A), B), MatMul(MatMul(X, C), D); axis=1))",
       "MatMul(X, Add(W, Concat(MatMul(A, B), MatMul(C, D); axis=1)))"},
      {"weights normalised by columns with a low rank", "X: n, k; W: k, m; A: k, r; B: r, m; t: m",
       "MatMul(X, Mul(Add(W, MatMul(A, B)), Div(t, Sqrt(Add(ReduceSumSquare(W; axes=[0]), 0.5)))))",
       "Mul(Add(MatMul(X, W), MatMul(MatMul(X, A), B)), Div(t, Sqrt(Add(ReduceSum(Mul(W, W), {0}; "
       "keepdims=1), 0.5))))"},
      {"activations smoothed into weights", "X: n, k; W: k, m; t: k",
       "MatMul(Div(X, Exp(t)), Mul(W, Reshape(Exp(t), {k, 1})))", "MatMul(X, W)"},
      {"a Hadamard step of the weights by sums", "X: n, 2*k; W: k, m",
       "MatMul(X, Concat(Concat(W, W; axis=1), Concat(W, Neg(W); axis=1); axis=0))",
       "Concat(MatMul(Add(Slice(X, {0}, {k}, {1}), Slice(X, {k}, {2*k}, {1})), W), MatMul(Sub(Slice(X, {0}, "
       "{k}, {1}), Slice(X, {k}, {2*k}, {1})), W); axis=1)"},
      // Losses.
      {"a cross entropy by its log-sum-exp", "A: n, k; T: n, k",
       "Neg(" + sums("Mul(T, LogSoftmax(A; axis=1))") + ")",
       "Sub(Mul(Log(" + sums("Exp(A)") + "), " + sums("T") + "), " + sums("Mul(T, A)") + ")"},
      {"a softmax's gradient sums to nothing", matrix,
       sums("Mul(Softmax(A; axis=1), Sub(B, " + sums("Mul(B, Softmax(A; axis=1))") + "))"), "Mul(w, 0.0)"},
      {"a binary cross entropy of logits", "A: n, m; T: n, m",
       "Neg(Add(Mul(T, Log(Sigmoid(A))), Mul(Sub(1.0, T), Log(Sub(1.0, Sigmoid(A))))))",
       "Sub(Softplus(A), Mul(T, A))"},
  };
}

}  // namespace axrun::tests
