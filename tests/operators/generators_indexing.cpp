#include <cmath>

#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

ElementType index_type(Random& random) { return random.pick({ElementType::i64, ElementType::i32}); }

/// Indices into an axis of `size` elements, some counted from the end.
ir::Tensor indices(Random& random, const ir::Shape& shape, int64_t size) {
  return random.tensor(index_type(random), shape, static_cast<double>(-size), static_cast<double>(size - 1));
}

ElementType data_type(Random& random) {
  return random.pick({ElementType::f32, ElementType::f32, ElementType::f64, ElementType::i32,
                      ElementType::i64, ElementType::u8, ElementType::boolean, ElementType::f16});
}

/// A shape whose dims fit into those of x, with any extent on the axis.
ir::Shape element_shape(Random& random, const ir::Shape& x, size_t axis) {
  ir::Shape shape = x;
  for (size_t d = 0; d < shape.size(); ++d) shape[d] = random.integer(1, d == axis ? 6 : x[d]);
  return shape;
}

Case gather_elements(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 6);
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(x.size()) - 1));
  NodeBuilder(c, "GatherElements", 13)
      .input(random.tensor(data_type(random), x, 0, 50))
      .input(indices(random, element_shape(random, x, axis), x[axis]))
      .integer("axis", static_cast<int64_t>(axis))
      .output();
  return c;
}

/// Index tuples for the dims first .. first + length - 1 of x, after `outer` dims.
ir::Tensor tuples(Random& random, ir::Shape outer, const ir::Shape& x, size_t first, int64_t length) {
  outer.push_back(length);
  ir::Tensor result = ir::Tensor::allocate(index_type(random), outer);
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t size = x[first + static_cast<size_t>(i % length)];
    result.set_int(i, random.integer(-size, size - 1));
  }
  return result;
}

Case gather_nd(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 5);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t batch = random.chance(60) ? 0 : random.integer(0, rank - 1);
  const int64_t length = random.integer(1, rank - batch);
  ir::Shape outer(x.begin(), x.begin() + batch);
  for (int64_t more = random.integer(batch > 0 ? 0 : 1, 2); more > 0; --more)
    outer.push_back(random.integer(1, 5));
  NodeBuilder(c, "GatherND", 13)
      .input(random.tensor(data_type(random), x, 0, 50))
      .input(tuples(random, outer, x, static_cast<size_t>(batch), length))
      .integer("batch_dims", batch)
      .output();
  return c;
}

Case one_hot(Random& random) {
  Case c;
  const ElementType type = random.pick({ElementType::i64, ElementType::i32, ElementType::f32});
  const int64_t depth = random.integer(1, 7);
  const ir::Shape shape = random.shape(0, 3, 5);
  NodeBuilder(c, "OneHot", 11)
      .input(random.tensor(type, shape, static_cast<double>(-depth - 2), static_cast<double>(depth + 2)))
      .constant(ir::Tensor::from_i64({depth}).reshaped(random.chance(50) ? ir::Shape{} : ir::Shape{1}))
      .input(random.tensor(data_type(random), {2}, 0, 9))
      .integer("axis", random.integer(-1, static_cast<int64_t>(shape.size())))
      .output();
  return c;
}

/// "none" for most; combinations for numbers.
void set_reduction(NodeBuilder& node, Random& random, ElementType type) {
  const bool number = type == ElementType::f32 || type == ElementType::f64 || type == ElementType::i32 ||
                      type == ElementType::i64;
  if (number && random.chance(50))
    node.text("reduction", random.pick<const char*>({"add", "mul", "min", "max"}));
}

template <bool old_name>
Case scatter_elements(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 6);
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(x.size()) - 1));
  const ElementType type = data_type(random);
  const ir::Shape shape = element_shape(random, x, axis);
  NodeBuilder node(c, old_name ? "Scatter" : "ScatterElements", old_name ? 9 : 18);
  node.input(random.tensor(type, x, 0, 3))
      .input(indices(random, shape, x[axis]))
      .input(random.tensor(type, shape, 0, 3))
      .integer("axis", static_cast<int64_t>(axis));
  if (!old_name) set_reduction(node, random, type);
  node.output();
  return c;
}

Case scatter_nd(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 5);
  const int64_t length = random.integer(1, static_cast<int64_t>(x.size()));
  const ElementType type = data_type(random);
  const ir::Shape outer = random.shape(1, 2, 5);
  ir::Shape updates = outer;
  updates.insert(updates.end(), x.begin() + length, x.end());
  NodeBuilder node(c, "ScatterND", 18);
  node.input(random.tensor(type, x, 0, 3))
      .input(tuples(random, outer, x, 0, length), random.chance(50))
      .input(random.tensor(type, updates, 0, 3));
  set_reduction(node, random, type);
  node.output();
  return c;
}

ElementType number_type(Random& random) {
  return random.pick(
      {ElementType::f32, ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i64});
}

/// Few distinct values, so that equal ones meet; sometimes NaN.
ir::Tensor with_ties(Random& random, const ir::Shape& shape) {
  const ElementType type = number_type(random);
  ir::Tensor x = random.tensor(type, shape, -4, 4);
  if (ir::is_float(type) && random.chance(60)) {
    for (int64_t i = 0; i < x.size(); ++i) x.set_real(i, static_cast<double>(random.integer(-3, 3)));
  }
  if (ir::is_float(type) && random.chance(15)) x.set_real(random.integer(0, x.size() - 1), std::nan(""));
  return x;
}

Case top_k(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 3, 12);
  const int64_t axis = random.integer(0, static_cast<int64_t>(x.size()) - 1);
  NodeBuilder node(c, "TopK", 11);
  node.input(with_ties(random, x))
      .constant(ir::Tensor::from_i64({random.integer(1, x[static_cast<size_t>(axis)])}))
      .integer("axis", axis)
      .integer("largest", random.integer(0, 1));
  node.output();
  node.output();
  return c;
}

Case arg(Random& random, const char* op) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 8);
  NodeBuilder(c, op, 13)
      .input(with_ties(random, x))
      .integer("axis", random.integer(-static_cast<int64_t>(x.size()), static_cast<int64_t>(x.size()) - 1))
      .integer("keepdims", random.integer(0, 1))
      .integer("select_last_index", random.integer(0, 1))
      .output();
  return c;
}
Case arg_max(Random& random) { return arg(random, "ArgMax"); }
Case arg_min(Random& random) { return arg(random, "ArgMin"); }

Case cumulative_sum(Random& random) {
  Case c;
  const ir::Shape x = random.shape(1, 4, 8);
  const int64_t axis = random.integer(-static_cast<int64_t>(x.size()), static_cast<int64_t>(x.size()) - 1);
  NodeBuilder(c, "CumSum", 14)
      .input(random.tensor(number_type(random), x, -9, 9))
      .constant(ir::Tensor::from_i64({axis}).reshaped({}))
      .integer("exclusive", random.integer(0, 1))
      .integer("reverse", random.integer(0, 1))
      .output();
  return c;
}

Case reverse_sequence(Random& random) {
  Case c;
  const ir::Shape x = random.shape(2, 5, 6);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t time = random.chance(60) ? random.integer(0, 1) : random.integer(0, rank - 1);
  const int64_t batch = (time + (random.chance(60) ? rank - 1 : random.integer(1, rank - 1))) % rank;
  const int64_t batches = x[static_cast<size_t>(batch)];
  NodeBuilder(c, "ReverseSequence", 10)
      .input(random.tensor(data_type(random), x, 0, 50))
      .input(
          random.tensor(index_type(random), {batches}, -1, static_cast<double>(x[static_cast<size_t>(time)])))
      .integer("time_axis", time)
      .integer("batch_axis", random.chance(20) ? batch - rank : batch)
      .output();
  return c;
}

}  // namespace

void indexing_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "GatherElements", gather_elements});
  table.push_back({"", "GatherND", gather_nd});
  table.push_back({"", "OneHot", one_hot});
  table.push_back({"", "Scatter", scatter_elements<true>});
  table.push_back({"", "ScatterElements", scatter_elements<false>});
  table.push_back({"", "ScatterND", scatter_nd});
  table.push_back({"", "TopK", top_k});
  table.push_back({"", "ArgMax", arg_max});
  table.push_back({"", "ArgMin", arg_min});
  table.push_back({"", "CumSum", cumulative_sum});
  table.push_back({"", "ReverseSequence", reverse_sequence});
}

}  // namespace axrun::runtime
