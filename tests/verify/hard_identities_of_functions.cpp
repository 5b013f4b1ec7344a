// Identities of functions of one element or a few: activations, what is made of pieces, exponentials, pairs.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_functions() {
  const std::string plain = "A: n, m; B: n, m; C: n, m; v: m; s: ";
  const std::string median = "Max(Min(A, B), Min(Max(A, B), C))";
  const std::string gelu = "Mul(Mul(A, 0.5), Add(1.0, Erf(Mul(A, 0.7071))))";
  const std::string mirrored = "Mul(Mul(Neg(A), 0.5), Add(1.0, Erf(Mul(Neg(A), 0.7071))))";
  const std::string spread = "Add(Mul(A, A), Mul(B, B))";
  const auto hat = [](const std::string& at) { return "Relu(Sub(1.0, Abs(Sub(A, " + at + "))))"; };
  return {
      // What is made of pieces.
      {"HardSwish by its pieces", plain, "HardSwish(A)",
       "Where(LessOrEqual(A, -3.0), 0.0, Where(GreaterOrEqual(A, 3.0), A, Div(Mul(A, Add(A, 3.0)), 6.0)))"},
      {"HardSwish of both signs", plain, "Sub(HardSwish(A), HardSwish(Neg(A)))", "Identity(A)"},
      {"a clip of what is left", plain, "Clip(Sub(6.0, A), 0.0, 6.0)", "Sub(6.0, Clip(A, 0.0, 6.0))"},
      {"clips that overlap", plain, "Clip(Clip(A, -1.0, 4.0), -3.0, 2.0)", "Clip(A, -1.0, 2.0)"},
      {"PRelu by an absolute value", plain, "PRelu(A, v)",
       "Add(Mul(A, Mul(Add(v, 1.0), 0.5)), Mul(Abs(A), Mul(Sub(1.0, v), 0.5)))"},
      {"a hat by three Relus", plain, hat("0.0"),
       "Add(Sub(Relu(Add(A, 1.0)), Mul(Relu(A), 2.0)), Relu(Sub(A, 1.0)))"},
      {"hats sum to one between them", plain,
       "Add(Add(" + hat("-1.0") + ", " + hat("0.0") + "), " + hat("1.0") + ")",
       "Clip(Sub(2.0, Abs(A)), 0.0, 1.0)"},
      {"minima over maxima", plain, "Min(A, Max(B, C))", "Max(Min(A, B), Min(A, C))"},
      {"three sorted keep their sum", plain, "Add(Add(Max(Max(A, B), C), " + median + "), Min(Min(A, B), C))",
       "Add(Add(A, B), C)"},
      {"three sorted keep their products", plain,
       "Add(Mul(Max(Max(A, B), C), Add(" + median + ", Min(Min(A, B), C))), Mul(" + median +
           ", Min(Min(A, B), C)))",
       "Add(Add(Mul(A, B), Mul(B, C)), Mul(C, A))"},
      {"the larger times the smaller", plain, "Mul(Max(A, B), Min(A, B))", "Mul(B, A)"},
      {"signs multiply", plain, "Mul(Mul(Sign(A), Sign(B)), Abs(Mul(A, B)))", "Mul(A, B)"},
      {"a Huber loss by a clip", plain,
       "Where(LessOrEqual(Abs(A), 1.0), Mul(Mul(A, A), 0.5), Sub(Abs(A), 0.5))",
       "Sub(Mul(A, Clip(A, -1.0, 1.0)), Mul(Pow(Clip(A, -1.0, 1.0), 2.0), 0.5))"},
      {"an intersection of intervals", plain + "; D: n, m", "Relu(Sub(Min(A, B), Max(C, D)))",
       "Max(Min(Min(Sub(A, C), Sub(A, D)), Min(Sub(B, C), Sub(B, D))), 0.0)"},
      {"a hinge on either side", plain, "Max(Relu(Sub(A, B)), Relu(Sub(B, A)))", "Abs(Sub(A, B))"},
      {"a squared hinge of both signs", plain, "Add(Pow(Relu(A), 2.0), Pow(Relu(Neg(A)), 2.0))", "Mul(A, A)"},
      {"Softsign by its halves", plain, "Softsign(A)",
       "Sub(Div(Relu(A), Add(Abs(A), 1.0)), Div(Relu(Neg(A)), Add(Abs(A), 1.0)))"},
      {"Elu by an exponential of what is negative", plain, "Elu(A; alpha=1.0)",
       "Sub(Add(Relu(A), Exp(Min(A, 0.0))), 1.0)"},
      // Exponentials, logarithms, sigmoids.
      {"a logarithm of two exponentials", plain, "Log(Add(Exp(A), Exp(B)))", "Add(A, Softplus(Sub(B, A)))"},
      {"Softplus without overflow", plain, "Softplus(A)", "Add(Relu(A), Log(Add(1.0, Exp(Neg(Abs(A))))))"},
      {"a maximum before a logarithm of exponentials", plain, "Log(Add(Exp(A), Exp(B)))",
       "Add(Max(A, B), Log(Add(1.0, Exp(Neg(Abs(Sub(A, B)))))))"},
      {"a share of two exponentials", plain, "Div(Mul(Exp(A), C), Add(Exp(A), Exp(B)))",
       "Mul(C, Sigmoid(Sub(A, B)))"},
      {"a sigmoid's slope", plain, "Mul(Sigmoid(A), Sigmoid(Neg(A)))",
       "Mul(Sub(1.0, Pow(Tanh(Mul(A, 0.5)), 2.0)), 0.25)"},
      {"tanh by exponentials", plain, "Mul(Tanh(A), B)",
       "Div(Mul(B, Sub(Exp(A), Exp(Neg(A)))), Add(Exp(A), Exp(Neg(A))))"},
      {"tanh of a sum", plain, "Mul(Tanh(Add(A, B)), Add(1.0, Mul(Tanh(A), Tanh(B))))",
       "Add(Tanh(A), Tanh(B))"},
      {"Mish by one exponential", plain, "Mul(A, Tanh(Softplus(A)))",
       "Mul(A, Div(Add(Mul(Exp(A), Exp(A)), Mul(Exp(A), 2.0)), Add(Add(Mul(Exp(A), Exp(A)), Mul(Exp(A), "
       "2.0)), "
       "2.0)))"},
      {"Gelu of both signs", plain, "Sub(" + gelu + ", " + mirrored + ")", "Identity(A)"},
      {"Gelu by the absolute value", plain, "Add(" + gelu + ", " + mirrored + ")",
       "Mul(Abs(A), Erf(Mul(Abs(A), 0.7071)))"},
      {"the slope of A times its sigmoid", plain, "Mul(Sigmoid(A), Add(1.0, Mul(A, Sub(1.0, Sigmoid(A)))))",
       "Add(Sigmoid(A), Mul(A, Mul(Sigmoid(A), Sigmoid(Neg(A)))))"},
      {"a gate's odds", plain, "Div(Sigmoid(A), Sigmoid(Neg(A)))", "Exp(A)"},
      {"a geometric mean", plain, "Sqrt(Mul(Exp(A), Exp(B)))", "Exp(Mul(Add(A, B), 0.5))"},
      {"a power by a logarithm", plain, "Exp(Sub(Mul(A, 2.0), Log(Add(1.0, Mul(B, B)))))",
       "Div(Pow(Exp(A), 2.0), Add(1.0, Mul(B, B)))"},
      {"a density's logarithm", plain, "Log(Div(Exp(Neg(Mul(A, A))), Add(1.0, Mul(B, B))))",
       "Neg(Add(Mul(A, A), Log(Add(1.0, Mul(B, B)))))"},
      // Pairs as complex numbers.
      {"a modulus of a product", plain + "; D: n, m",
       "Sqrt(Add(Pow(Sub(Mul(A, C), Mul(B, D)), 2.0), Pow(Add(Mul(A, D), Mul(B, C)), 2.0)))",
       "Mul(Sqrt(" + spread + "), Sqrt(Add(Mul(C, C), Mul(D, D))))"},
      {"three products of pairs", "A: n, k; B: n, k; C: k, m; D: k, m",
       "Sub(MatMul(A, C), MatMul(B, D)) | Sub(Sub(MatMul(Add(A, B), Add(C, D)), MatMul(A, C)), MatMul(B, D))",
       "Sub(MatMul(A, C), MatMul(B, D)) | Add(MatMul(A, D), MatMul(B, C))"},
      {"a product of pairs by sums and differences", plain + "; D: n, m",
       "Div(Add(Mul(A, C), Mul(B, D)), Mul(Sqrt(Add(" + spread + ", 1.0)), 4.0))",
       "Div(Sub(Add(Pow(Add(A, C), 2.0), Pow(Add(B, D), 2.0)), Add(Pow(Sub(A, C), 2.0), Pow(Sub(B, D), "
       "2.0))), "
       "Mul(Sqrt(Add(" +
           spread + ", 1.0)), 16.0))"},
  };
}

}  // namespace axrun::tests
