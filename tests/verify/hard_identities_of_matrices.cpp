// Identities of matrices: traces, outer and Kronecker products, blocks, reflections, symmetry, whitening.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_matrices() {
  const auto transposed = [](const std::string& of) { return "Transpose(" + of + "; perm=[1, 0])"; };
  const auto trace = [](const std::string& of) {
    return "ReduceSum(Mul(" + of + ", EyeLike(" + of + ")), {0, 1}; keepdims=0)";
  };
  const auto kronecker = [](const std::string& a, const std::string& n, const std::string& k,
                            const std::string& b, const std::string& m, const std::string& l) {
    return "Reshape(Mul(Reshape(" + a + ", {" + n + ", 1, " + k + ", 1}), Reshape(" + b + ", {1, " + m +
           ", 1, " + l + "})), {" + n + "*" + m + ", " + k + "*" + l + "})";
  };
  const auto blocks = [](const std::string& a, const std::string& b, const std::string& c,
                         const std::string& d) {
    return "Concat(Concat(" + a + ", " + b + "; axis=1), Concat(" + c + ", " + d + "; axis=1); axis=0)";
  };
  const auto product = [](const std::string& a, const std::string& b) {
    return "MatMul(" + a + ", " + b + ")";
  };
  const auto sum = [](const std::string& a, const std::string& b) { return "Add(" + a + ", " + b + ")"; };
  const auto difference = [](const std::string& a, const std::string& b) {
    return "Sub(" + a + ", " + b + ")";
  };
  // Strassen's seven products.
  const std::string p = product(sum("A", "D"), sum("E", "H")), q = product(sum("C", "D"), "E"),
                    r = product("A", difference("F", "H")), s = product("D", difference("G", "E")),
                    t = product(sum("A", "B"), "H"), u = product(difference("C", "A"), sum("E", "F")),
                    v = product(difference("B", "D"), sum("G", "H"));
  const std::string reflection = "Sub(EyeLike(I), Mul(MatMul(v, Transpose(v; perm=[1, 0])), 2.0))";
  const std::string length = "MatMul(Transpose(v; perm=[1, 0]), v)";
  return {
      // Traces.
      {"a trace of a product either way", "A: n, k; B: k, n", trace(product("A", "B")),
       trace(product("B", "A"))},
      {"a trace of three factors turned", "A: n, k; B: k, m; C: m, n", trace(product(product("A", "B"), "C")),
       trace(product("C", product("A", "B")))},
      {"a trace as a sum of products", "A: n, k; B: n, k; C: k, k",
       trace(product(product("A", "C"), transposed("B"))),
       "ReduceSum(Mul(B, MatMul(A, C)), {0, 1}; keepdims=0)"},
      {"a norm as a trace", "A: n, k", trace(product(transposed("A"), "A")),
       "ReduceSumSquare(A; axes=[0, 1], keepdims=0)"},
      {"a trace does not see what is skew", "A: n, n; B: n, n",
       trace(product("Add(A, Transpose(A; perm=[1, 0]))", "Sub(B, Transpose(B; perm=[1, 0]))")),
       "Mul(ReduceSum(A, {0, 1}; keepdims=0), 0.0)"},
      // Outer and Kronecker products.
      {"Kronecker products multiply", "A: n, k; C: k, p; B: m, l; D: l, q",
       product(kronecker("A", "n", "k", "B", "m", "l"), kronecker("C", "k", "p", "D", "l", "q")),
       kronecker(product("A", "C"), "n", "p", product("B", "D"), "m", "q")},
      {"a Kronecker product of a matrix as rows", "A: n, k; B: m, l; X: k, l",
       product(kronecker("A", "n", "k", "B", "m", "l"), "Reshape(X, {k*l, 1})"),
       "Reshape(" + product(product("A", "X"), transposed("B")) + ", {n*m, 1})"},
      {"a trace of a Kronecker product", "A: n, n; B: m, m", trace(kronecker("A", "n", "n", "B", "m", "m")),
       "Mul(" + trace("A") + ", " + trace("B") + ")"},
      {"a product of outer products", "x: n, 1; y: k, 1; z: k, 1; w: m, 1",
       product(product("x", transposed("y")), product("z", transposed("w"))),
       "Mul(" + product("x", transposed("w")) + ", ReduceSum(Mul(y, z), {0}; keepdims=1))"},
      {"a product as a sum of outer products", "A: n, k; W: k, m",
       "ReduceSum(Mul(Unsqueeze(" + transposed("A") + ", {2}), Unsqueeze(W, {1})), {0}; keepdims=0)",
       product("A", "W")},
      {"an outer product in place of two scales", "A: n, k; w: n, 1; g: k, 1; W: k, m",
       product("Mul(A, " + product("w", transposed("g")) + ")", "W"),
       "Mul(w, " + product("A", "Mul(W, g)") + ")"},
      {"rows weighed in a Gram matrix", "X: n, k; p: n, 1", product(transposed("X"), "Mul(X, Mul(p, p))"),
       product(transposed("Mul(X, p)"), "Mul(X, p)")},
      // Blocks.
      {"a product of blocks", "A: n, k; B: n, l; C: m, k; D: m, l; E: k, p; F: k, q; G: l, p; H: l, q",
       product(blocks("A", "B", "C", "D"), blocks("E", "F", "G", "H")),
       blocks(sum(product("A", "E"), product("B", "G")), sum(product("A", "F"), product("B", "H")),
              sum(product("C", "E"), product("D", "G")), sum(product("C", "F"), product("D", "H")))},
      {"a product of blocks by seven products",
       "A: n, k; B: n, k; C: n, k; D: n, k; E: k, m; F: k, m; G: k, m; H: k, m",
       product(blocks("A", "B", "C", "D"), blocks("E", "F", "G", "H")),
       blocks(sum(difference(sum(p, s), t), v), sum(r, t), sum(q, s), sum(sum(difference(p, q), r), u))},
      {"blocks on a diagonal apart", "A: n, k; B: m, l; X: k, p; Y: l, p",
       product("Concat(Pad(A, {0, 0, 0, l}), Pad(B, {0, k, 0, 0}); axis=0)", "Concat(X, Y; axis=0)"),
       "Concat(" + product("A", "X") + ", " + product("B", "Y") + "; axis=0)"},
      {"a triangle of blocks undone", "A: n, k; X: n, p; Y: k, p; I: n, n; J: k, k",
       product(blocks("EyeLike(I)", "Neg(A)", "Expand(0.0, {k, n})", "EyeLike(J)"),
               "Concat(" + sum("X", product("A", "Y")) + ", Y; axis=0)"),
       "Concat(X, Y; axis=0)"},
      {"a bias as one more row", "X: n, k; W: k, m; c: 1, m; U: m, p; d: 1, p",
       product("Concat(" + product("Concat(X, Expand(1.0, {n, 1}); axis=1)", "Concat(W, c; axis=0)") +
                   ", Expand(1.0, {n, 1}); axis=1)",
               "Concat(U, d; axis=0)"),
       "Add(" + product("X", product("W", "U")) + ", Add(" + product("c", "U") + ", d))"},
      // Squares and symmetry.
      {"a quadratic form sees what is symmetric", "X: n, k; A: k, k",
       "ReduceSum(Mul(MatMul(X, A), X), {1}; keepdims=1)",
       "ReduceSum(Mul(MatMul(X, Mul(Add(A, Transpose(A; perm=[1, 0])), 0.5)), X), {1}; keepdims=1)"},
      {"a quadratic form shifted", "x: k, 1; y: k, 1; A: k, k",
       product(transposed("Add(x, y)"), product("A", "Add(x, y)")),
       "Add(Add(" + product(transposed("x"), product("A", "x")) + ", " +
           product(transposed("y"), product("A", "y")) + "), " +
           product(transposed("x"), product(sum("A", transposed("A")), "y")) + ")"},
      {"a binomial of matrices", "S: k, k; T: k, k", product("Add(S, T)", "Sub(S, T)"),
       "Add(Sub(MatMul(S, S), MatMul(T, T)), Sub(MatMul(T, S), MatMul(S, T)))"},
      {"a commutator applied to columns", "A: n, n; B: n, n; X: n, m",
       "Sub(MatMul(Sub(MatMul(A, B), MatMul(B, A)), X), Sub(MatMul(A, MatMul(B, X)), MatMul(B, MatMul(A, "
       "X))))",
       "Mul(X, 0.0)"},
      {"distances within a Gram matrix", "X: n, k; C: k, k",
       "ReduceSumSquare(Sub(Unsqueeze(MatMul(X, C), {1}), MatMul(X, C)); axes=[2], keepdims=0)",
       "Sub(Add(ReduceSumSquare(MatMul(X, C); axes=[1]), Transpose(ReduceSumSquare(MatMul(X, C); axes=[1]); "
       "perm=[1, 0])), Mul(MatMul(MatMul(X, MatMul(C, Transpose(C; perm=[1, 0]))), Transpose(X; perm=[1, "
       "0])), "
       "2.0))"},
      // Reflections and updates.
      {"a reflection without its matrix", "X: n, k; v: k, 1; I: k, k", product("X", reflection),
       "Sub(X, Mul(" + product(product("X", "v"), transposed("v")) + ", 2.0))"},
      {"a reflection twice", "X: n, k; v: k, 1; I: k, k", product(product("X", reflection), reflection),
       "Add(X, Mul(" + product(product("X", "v"), transposed("v")) + ", Sub(Mul(" + length +
           ", 4.0), 4.0)))"},
      {"two rank-one updates as one of rank two", "X: n, k; u: k, 1; v: k, 1; w: k, 1; z: k, 1",
       "Add(Add(X, MatMul(MatMul(X, u), Transpose(v; perm=[1, 0]))), MatMul(MatMul(Add(X, MatMul(MatMul(X, "
       "u), "
       "Transpose(v; perm=[1, 0]))), w), Transpose(z; perm=[1, 0])))",
       "Add(X, MatMul(MatMul(X, Concat(u, Add(w, MatMul(u, MatMul(Transpose(v; perm=[1, 0]), w))); axis=1)), "
       "Transpose(Concat(v, z; axis=1); perm=[1, 0])))"},
      {"a diagonal between two factors", "A: n, k; W: k, m; g: k; I: k, k; c: m; J: m, m",
       product(product("A", "Mul(EyeLike(I), g)"), product("W", "Mul(EyeLike(J), c)")),
       "Mul(" + product("Mul(A, g)", "W") + ", c)"},
  };
}

}  // namespace axrun::tests
