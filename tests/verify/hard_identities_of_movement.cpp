// Identities of chains of reshapes, transpositions, slices, concatenations, tiles, padding and gathers.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_movement() {
  const std::string packed = "X: b, n, 3*h*d; A: n, 3*d";
  const auto third = [](const std::string& from, const std::string& to) {
    return "Unsqueeze(Slice(A, {" + from + "}, {" + to + "}, {1}), {1})";
  };
  const auto parity = [](const std::string& u, const std::string& v) {
    return "Slice(X, {" + u + ", " + v + "}, {2*y, 2*x}, {1, 2}, {2, 2})";
  };
  const auto rolled = [](const std::string& of, const std::string& size, const std::string& axis) {
    return "Concat(Slice(" + of + ", {3}, {" + size + " + 3}, {" + axis + "}), Slice(" + of +
           ", {0}, {3}, {" + axis + "}); axis=" + axis + ")";
  };
  const auto unrolled = [](const std::string& of, const std::string& size, const std::string& axis) {
    return "Concat(Slice(" + of + ", {" + size + "}, {" + size + " + 3}, {" + axis + "}), Slice(" + of +
           ", {0}, {" + size + "}, {" + axis + "}); axis=" + axis + ")";
  };
  const std::string paired = "Reshape(Concat(Unsqueeze(X, {2}), Unsqueeze(Y, {2}); axis=2), {n, 2*m})";
  return {
      // Reshapes and transpositions.
      {"one of three packed by heads", packed,
       "Squeeze(Slice(Transpose(Reshape(X, {b, n, 3, h, d}); perm=[2, 0, 3, 1, 4]), {1}, {2}, {0}), {0})",
       "Transpose(Reshape(Slice(X, {h*d}, {2*h*d}, {2}), {b, n, h, d}); perm=[0, 2, 1, 3])"},
      {"thirds of columns stacked", packed,
       "Concat(" + third("0", "d") + ", " + third("d", "2*d") + ", " + third("2*d", "3*d") + "; axis=1)",
       "Reshape(A, {n, 3, d})"},
      {"merged axes past a transposition", "X: a, b, c; W: a*b, m",
       "MatMul(Reshape(Transpose(X; perm=[2, 0, 1]), {c, a*b}), W)",
       "MatMul(Transpose(Reshape(X, {a*b, c}); perm=[1, 0]), W)"},
      {"depth to space twice", "X: b, 16*c, y, x",
       "DepthToSpace(DepthToSpace(X; blocksize=2, mode=CRD); blocksize=2, mode=CRD)",
       "DepthToSpace(Reshape(Transpose(Reshape(X, {b, c, 2, 2, 2, 2, y, x}); perm=[0, 1, 4, 2, 5, 3, 6, 7]), "
       "{b, 16*c, y, x}); blocksize=4, mode=CRD)"},
      {"four neighbours as channels", "X: b, 2*y, 2*x, c",
       "Concat(" + parity("0", "0") + ", " + parity("1", "0") + ", " + parity("0", "1") + ", " +
           parity("1", "1") + "; axis=3)",
       "Reshape(Transpose(Reshape(X, {b, y, 2, x, 2, c}); perm=[0, 1, 3, 4, 2, 5]), {b, y, x, 4*c})"},
      {"channels last and back", "X: b, c, y, x; g: c; a: c",
       "Transpose(Relu(Add(Mul(Transpose(X; perm=[0, 2, 3, 1]), g), a)); perm=[0, 3, 1, 2])",
       "Reshape(Relu(Add(Mul(Reshape(X, {b, c, y*x}), Reshape(g, {c, 1})), Reshape(a, {c, 1}))), {b, c, y, "
       "x})"},
      {"a product of windows of tokens", "X: b, y*w, x*v, c; W: c, m",
       "MatMul(Reshape(Transpose(Reshape(X, {b, y, w, x, v, c}); perm=[0, 1, 3, 2, 4, 5]), {b*y*x, w*v, c}), "
       "W)",
       "Reshape(Transpose(Reshape(MatMul(X, W), {b, y, w, x, v, m}); perm=[0, 1, 3, 2, 4, 5]), {b*y*x, w*v, "
       "m})"},
      // Slices and concatenations.
      {"even and odd columns interleaved", "X: n, m; Y: n, m", "Slice(" + paired + ", {1}, {2*m}, {1}, {2})",
       "Identity(Y)"},
      {"a sum of even and of odd columns", "X: n, 2*m", "ReduceSum(X, {1}; keepdims=1)",
       "Add(ReduceSum(Slice(X, {0}, {2*m}, {1}, {2}), {1}; keepdims=1), ReduceSum(Slice(X, {1}, {2*m}, {1}, "
       "{2}), {1}; keepdims=1))"},
      {"a product with interleaved columns", "X: n, m; Y: n, m; W: 2*m, p", "MatMul(" + paired + ", W)",
       "Add(MatMul(X, Slice(W, {0}, {2*m}, {0}, {2})), MatMul(Y, Slice(W, {1}, {2*m}, {0}, {2})))"},
      {"a slice over a seam", "X: n, m + 2; Y: n, p + 1", "Slice(Concat(X, Y; axis=1), {1}, {m + 3}, {1})",
       "Concat(Slice(X, {1}, {m + 2}, {1}), Slice(Y, {0}, {1}, {1}); axis=1)"},
      {"rolled by rows and columns and back", "X: b, y + 3, x + 3, c",
       unrolled(unrolled(rolled(rolled("X", "y", "1"), "x", "2"), "y", "1"), "x", "2"), "Identity(X)"},
      {"rolled columns of a product", "X: n, k; W: k, m + 3", rolled("MatMul(X, W)", "m", "1"),
       "MatMul(X, " + rolled("W", "m", "1") + ")"},
      {"a rolled depth", "X: n, k + 3; W: k + 3, m",
       "MatMul(" + rolled("X", "k", "1") + ", " + rolled("W", "k", "0") + ")", "MatMul(X, W)"},
      {"columns without data", "X: n, k; W: k + 3, m", "MatMul(Concat(X, Expand(0.0, {n, 3}); axis=1), W)",
       "MatMul(X, Slice(W, {0}, {k}, {0}))"},
      {"blocks of rows and columns", "A: n, k; B: n, l; C: m, k; D: m, l",
       "Transpose(Concat(Concat(A, B; axis=1), Concat(C, D; axis=1); axis=0); perm=[1, 0])",
       "Concat(Concat(Transpose(A; perm=[1, 0]), Transpose(C; perm=[1, 0]); axis=1), Concat(Transpose(B; "
       "perm=[1, 0]), Transpose(D; perm=[1, 0]); axis=1); axis=0)"},
      // Tiles, expansion and padding.
      {"rows tiled by an expansion", "X: n, m", "Transpose(Tile(X, {3, 1}); perm=[1, 0])",
       "Reshape(Expand(Unsqueeze(Transpose(X; perm=[1, 0]), {1}), {m, 3, n}), {m, 3*n})"},
      {"a tiled depth", "X: n, k; W: k, m", "MatMul(Tile(X, {1, 3}), Tile(W, {3, 1}))",
       "Mul(MatMul(X, W), 3.0)"},
      {"a mean of tiles", "X: n, m", "ReduceMean(Tile(X, {2, 3}); axes=[0, 1])",
       "ReduceMean(X; axes=[0, 1])"},
      {"a softmax of two copies", "X: n, m", "Softmax(Concat(X, X; axis=1); axis=1)",
       "Mul(Tile(Softmax(X; axis=1), {1, 2}), 0.5)"},
      {"a product of what is expanded", "w: n, 1; W: k, m", "MatMul(Expand(w, {n, k}), W)",
       "MatMul(w, ReduceSum(W, {0}; keepdims=1))"},
      {"padded blocks added", "X: n, k; Y: m, k", "Add(Pad(X, {0, 0, m, 0}), Pad(Y, {n, 0, 0, 0}))",
       "Concat(X, Y; axis=0)"},
      {"a padded image's product by slices", "X: b, k, n; W: m, k", "MatMul(W, Pad(X, {0, 0, 2, 0, 0, 1}))",
       "Concat(Expand(0.0, {b, m, 2}), MatMul(W, X), Expand(0.0, {b, m, 1}); axis=2)"},
      {"triangles with their diagonal twice", "X: n, n; Y: n, m",
       "MatMul(Sub(Add(Trilu(X; upper=0), Trilu(X; upper=1)), Mul(X, EyeLike(X))), Y)", "MatMul(X, Y)"},
      {"both triangles leave a diagonal", "X: n, n; Y: n, m", "MatMul(Trilu(Trilu(X; upper=1); upper=0), Y)",
       "Mul(ReduceSum(Mul(X, EyeLike(X)), {1}; keepdims=1), Y)"},
      {"a transposed triangle", "X: n, n; Y: n, m", "MatMul(Transpose(Trilu(X; upper=1); perm=[1, 0]), Y)",
       "MatMul(Trilu(Transpose(X; perm=[1, 0]); upper=0), Y)"},
      // Gathers.
      {"two tables side by side", "E: v, k; F: v, d; i: i64 n; W: k + d, m",
       "MatMul(Concat(Gather(E, i), Gather(F, i); axis=1), W)",
       "Gather(Add(MatMul(E, Slice(W, {0}, {k}, {0})), MatMul(F, Slice(W, {k}, {k + d}, {0}))), i)"},
      {"a gathered row of a Gram matrix", "E: v, k; i: i64 n",
       "MatMul(Gather(E, i), Transpose(E; perm=[1, 0]))",
       "Transpose(Gather(MatMul(E, Transpose(E; perm=[1, 0])), i; axis=1); perm=[1, 0])"},
      {"a gathered softmax of heads", "S: b, h, n, e; i: i64 m", "Softmax(Gather(S, i; axis=1); axis=3)",
       "Transpose(Gather(Softmax(Transpose(S; perm=[1, 0, 2, 3]); axis=3), i; axis=0); perm=[1, 0, 2, 3])"},
      {"tokens gathered together", "E: v, k; i: i64 n; j: i64 p; W: k, m; c: m",
       "Add(MatMul(Gather(E, Concat(i, j; axis=0)), W), c)",
       "Concat(Gather(Add(MatMul(E, W), c), i), Gather(Add(MatMul(E, W), c), j); axis=0)"},
  };
}

}  // namespace axrun::tests
