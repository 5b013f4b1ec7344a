// Identities of sums, means, variances, maxima, norms and softmaxes by their parts, and of what they leave
// alone.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_reductions() {
  const std::string tiles = "X: n, t*c";
  const std::string parts = "Z: n, a; U: n, c";
  const std::string matrix = "A: n, k; B: n, k; w: n, 1";
  const std::string tile = "Reshape(X, {n, t, c})";
  const auto mean = [](const std::string& of) { return "ReduceMean(" + of + "; axes=[1])"; };
  const auto total = [](const std::string& of) { return "ReduceSum(" + of + ", {1}; keepdims=1)"; };
  const auto most = [](const std::string& of) { return "ReduceMax(" + of + "; axes=[1])"; };
  const auto least = [](const std::string& of) { return "ReduceMin(" + of + "; axes=[1])"; };
  const auto squares = [&](const std::string& of) {
    return "ReduceSum(Pow(Sub(" + of + ", " + mean(of) + "), 2.0), {1}; keepdims=1)";
  };
  const auto variance = [&](const std::string& of) {
    return mean("Pow(Sub(" + of + ", " + mean(of) + "), 2.0)");
  };
  const auto count = [](const std::string& size) {
    return "ReduceSum(Expand(1.0, {" + size + "}), {0}; keepdims=0)";
  };
  const auto pairs = [](const std::string& of) {
    return "Sub(Unsqueeze(" + of + ", {2}), Unsqueeze(" + of + ", {1}))";
  };
  const auto spread = [&](const std::string& of) {
    return "Div(Sub(" + of + ", " + least(of) + "), Add(Sub(" + most(of) + ", " + least(of) + "), 0.5))";
  };
  const std::string gram = "MatMul(A, Transpose(A; perm=[1, 0]))";
  const std::string head = "Slice(X, {0}, {m}, {1})", last = "Slice(X, {m}, {m + 1}, {1})";
  return {
      // Means and variances.
      {"a variance in tiles", tiles, variance("X"),
       "Add(ReduceMean(ReduceMean(Pow(Sub(" + tile + ", ReduceMean(" + tile +
           "; axes=[2])), 2.0); axes=[2], keepdims=0); axes=[1]), ReduceMean(Pow(Sub(ReduceMean(" + tile +
           "; axes=[2], keepdims=0), ReduceMean(X; axes=[1])), 2.0); axes=[1]))"},
      {"squared deviations of three and five", "Z: n, 3; U: n, 5", squares("Concat(Z, U; axis=1)"),
       "Add(Add(" + squares("Z") + ", " + squares("U") + "), Mul(Pow(Sub(" + mean("Z") + ", " + mean("U") +
           "), 2.0), 1.875))"},
      {"squared deviations of two parts", parts, squares("Concat(Z, U; axis=1)"),
       "Add(Add(" + squares("Z") + ", " + squares("U") + "), Mul(Pow(Sub(" + mean("Z") + ", " + mean("U") +
           "), 2.0), Div(Mul(" + count("a") + ", " + count("c") + "), Add(" + count("a") + ", " + count("c") +
           "))))"},
      {"a mean of two parts by their lengths", parts, mean("Concat(Z, U; axis=1)"),
       "Div(Add(Mul(" + mean("Z") + ", " + count("a") + "), Mul(" + mean("U") + ", " + count("c") +
           ")), Add(" + count("a") + ", " + count("c") + "))"},
      {"a mean and one more", "X: n, m + 1", mean("X"),
       "Add(" + mean(head) + ", Div(Sub(" + last + ", " + mean(head) + "), " + count("m + 1") + "))"},
      {"a variance by pairs", matrix, "ReduceMean(Pow(" + pairs("A") + ", 2.0); axes=[1, 2], keepdims=0)",
       "Squeeze(Mul(" + variance("A") + ", 2.0), {1})"},
      {"squared deviations by sums", matrix, squares("A"),
       "Sub(ReduceSumSquare(A; axes=[1]), Mul(" + total("A") + ", " + mean("A") + "))"},
      {"a squared error by variance and bias", matrix, mean("Pow(Sub(A, B), 2.0)"),
       "Add(" + variance("Sub(A, B)") + ", Pow(Sub(" + mean("A") + ", " + mean("B") + "), 2.0))"},
      {"a variance of a sum", matrix, variance("Add(A, B)"),
       "Add(Add(" + variance("A") + ", " + variance("B") + "), Mul(" +
           mean("Mul(Sub(A, " + mean("A") + "), Sub(B, " + mean("B") + "))") + ", 2.0))"},
      // Sums and norms.
      {"a sum of a Gram matrix", matrix, "ReduceSum(" + gram + ", {0, 1}; keepdims=0)",
       "ReduceSumSquare(ReduceSum(A, {0}; keepdims=0); axes=[0], keepdims=0)"},
      {"products of different rows", matrix,
       "ReduceSum(Mul(" + gram + ", Sub(1.0, EyeLike(" + gram + "))), {0, 1}; keepdims=0)",
       "Sub(ReduceSumSquare(ReduceSum(A, {0}; keepdims=0); axes=[0], keepdims=0), ReduceSumSquare(A; "
       "axes=[0, "
       "1], keepdims=0))"},
      {"a norm of two parts", parts, "ReduceL2(Concat(Z, U; axis=1); axes=[1])",
       "Sqrt(Add(Pow(ReduceL2(Z; axes=[1]), 2.0), ReduceSumSquare(U; axes=[1])))"},
      {"a sum of absolute values by signs", matrix, "ReduceL1(A; axes=[1])",
       "Add(" + total("Relu(A)") + ", " + total("Relu(Neg(A))") + ")"},
      {"the norm of a sum", matrix,
       "Add(ReduceSumSquare(Add(A, B); axes=[1]), ReduceSumSquare(Sub(A, B); axes=[1]))",
       "Mul(Add(ReduceSumSquare(A; axes=[1]), ReduceSumSquare(B; axes=[1])), 2.0)"},
      {"the norm of an outer product", "x: n; y: m",
       "ReduceL2(Mul(Unsqueeze(x, {1}), y); axes=[0, 1], keepdims=0)",
       "Mul(ReduceL2(x; axes=[0], keepdims=0), ReduceL2(y; axes=[0], keepdims=0))"},
      {"a running sum as a product", "X: n, m", "CumSum(X, {1})",
       "MatMul(X, Trilu(Expand(1.0, {m, m}); upper=1))"},
      {"a product of elements in tiles", tiles, "ReduceProd(X; axes=[1], keepdims=0)",
       "ReduceProd(ReduceProd(" + tile + "; axes=[2], keepdims=0); axes=[1], keepdims=0)"},
      {"a product of exponentials", matrix, "ReduceProd(Exp(A); axes=[1])", "Exp(" + total("A") + ")"},
      // Maxima.
      {"the largest absolute value", matrix, most("Abs(A)"),
       "Max(" + most("A") + ", Neg(" + least("A") + "))"},
      {"the largest difference", matrix, "ReduceMax(" + pairs("A") + "; axes=[1, 2], keepdims=0)",
       "Squeeze(Sub(" + most("A") + ", " + least("A") + "), {1})"},
      {"a range does not see a shift", matrix, spread("Add(A, w)"), spread("A")},
      {"the largest of larger ones", matrix, most("Max(A, B)"), "Max(" + most("A") + ", " + most("B") + ")"},
      {"the largest of sums of rows and columns", "w: n, 1; y: 1, m",
       "ReduceMax(Add(w, y); axes=[0, 1], keepdims=0)",
       "Add(ReduceMax(w; axes=[0, 1], keepdims=0), ReduceMax(y; axes=[0, 1], keepdims=0))"},
      // Softmaxes.
      {"the largest of a softmax", matrix, most("Softmax(A; axis=1)"),
       "Reciprocal(" + total("Exp(Sub(A, " + most("A") + "))") + ")"},
      {"log-sum-exp in tiles", tiles, "ReduceLogSumExp(X; axes=[1], keepdims=0)",
       "ReduceLogSumExp(ReduceLogSumExp(" + tile + "; axes=[2], keepdims=0); axes=[1], keepdims=0)"},
      {"a softmax of softmaxes of tiles", tiles, "Reshape(Softmax(X; axis=1), {n, t, c})",
       "Mul(Softmax(" + tile + "; axis=2), Unsqueeze(Softmax(ReduceLogSumExp(" + tile +
           "; axes=[2], keepdims=0); axis=1), {2}))"},
      {"the entropy of a softmax", matrix,
       "Neg(" + total("Mul(Softmax(A; axis=1), LogSoftmax(A; axis=1))") + ")",
       "Sub(Log(" + total("Exp(A)") + "), " + total("Mul(Softmax(A; axis=1), A)") + ")"},
      {"a divergence of softmaxes", matrix,
       total("Mul(Softmax(A; axis=1), Sub(LogSoftmax(A; axis=1), LogSoftmax(B; axis=1)))"),
       "Add(" + total("Mul(Softmax(A; axis=1), Sub(A, B))") + ", Sub(Log(" + total("Exp(B)") + "), Log(" +
           total("Exp(A)") + ")))"},
      {"a softmax of a softmax's logarithm", matrix, "Softmax(Add(LogSoftmax(A; axis=1), B); axis=1)",
       "Softmax(Add(A, B); axis=1)"},
  };
}

}  // namespace axrun::tests
