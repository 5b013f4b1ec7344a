#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

/// Reductions along some axes, given as an attribute or as an input, with or without keeping the dims.
template <const char* op>
Case reduction(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 5, 6);
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> axes;
  if (random.chance(70)) {  // a run of neighbours
    const int64_t first = random.integer(0, rank - 1), last = random.integer(first, rank - 1);
    for (int64_t a = first; a <= last; ++a) axes.push_back(random.chance(20) ? a - rank : a);
  } else {
    for (int64_t a = 0; a < rank; ++a) {
      if (random.chance(50)) axes.push_back(a);
    }
  }
  const std::string_view name = op;
  const bool by_attribute = random.chance(50);
  const bool sum = name == "ReduceSum";
  NodeBuilder node(c, op, by_attribute ? 11 : 18);
  node.input(random.floats(shape, name == "ReduceProd" ? 0.5 : -1, name == "ReduceProd" ? 1.5 : 1));
  if (!axes.empty() && by_attribute) node.integers("axes", axes);
  if (!axes.empty() && !by_attribute) node.constant(ir::Tensor::from_i64(axes));
  if (random.chance(50)) node.integer("keepdims", random.integer(0, 1));
  if (!by_attribute && sum && random.chance(10)) node.integer("noop_with_empty_axes", 1);
  node.output();
  return c;
}

constexpr char sum[] = "ReduceSum", mean[] = "ReduceMean", max[] = "ReduceMax", min[] = "ReduceMin",
               product[] = "ReduceProd", sum_square[] = "ReduceSumSquare", l1[] = "ReduceL1",
               l2[] = "ReduceL2";

}  // namespace

void reduction_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", sum, reduction<sum>});
  table.push_back({"", mean, reduction<mean>});
  table.push_back({"", max, reduction<max>});
  table.push_back({"", min, reduction<min>});
  table.push_back({"", product, reduction<product>});
  table.push_back({"", sum_square, reduction<sum_square>});
  table.push_back({"", l1, reduction<l1>});
  table.push_back({"", l2, reduction<l2>});
}

}  // namespace axrun::runtime
