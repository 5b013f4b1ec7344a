#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

ir::Tensor bytes(Random& random, const ir::Shape& shape) {
  return random.tensor(ElementType::u8, shape, 0, 255);
}

Case matmul_n_bits(Random& random) {
  Case c;
  const int64_t bits = random.pick({4, 4, 8, 2}), block = random.pick({16, 32, 32, 64, 128});
  const int64_t m = random.pick({1, 1, 2, 3, 4, 5, 8, 9, 33}),
                n = random.integer(1, random.chance(30) ? 70 : 9);
  const int64_t k = random.chance(30) ? block * random.integer(1, 5) : random.integer(1, 300);
  const int64_t blocks = divide_up(k, block);
  const bool constant = random.chance(60), flat = random.chance(50);
  NodeBuilder node(c, "MatMulNBits", 1, microsoft);
  node.integer("K", k).integer("N", n).integer("bits", bits).integer("block_size", block);
  ir::Shape a = {m, k};
  if (m == 1 && random.chance(20)) a.erase(a.begin());
  if (random.chance(50)) a.insert(a.begin(), random.integer(1, 3));
  node.input(random.floats(a)).input(bytes(random, {n, blocks, block * bits / 8}), constant);
  // Weights around 1, as all that is drawn: differences are measured by it.
  const double unit = 1.0 / static_cast<double>(1 << (bits - 1));
  node.input(random.floats(flat ? ir::Shape{n * blocks} : ir::Shape{n, blocks}, 0.03 * unit, unit), constant);
  if (random.chance(60)) {
    const bool packed = random.chance(70);
    const int64_t width = packed ? divide_up(blocks * bits, 8) : blocks;
    const ir::Shape shape = flat ? ir::Shape{n * width} : ir::Shape{n, width};
    node.input(packed ? bytes(random, shape) : random.floats(shape, 0, static_cast<double>((1 << bits) - 1)),
               constant);
  } else {
    node.absent();
  }
  node.absent();
  if (random.chance(40)) node.input(random.floats({n}, -5, 5), constant);
  node.output();
  return c;
}

Case gather_block_quantized(Random& random) {
  Case c;
  const ElementType type = random.pick({ElementType::u8, ElementType::u8, ElementType::u4, ElementType::i4});
  const int64_t bits = type == ElementType::u8 ? random.pick({4, 4, 8, 2}) : 4;
  const int64_t per_byte = type == ElementType::u8 ? 8 / bits : 1;
  ir::Shape data = random.shape(2, 4, 5);
  const auto last = static_cast<int64_t>(data.size()) - 1;
  const int64_t quantize = per_byte > 1 || random.chance(50) ? last : random.integer(0, last);
  const int64_t gather = (quantize + random.integer(1, last)) % (last + 1);
  int64_t& extent = data[static_cast<size_t>(quantize)];
  extent = random.integer(1, 50);
  const int64_t block = random.pick({16, 16, 32});
  ir::Shape scales = data;
  scales[static_cast<size_t>(quantize)] = divide_up(extent * per_byte, block);
  ir::Shape zeros = scales;
  zeros[static_cast<size_t>(quantize)] = divide_up(scales[static_cast<size_t>(quantize)], per_byte);
  const int64_t rows = data[static_cast<size_t>(gather)];
  const auto fields = [&](const ir::Shape& shape) {
    return random.tensor(type, shape, static_cast<double>(ir::integer_min(type)),
                         static_cast<double>(ir::integer_max(type)));
  };
  // Some indices lie outside: their results are zeros.
  const int64_t beyond = random.chance(30) ? 2 : 0;
  NodeBuilder node(c, "GatherBlockQuantized", 1, microsoft);
  node.integer("gather_axis", random.chance(50) ? gather : gather - last - 1)
      .integer("quantize_axis", quantize);
  node.integer("block_size", block);
  if (type == ElementType::u8) node.integer("bits", bits);
  node.input(fields(data), random.chance(70));
  node.input(random.tensor(random.pick({ElementType::i32, ElementType::i64}), random.shape(0, 2, 4),
                           static_cast<double>(-rows - beyond), static_cast<double>(rows - 1 + beyond)));
  node.input(random.floats(scales, 0.01, 0.3), random.chance(70));
  if (random.chance(60)) node.input(fields(zeros), random.chance(70));
  node.output();
  return c;
}

}  // namespace

void block_quantized_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({microsoft, "MatMulNBits", matmul_n_bits});
  table.push_back({microsoft, "GatherBlockQuantized", gather_block_quantized});
}

}  // namespace axrun::runtime
