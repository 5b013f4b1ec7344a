// Identities of attention: biases that leave it, heads that share keys, caches, masks, rotations, linear
// forms.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_attention() {
  const std::string heads = "Q: b, h, n, d; K: b, h, e, d; V: b, h, e, d; S: n, e; X: b, n, h*d; M: n, e";
  const std::string turned = "X: n, 2*d; c: n, d; s: n, d";
  const auto transposed = [](const std::string& of) { return "Transpose(" + of + "; perm=[0, 1, 3, 2])"; };
  const auto scores = [&](const std::string& q, const std::string& k) {
    return "MatMul(" + q + ", " + transposed(k) + ")";
  };
  const auto flat = [](const std::string& q, const std::string& k) {
    return "MatMul(" + q + ", Transpose(" + k + "; perm=[1, 0]))";
  };
  const auto low = [](const std::string& of) { return "Slice(" + of + ", {0}, {d}, {1})"; };
  const auto high = [](const std::string& of) { return "Slice(" + of + ", {d}, {2*d}, {1})"; };
  const auto rotated = [&](const std::string& of, const std::string& s) {
    return "Concat(Sub(Mul(" + low(of) + ", c), Mul(" + high(of) + ", " + s + ")), Add(Mul(" + low(of) +
           ", " + s + "), Mul(" + high(of) + ", c)); axis=1)";
  };
  const std::string halves = "Reshape(Transpose(Reshape(X, {n, d, 2}); perm=[0, 2, 1]), {n, 2*d})";
  const std::string even = "Slice(Reshape(X, {n, d, 2}), {0}, {1}, {2})";
  const std::string odd = "Slice(Reshape(X, {n, d, 2}), {1}, {2}, {2})";
  const std::string rows = "Unsqueeze(c, {2})", turns = "Unsqueeze(s, {2})";
  const std::string shared = "Q: b, g*r, n, d; K: b, g, e, d; V: b, g, e, d";
  const auto repeated = [](const std::string& of) {
    return "Reshape(Expand(Unsqueeze(" + of + ", {2}), {b, g, r, e, d}), {b, g*r, e, d})";
  };
  const auto unit = [](const std::string& of) {
    return "Sqrt(Add(ReduceSum(Mul(" + of + ", " + of + "), {1}; keepdims=1), 0.5))";
  };
  const std::string causal = "Q: n, d; K: n, d; V: n, p; P: m, d; L: m, d; U: m, p";
  const auto triangle = [&](const std::string& q, const std::string& k) {
    return "Trilu(" + flat(q, k) + "; upper=0)";
  };
  return {
      // Biases.
      {"a bias of keys leaves attention", heads + "; c: d",
       "MatMul(Softmax(" + scores("Q", "Add(K, c)") + "; axis=3), V)",
       "MatMul(Softmax(" + scores("Q", "K") + "; axis=3), V)"},
      {"a bias of values past attention", heads + "; c: d",
       "MatMul(Softmax(" + scores("Q", "K") + "; axis=3), Add(V, c))",
       "Add(MatMul(Softmax(" + scores("Q", "K") + "; axis=3), V), c)"},
      {"a bias of queries as one of keys", heads + "; c: 1, d",
       "Softmax(" + scores("Add(Q, c)", "K") + "; axis=3)",
       "Softmax(Add(" + scores("Q", "K") + ", MatMul(c, " + transposed("K") + ")); axis=3)"},
      {"a bias of values into the output's", "S: n, e; Y: e, k; W: k, d; c: d; U: d, m",
       "MatMul(MatMul(Softmax(S; axis=1), Add(MatMul(Y, W), c)), U)",
       "Add(MatMul(MatMul(Softmax(S; axis=1), Y), MatMul(W, U)), MatMul(c, U))"},
      {"linear biases by the keys' positions", "S: n, e; x: n, 1; y: e; s: ",
       "Softmax(Add(S, Mul(s, Sub(y, x))); axis=1)", "Softmax(Add(S, Mul(y, s)); axis=1)"},
      {"a mask as factors of exponentials", "S: n, e; M: n, e; V: e, m",
       "MatMul(Softmax(Add(S, M); axis=1), V)",
       "Div(MatMul(Mul(Exp(S), Exp(M)), V), ReduceSum(Mul(Exp(S), Exp(M)), {1}; keepdims=1))"},
      {"two masks in either order", "p: bool n, e; q: bool n, e; S: n, e; V: e, m",
       "MatMul(Softmax(Where(And(p, q), S, -10000.0); axis=1), V)",
       "MatMul(Softmax(Where(q, Where(p, S, -10000.0), -10000.0); axis=1), V)"},
      {"a sink beside the scores", "S: n, e; c: n, 1; V: e, m",
       "MatMul(Slice(Softmax(Concat(S, c; axis=1); axis=1), {0}, {e}, {1}), V)",
       "Div(MatMul(Exp(S), V), Add(ReduceSum(Exp(S), {1}; keepdims=1), Exp(c)))"},
      // Heads that share keys.
      {"queries of a group as rows", shared,
       "MatMul(Softmax(" + scores("Q", repeated("K")) + "; axis=3), " + repeated("V") + ")",
       "Reshape(MatMul(Softmax(" + scores("Reshape(Q, {b, g, r*n, d})", "K") +
           "; axis=3), V), {b, g*r, n, d})"},
      {"one head of keys, queries unmoved", "X: b, n, h*d; K: b, e, d",
       "MatMul(Transpose(Reshape(X, {b, n, h, d}); perm=[0, 2, 1, 3]), Unsqueeze(Transpose(K; perm=[0, 2, "
       "1]), {1}))",
       "Transpose(Reshape(MatMul(Reshape(X, {b, n*h, d}), Transpose(K; perm=[0, 2, 1])), {b, n, h, e}); "
       "perm=[0, 2, 1, 3])"},
      {"latent keys and values absorbed", "Q: b, h, n, d; Y: b, e, r; W: h, r, d; P: b, h, n, e; U: h, r, d",
       scores("Q", "MatMul(Unsqueeze(Y, {1}), W)") + " | MatMul(P, MatMul(Unsqueeze(Y, {1}), U))",
       "MatMul(MatMul(Q, Transpose(W; perm=[0, 2, 1])), Unsqueeze(Transpose(Y; perm=[0, 2, 1]), {1})) | "
       "MatMul(MatMul(P, Unsqueeze(Y, {1})), U)"},
      {"a cache and what is new", "Q: b, h, n, d; K: b, h, e, d; V: b, h, e, d; L: b, h, m, d; U: b, h, m, d",
       "MatMul(Softmax(" + scores("Q", "Concat(K, L; axis=2)") + "; axis=3), Concat(V, U; axis=2))",
       "Div(Add(MatMul(Exp(" + scores("Q", "K") + "), V), MatMul(Exp(" + scores("Q", "L") +
           "), U)), Add(ReduceSum(Exp(" + scores("Q", "K") + "), {3}; keepdims=1), ReduceSum(Exp(" +
           scores("Q", "L") + "), {3}; keepdims=1)))"},
      // Norms of queries and keys.
      {"scores of normalised queries and keys", "Q: n, d; K: e, d",
       flat("Div(Q, " + unit("Q") + ")", "Div(K, " + unit("K") + ")"),
       "Div(" + flat("Q", "K") + ", " + flat(unit("Q"), unit("K")) + ")"},
      {"heads normalised before or after they are moved", "X: b, n, h*d; g: d",
       "Transpose(Mul(Div(Reshape(X, {b, n, h, d}), Sqrt(Add(ReduceMean(Mul(Reshape(X, {b, n, h, d}), "
       "Reshape(X, {b, n, h, d})); axes=[3]), 0.5))), g); perm=[0, 2, 1, 3])",
       "Div(Mul(Transpose(Reshape(X, {b, n, h, d}); perm=[0, 2, 1, 3]), g), Sqrt(Add(ReduceMean(Pow("
       "Transpose(Reshape(X, {b, n, h, d}); perm=[0, 2, 1, 3]), 2.0); axes=[3]), 0.5)))"},
      // Rotations.
      {"rotated pairs as rotated halves", turned,
       "Reshape(Concat(Sub(Mul(" + even + ", " + rows + "), Mul(" + odd + ", " + turns + ")), Add(Mul(" +
           even + ", " + turns + "), Mul(" + odd + ", " + rows + ")); axis=2), {n, 2*d})",
       "Reshape(Transpose(Reshape(" + rotated(halves, "s") + ", {n, 2, d}); perm=[0, 2, 1]), {n, 2*d})"},
      {"a rotation and back", turned, rotated(rotated("X", "s"), "Neg(s)"),
       "Mul(X, Concat(Add(Mul(c, c), Mul(s, s)), Add(Mul(c, c), Mul(s, s)); axis=1))"},
      {"the norm of what is rotated", turned, "ReduceSumSquare(" + rotated("X", "s") + "; axes=[1])",
       "ReduceSum(Mul(Add(Mul(" + low("X") + ", " + low("X") + "), Mul(" + high("X") + ", " + high("X") +
           ")), Add(Mul(c, c), Mul(s, s))), {1}; keepdims=1)"},
      {"halves turned by a matrix", "X: n, 2*d; I: d, d",
       "MatMul(X, Concat(Pad(EyeLike(I), {0, d, 0, 0}), Pad(Neg(EyeLike(I)), {0, 0, 0, d}); axis=0))",
       "Concat(Neg(" + high("X") + "), " + low("X") + "; axis=1)"},
      // Linear attention.
      {"decays on both sides of scores", "Q: n, d; K: e, d; V: e, m; w: n, 1; y: e, 1",
       "MatMul(Mul(" + flat("Q", "K") + ", " + flat("w", "y") + "), V)",
       "MatMul(Mul(Q, w), MatMul(Transpose(K; perm=[1, 0]), Mul(V, y)))"},
      {"linear attention of causal chunks", causal,
       "MatMul(" + triangle("Concat(Q, P; axis=0)", "Concat(K, L; axis=0)") + ", Concat(V, U; axis=0))",
       "Concat(MatMul(" + triangle("Q", "K") +
           ", V), Add(MatMul(P, MatMul(Transpose(K; perm=[1, 0]), V)), MatMul(" + triangle("P", "L") +
           ", U)); axis=0)"},
      {"the delta rule by a reflection", "k: d, 1; S: d, m; v: 1, m; I: d, d",
       "Add(MatMul(Sub(EyeLike(I), MatMul(k, Transpose(k; perm=[1, 0]))), S), MatMul(k, v))",
       "Add(S, MatMul(k, Sub(v, MatMul(Transpose(k; perm=[1, 0]), S))))"},
      {"two steps of a gated recurrence", "H: n, m; A: n, m; B: n, m; X: n, m; Y: n, m",
       "Add(Mul(Exp(B), Add(Mul(Exp(A), H), X)), Y)", "Add(Mul(Exp(Add(A, B)), H), Add(Mul(Exp(B), X), Y))"},
  };
}

}  // namespace axrun::tests
