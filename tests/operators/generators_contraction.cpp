#include "tests/operators/epilogue_nodes.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

int64_t extent(Random& random) {
  return random.chance(20) ? 1 : random.integer(1, random.chance(30) ? 40 : 9);
}

/// Batch dims that broadcast to `result`.
ir::Shape broadcast_part(Random& random, const ir::Shape& result) {
  ir::Shape part(result.begin() + random.integer(0, static_cast<int64_t>(result.size())), result.end());
  for (int64_t& dim : part) {
    if (random.chance(25)) dim = 1;
  }
  return part;
}

Case matmul(Random& random) {
  Case c;
  const int64_t m = extent(random), n = extent(random), k = extent(random);
  const ir::Shape batch = random.shape(0, 3, 3);
  ir::Shape a = broadcast_part(random, batch), b = broadcast_part(random, batch);
  const bool plain_b = random.chance(50);
  if (plain_b) b.clear();
  ir::Shape y = batch;
  const bool a_vector = random.chance(10), b_vector = random.chance(10);
  if (a_vector) {
    a = {k};
  } else {
    a.insert(a.end(), {m, k});
  }
  if (b_vector) {
    b = {k};
  } else {
    b.insert(b.end(), {k, n});
  }
  NodeBuilder(c, "MatMul", 13).input(random.floats(a)).input(random.floats(b), random.chance(60)).output();
  // An epilogue's shape is known where A carries every batch dim.
  if (!a_vector && !b_vector && random.chance(50)) {
    ir::Shape shape = a;
    if (plain_b) {
      shape.back() = n;
      append_epilogue(c, random, shape, shape.size() - 1);
    }
  }
  return c;
}

void add_gemm_inputs(NodeBuilder& node, Random& random, int64_t m, int64_t n, int64_t k,
                     bool needs_c = false) {
  const bool transpose_a = random.chance(30), transpose_b = random.chance(40);
  node.input(random.floats(transpose_a ? ir::Shape{k, m} : ir::Shape{m, k}));
  node.input(random.floats(transpose_b ? ir::Shape{n, k} : ir::Shape{k, n}), random.chance(70));
  if (needs_c || random.chance(70)) {
    const ir::Shape shape = random.pick<ir::Shape>({{n}, {1, n}, {m, 1}, {m, n}, {}, {1}});
    node.input(random.floats(shape), random.chance(60));
  }
  if (transpose_a) node.integer("transA", 1);
  if (transpose_b) node.integer("transB", 1);
  if (random.chance(30)) node.real("alpha", random.real(0.5, 2));
  if (random.chance(30)) node.real("beta", random.pick({0.0, 0.5, 1.5}));
}

Case gemm(Random& random) {
  Case c;
  const int64_t m = extent(random), n = extent(random), k = extent(random);
  const int version = random.pick({7, 11, 13});
  NodeBuilder node(c, "Gemm", version);
  add_gemm_inputs(node, random, m, n, k, version < 11);
  node.output();
  if (random.chance(50)) append_epilogue(c, random, {m, n}, 1);
  return c;
}

Case fused_gemm(Random& random) {
  Case c;
  NodeBuilder node(c, "FusedGemm", 1, microsoft);
  add_gemm_inputs(node, random, extent(random), extent(random), extent(random));
  const auto activation = random.pick<const char*>({"Relu", "Sigmoid", "Tanh", "LeakyRelu"});
  node.text("activation", activation);
  if (std::string_view(activation) == "LeakyRelu" && random.chance(50)) node.real("activation_alpha", 0.3);
  node.output();
  return c;
}

Case fused_matmul(Random& random) {
  Case c;
  const int64_t m = extent(random), n = extent(random), k = extent(random);
  const ir::Shape batch = random.shape(0, 2, 3);
  const bool transpose_a = random.chance(40), transpose_b = random.chance(40);
  const bool batch_a = batch.size() > 0 && random.chance(30), batch_b = batch.size() > 0 && random.chance(30);
  const auto shape = [&](bool transpose, bool batch_last, int64_t rows, int64_t columns) {
    if (transpose) std::swap(rows, columns);
    ir::Shape dims = batch;
    if (batch_last) {
      dims.insert(dims.begin(), rows);
      dims.push_back(columns);
    } else {
      dims.insert(dims.end(), {rows, columns});
    }
    return dims;
  };
  NodeBuilder node(c, "FusedMatMul", 1, microsoft);
  node.input(random.floats(shape(transpose_a, batch_a, m, k)));
  node.input(random.floats(shape(transpose_b, batch_b, k, n)), random.chance(50));
  node.integer("transA", transpose_a).integer("transB", transpose_b);
  node.integer("transBatchA", batch_a).integer("transBatchB", batch_b);
  if (random.chance(50)) node.real("alpha", random.real(0.5, 2));
  node.output();
  return c;
}

/// Two operands whose letters are shared out among rows, columns, sum and batch.
Case einsum(Random& random) {
  Case c;
  std::string left, right, result;
  int64_t extents[26] = {};
  const int letters = static_cast<int>(random.integer(2, 6));
  for (int k = 0; k < letters; ++k) {
    const char letter = static_cast<char>('a' + k);
    extents[k] = random.integer(1, 7);
    switch (random.integer(0, 3)) {
      case 0:
        left += letter;
        result += letter;
        break;
      case 1:
        right += letter;
        result += letter;
        break;
      case 2:
        left += letter;
        right += letter;
        break;
      default:
        left += letter;
        right += letter;
        result += letter;
        break;
    }
  }
  const auto shuffled = [&](const std::string& text) {
    std::string order;
    for (int64_t k : random.permutation(static_cast<int64_t>(text.size())))
      order += text[static_cast<size_t>(k)];
    return order;
  };
  left = shuffled(left);
  right = shuffled(right);
  if (random.chance(40)) result = shuffled(result);
  const auto shape = [&](const std::string& text) {
    ir::Shape dims;
    for (char letter : text) dims.push_back(extents[letter - 'a']);
    return dims;
  };
  NodeBuilder(c, "Einsum", 12)
      .input(random.floats(shape(left)))
      .input(random.floats(shape(right)))
      .text("equation", left + "," + right + "->" + result)
      .output();
  return c;
}

}  // namespace

void contraction_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "MatMul", matmul});
  table.push_back({"", "Gemm", gemm});
  table.push_back({microsoft, "FusedGemm", fused_gemm});
  table.push_back({microsoft, "FusedMatMul", fused_matmul});
  table.push_back({"", "Einsum", einsum});
}

}  // namespace axrun::runtime
