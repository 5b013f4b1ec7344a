// Identities of convolutions and pools: as products, as each other, in groups, with strides, holes and folds.
#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> hard_identities_of_convolutions() {
  const std::string image =
      "X: b, 8, y, x; F: 12, 8, 3, 3; P: 12, 8, 1, 1; D: 8, 1, 3, 3; G: 12, 4, 3, 3; T: 8, 12, 3, 3; g: 8; "
      "a: "
      "8; e: 8; v: 8; c: 12";
  const std::string line = "X: b, c, n + 2; F: m, c, 3";
  const std::string padded = "; pads=[1, 1, 1, 1])";
  const auto tap = [](const std::string& of, int k) {
    return "Slice(" + of + ", {" + std::to_string(k) + "}, {" + std::to_string(k + 1) + "}, {2})";
  };
  const auto window = [](const std::string& of, int k) {
    return "Slice(" + of + ", {" + std::to_string(k) + "}, {n + " + std::to_string(k) + "}, {2})";
  };
  const auto shifted_product = [&](int k) {
    return "MatMul(Reshape(" + tap("F", k) + ", {m, c}), " + window("X", k) + ")";
  };
  const auto shifted_scale = [&](int k) {
    return "Mul(" + window("Pad(X, {0, 0, 2, 0, 0, 0})", k) + ", Reshape(" + tap("D", k) + ", {8, 1}))";
  };
  const std::string factor = "Div(g, Sqrt(Add(v, 0.5)))";
  const std::string shift = "Sub(a, Div(Mul(e, g), Sqrt(Add(v, 0.5))))";
  return {
      // Groups.
      {"a depthwise and a pointwise convolution as one", image,
       "Conv(Conv(X, D; group=8, pads=[1, 1, 1, 1]), P)",
       "Conv(X, Mul(P, Transpose(D; perm=[1, 0, 2, 3]))" + padded},
      {"two groups apart", image, "Conv(X, G; group=2)",
       "Concat(Conv(Slice(X, {0}, {4}, {1}), Slice(G, {0}, {6}, {0})), Conv(Slice(X, {4}, {8}, {1}), "
       "Slice(G, "
       "{6}, {12}, {0})); axis=1)"},
      {"two groups as one with zeros", image, "Conv(X, G; group=2)",
       "Conv(X, Concat(Pad(Slice(G, {0}, {6}, {0}), {0, 0, 0, 0, 0, 4, 0, 0}), Pad(Slice(G, {6}, {12}, {0}), "
       "{0, 4, 0, 0, 0, 0, 0, 0}); axis=0))"},
      {"one filter for all channels", "X: b, 8, y, x; w: 1, 1, 3, 3",
       "Conv(X, Expand(w, {8, 1, 3, 3}); group=8, pads=[1, 1, 1, 1])",
       "Reshape(Conv(Reshape(X, {b*8, 1, y, x}), w" + padded + ", {b, 8, y, x})"},
      {"a branch without a filter", image + "; H: 8, 8, 3, 3; I: 8, 8",
       "Add(Conv(X, H" + padded + ", Mul(X, Reshape(g, {8, 1, 1})))",
       "Conv(X, Add(H, Pad(Reshape(Mul(EyeLike(I), g), {8, 8, 1, 1}), {0, 0, 1, 1, 0, 0, 1, 1}))" + padded},
      // Filters of filters.
      {"a filter of a column and a row", "X: b, 1, y, x; u: 1, 1, 3, 1; w: 1, 1, 1, 3",
       "Conv(X, Mul(u, w)" + padded, "Conv(Conv(X, u; pads=[1, 0, 1, 0]), w; pads=[0, 1, 0, 1])"},
      {"two filters as a larger one", "X: b, 1, y + 4, x + 4; F: 1, 1, 3, 3; G: 1, 1, 3, 3",
       "Conv(Conv(X, F), G)", "Conv(X, ConvTranspose(F, G))"},
      {"a filter with holes as one with zeros", "X: b, 8, y, x; F: 12, 8, 2, 2",
       "Conv(X, F; dilations=[2, 2])",
       "Conv(X, Slice(Reshape(Pad(Reshape(F, {12, 8, 2, 1, 2, 1}), {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1}), "
       "{12, "
       "8, 4, 4}), {0, 0}, {3, 3}, {2, 3}))"},
      {"holes as images apart", "X: b, c, 2*n + 4; F: m, c, 3", "Conv(X, F; dilations=[2])",
       "Reshape(Transpose(Reshape(Conv(Reshape(Transpose(Reshape(X, {b, c, n + 2, 2}); perm=[0, 3, 1, 2]), "
       "{2*b, c, n + 2}), F), {b, 2, m, n}); perm=[0, 2, 3, 1]), {b, m, 2*n})"},
      // Products.
      {"a convolution as shifted products", line, "Conv(X, F)",
       "Add(Add(" + shifted_product(0) + ", " + shifted_product(1) + "), " + shifted_product(2) + ")"},
      {"a convolution as a product with its windows", "X: b, c, n + 2; F: 12, c, 3", "Conv(X, F)",
       "MatMul(Reshape(Transpose(F; perm=[0, 2, 1]), {12, 3*c}), Concat(" + window("X", 0) + ", " +
           window("X", 1) + ", " + window("X", 2) + "; axis=1))"},
      {"patches as a product", "X: b, 3, 4*y, 4*x; F: 16, 3, 4, 4; c: 16", "Conv(X, F, c; strides=[4, 4])",
       "Transpose(Add(MatMul(Reshape(Transpose(Reshape(X, {b, 3, y, 4, x, 4}); perm=[0, 2, 4, 1, 3, 5]), {b, "
       "y, "
       "x, 48}), Transpose(Reshape(F, {16, 48}); perm=[1, 0])), c); perm=[0, 3, 1, 2])"},
      {"a causal depthwise convolution by scales", "X: b, 8, n; D: 8, 1, 3",
       "Conv(X, D; group=8, pads=[2, 0])",
       "Add(Add(" + shifted_scale(0) + ", " + shifted_scale(1) + "), " + shifted_scale(2) + ")"},
      {"a causal convolution continued", "X: b, 8, n + 2; Y: b, 8, m; D: 8, 1, 3",
       "Slice(Conv(Concat(X, Y; axis=2), D; group=8, pads=[2, 0]), {n + 2}, {n + m + 2}, {2})",
       "Conv(Concat(Slice(X, {n}, {n + 2}, {2}), Y; axis=2), D; group=8)"},
      {"a gate of channels from their means", image, "Sigmoid(Conv(GlobalAveragePool(X), P, c))",
       "Reshape(Sigmoid(Add(MatMul(ReduceMean(X; axes=[2, 3], keepdims=0), Transpose(Reshape(P, {12, 8}); "
       "perm=[1, 0])), c)), {b, 12, 1, 1})"},
      {"the mean of scaled channels", image, "Conv(GlobalAveragePool(Mul(X, Reshape(g, {8, 1, 1}))), P)",
       "ReduceMean(Conv(X, Mul(P, Reshape(g, {8, 1, 1}))); axes=[2, 3])"},
      {"BatchNormalization before a convolution", image,
       "Conv(BatchNormalization(X, g, a, e, v; epsilon=0.5), F)",
       "Conv(X, Mul(F, Reshape(" + factor + ", {8, 1, 1})), ReduceSum(Mul(F, Reshape(" + shift +
           ", {8, 1, 1})), {1, 2, 3}; keepdims=0))"},
      // Strides and transposed convolutions.
      {"a strided convolution of blocks", "X: b, 8, 2*y, 2*x; F: 12, 8, 2, 2", "Conv(X, F; strides=[2, 2])",
       "Conv(SpaceToDepth(X; blocksize=2), Reshape(Transpose(F; perm=[0, 2, 3, 1]), {12, 32, 1, 1}))"},
      {"a transposed convolution as a mirrored one", image, "ConvTranspose(X, T" + padded,
       "Conv(X, Slice(Transpose(T; perm=[1, 0, 2, 3]), {-1, -1}, {-4, -4}, {2, 3}, {-1, -1})" + padded},
      {"a transposed convolution without overlap", "X: b, 8, y, x; T: 8, 3, 2, 2",
       "ConvTranspose(X, T; strides=[2, 2])",
       "DepthToSpace(Conv(X, Reshape(Transpose(Reshape(T, {8, 12}); perm=[1, 0]), {12, 8, 1, 1})); "
       "blocksize=2, mode=CRD)"},
      {"a transposed convolution of what is spread", "X: b, c, n; T: c, 5, 3",
       "ConvTranspose(X, T; strides=[2])",
       "Conv(Reshape(Pad(Unsqueeze(X, {3}), {0, 0, 0, 0, 0, 0, 0, 1}), {b, c, 2*n}), Slice(Transpose(T; "
       "perm=[1, 0, 2]), {-1}, {-4}, {2}, {-1}); pads=[2, 1])"},
      {"pixels repeated by a transposed convolution", "X: b, 8, y, x",
       "ConvTranspose(X, Expand(1.0, {8, 1, 2, 2}); group=8, strides=[2, 2])",
       "Reshape(Expand(Reshape(X, {b, 8, y, 1, x, 1}), {b, 8, y, 2, x, 2}), {b, 8, 2*y, 2*x})"},
      {"a pointwise convolution of repeated pixels", "X: b, 8, y, x; P: 12, 8, 1, 1",
       "Conv(Reshape(Expand(Reshape(X, {b, 8, y, 1, x, 1}), {b, 8, y, 2, x, 2}), {b, 8, 2*y, 2*x}), P)",
       "ConvTranspose(Conv(X, P), Expand(1.0, {12, 1, 2, 2}); group=12, strides=[2, 2])"},
      // Pools.
      {"AveragePool as a depthwise convolution", image, "AveragePool(X; kernel_shape=[2, 2], strides=[2, 2])",
       "Conv(X, Expand(0.25, {8, 1, 2, 2}); group=8, strides=[2, 2])"},
      {"means of means of pixels", "X: b, c, 4*y, 4*x",
       "AveragePool(AveragePool(X; kernel_shape=[2, 2], strides=[2, 2]); kernel_shape=[2, 2], strides=[2, "
       "2])",
       "ReduceMean(Reshape(X, {b, c, y, 4, x, 4}); axes=[3, 5], keepdims=0)"},
      {"maxima of blocks", "X: b, c, 2*y, 2*x", "MaxPool(X; kernel_shape=[2, 2], strides=[2, 2])",
       "ReduceMax(Reshape(X, {b, c, y, 2, x, 2}); axes=[3, 5], keepdims=0)"},
      {"a maximum of padded windows twice", "X: b, c, n",
       "MaxPool(MaxPool(X; kernel_shape=[3], pads=[1, 1]); kernel_shape=[3], pads=[1, 1])",
       "MaxPool(X; kernel_shape=[5], pads=[2, 2])"},
      {"a maximum of columns of maxima of rows", "X: b, c, y + 2, x + 2", "MaxPool(X; kernel_shape=[3, 3])",
       "MaxPool(MaxPool(X; kernel_shape=[3, 1]); kernel_shape=[1, 3])"},
  };
}

}  // namespace axrun::tests
