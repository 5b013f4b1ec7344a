// Operators that only move elements, and those that make them from nothing.
#include "ir/operator.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

ElementType any_type(Random& random) {
  return random.pick({ElementType::f32, ElementType::f32, ElementType::f64, ElementType::i32,
                      ElementType::i64, ElementType::u8, ElementType::i8, ElementType::boolean,
                      ElementType::f16, ElementType::u16});
}

ir::Tensor any_tensor(Random& random, const ir::Shape& shape) {
  const ElementType type = any_type(random);
  return random.tensor(type, shape, ir::is_unsigned_integer(type) ? 0 : -50, 50);
}

Case transpose(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 5, random.chance(20) ? 20 : 5);
  NodeBuilder(c, "Transpose", 13)
      .input(any_tensor(random, shape))
      .integers("perm", random.permutation(static_cast<int64_t>(shape.size())))
      .output();
  return c;
}

Case slice(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 8);
  std::vector<int64_t> starts, ends, steps, axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (random.chance(40)) continue;
    const int64_t step = random.pick<int64_t>({1, 1, 2, -1, -2, 3});
    const int64_t from = random.integer(0, shape[d] - 1), to = random.integer(0, shape[d]);
    axes.push_back(static_cast<int64_t>(d));
    starts.push_back(from);
    ends.push_back(step > 0 ? std::max(to, from + 1) : std::min(to, from) - 1 - shape[d]);
    steps.push_back(step);
  }
  if (axes.empty()) {
    axes = {0};
    starts = {0};
    ends = {shape[0]};
    steps = {1};
  }
  NodeBuilder(c, "Slice", 13)
      .input(any_tensor(random, shape))
      .constant(ir::Tensor::from_i64(starts))
      .constant(ir::Tensor::from_i64(ends))
      .constant(ir::Tensor::from_i64(axes))
      .constant(ir::Tensor::from_i64(steps))
      .output();
  return c;
}

Case expand(Random& random) {
  Case c;
  const ir::Shape result = random.shape(1, 4, 6);
  ir::Shape shape(result.begin() + random.integer(0, static_cast<int64_t>(result.size()) - 1), result.end());
  for (int64_t& dim : shape) {
    if (random.chance(40)) dim = 1;
  }
  NodeBuilder(c, "Expand", 13)
      .input(any_tensor(random, shape))
      .constant(ir::Tensor::from_i64(result))
      .output();
  return c;
}

Case split(Random& random) {
  Case c;
  ir::Shape shape = random.shape(1, 4, 6, 2);
  const int64_t axis = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
  std::vector<int64_t> parts;
  const int64_t count = random.integer(1, 3);
  int64_t total = 0;
  for (int64_t k = 0; k < count; ++k) total += parts.emplace_back(random.integer(1, 4));
  shape[static_cast<size_t>(axis)] = total;
  NodeBuilder node(c, "Split", 13);
  node.input(any_tensor(random, shape)).constant(ir::Tensor::from_i64(parts)).integer("axis", axis);
  for (int64_t k = 0; k < count; ++k) node.output();
  return c;
}

Case tile(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 3, 4);
  std::vector<int64_t> repeats;
  for (size_t d = 0; d < shape.size(); ++d) repeats.push_back(random.integer(1, 3));
  NodeBuilder(c, "Tile", 13)
      .input(any_tensor(random, shape))
      .constant(ir::Tensor::from_i64(repeats))
      .output();
  return c;
}

Case depth_to_space(Random& random) {
  Case c;
  const int64_t block = random.integer(1, 3);
  const ir::Shape shape = {random.integer(1, 2), block * block * random.integer(1, 3), random.integer(1, 4),
                           random.integer(1, 4)};
  NodeBuilder(c, "DepthToSpace", 13)
      .input(random.floats(shape))
      .integer("blocksize", block)
      .text("mode", random.pick<const char*>({"DCR", "CRD"}))
      .output();
  return c;
}

Case concat(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5);
  const int64_t axis = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
  const ElementType type = any_type(random);
  NodeBuilder node(c, "Concat", 13);
  node.integer("axis", random.chance(30) ? axis - static_cast<int64_t>(shape.size()) : axis);
  const int64_t parts = random.integer(1, 4);
  for (int64_t k = 0; k < parts; ++k) {
    ir::Shape part = shape;
    part[static_cast<size_t>(axis)] = random.integer(k == 0 ? 1 : 0, 4);
    node.input(random.tensor(type, part, 0, 50), random.chance(20));
  }
  node.output();
  return c;
}

/// A buffer that is longer than what is in it, by its shape alone, along some axis.
Case in_buffer(Random& random, bool appends) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5);
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(shape.size()) - 1));
  const ElementType type = any_type(random);
  const auto along = [&](int64_t size) {
    ir::Shape other = shape;
    other[axis] = size;
    return random.tensor(type, other, 0, 50);
  };
  const int64_t past = random.integer(appends ? 0 : 1, 4), added = random.integer(0, 3);
  NodeBuilder node(c, appends ? "Append" : "Prefix", 1, ir::state_domain);
  node.integer("axis", static_cast<int64_t>(axis)).input(along(past + added + random.integer(1, 3)));
  node.input(along(past)).input(along(added)).output();
  return c;
}

Case pad(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 5, 2);
  const auto mode = random.pick<const char*>({"constant", "constant", "reflect", "edge"});
  const bool constant = std::string_view(mode) == "constant";
  std::vector<int64_t> pads(2 * shape.size());
  for (int64_t& p : pads) p = random.chance(50) ? 0 : random.integer(constant ? -1 : 0, constant ? 3 : 1);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] + pads[d] + pads[d + shape.size()] < 1) pads[d] = 1;
  }
  NodeBuilder node(c, "Pad", 13);
  const ElementType type = any_type(random);
  node.input(random.tensor(type, shape, 0, 50)).constant(ir::Tensor::from_i64(pads)).text("mode", mode);
  if (constant && random.chance(50)) node.input(random.tensor(type, {}, 1, 9), random.chance(50));
  node.output();
  return c;
}

Case gather(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 4, 6);
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t axis = random.integer(0, rank - 1);
  const int64_t size = shape[static_cast<size_t>(axis)];
  const ElementType type = random.pick({ElementType::i64, ElementType::i32});
  NodeBuilder(c, "Gather", 13)
      .input(any_tensor(random, shape))
      .input(random.tensor(type, random.shape(0, 2, 5), static_cast<double>(-size),
                           static_cast<double>(size - 1)),
             random.chance(30))
      .integer("axis", random.chance(30) ? axis - rank : axis)
      .output();
  return c;
}

Case constant_of_shape(Random& random) {
  Case c;
  const ElementType type = any_type(random);
  NodeBuilder node(c, "ConstantOfShape", 9);
  node.constant(ir::Tensor::from_i64(random.shape(1, 4, 6)));
  if (random.chance(80)) node.tensor("value", random.tensor(type, {1}, 1, 50));
  node.output();
  return c;
}

Case range(Random& random) {
  Case c;
  const ElementType type = random.pick({ElementType::i64, ElementType::i32, ElementType::i16});
  const auto number = [&](int64_t value) {
    ir::Tensor tensor = ir::Tensor::allocate(type, {});
    tensor.set_int(0, value);
    return tensor;
  };
  const int64_t start = random.integer(-20, 20), delta = random.pick<int64_t>({-7, -1, 1, 1, 3});
  const int64_t limit = start + delta * random.integer(0, 40) - random.integer(0, 1);
  NodeBuilder(c, "Range", 11)
      .constant(number(start))
      .constant(number(limit))
      .constant(number(delta))
      .output();
  return c;
}

}  // namespace

void movement_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "Transpose", transpose});
  table.push_back({"", "Slice", slice});
  table.push_back({"", "Expand", expand});
  table.push_back({"", "Split", split});
  table.push_back({"", "Tile", tile});
  table.push_back({"", "DepthToSpace", depth_to_space});
  table.push_back({"", "Concat", concat});
  table.push_back({ir::state_domain, "Append", [](Random& random) { return in_buffer(random, true); }});
  table.push_back({ir::state_domain, "Prefix", [](Random& random) { return in_buffer(random, false); }});
  table.push_back({"", "Pad", pad});
  table.push_back({"", "Gather", gather});
  table.push_back({"", "ConstantOfShape", constant_of_shape});
  table.push_back({"", "Range", range});
}

}  // namespace axrun::runtime
