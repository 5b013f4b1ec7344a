// Fourier transforms.
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

ir::Tensor one(Random& random, int64_t value, const ir::Shape& shape = {}) {
  const auto number = static_cast<double>(value);
  return random.tensor(ir::ElementType::i64, shape, number, number);
}

Case dft(Random& random) {
  Case c;
  const int version = random.pick({17, 20});
  ir::Shape shape = random.shape(1, 3, 9);
  const auto axis = static_cast<size_t>(random.integer(0, static_cast<int64_t>(shape.size()) - 1));
  const bool inverse = random.chance(50), onesided = random.chance(40);
  const bool to_real = onesided && inverse;
  shape[axis] = random.integer(to_real ? 2 : 1, 33);
  const bool complex = onesided ? inverse : random.chance(50);
  shape.push_back(complex ? 2 : 1);
  const int64_t given = random.chance(50) ? static_cast<int64_t>(axis)
                                          : static_cast<int64_t>(axis) - static_cast<int64_t>(shape.size());
  NodeBuilder node(c, "DFT", version);
  node.input(random.floats(shape));
  if (random.chance(50))
    node.constant(one(random, random.integer(to_real ? 2 : 1, 40)));
  else
    node.absent();
  if (version >= 20)
    node.constant(one(random, given));
  else
    node.integer("axis", given);
  node.integer("inverse", inverse ? 1 : 0).integer("onesided", onesided ? 1 : 0);
  node.output();
  return c;
}

Case stft(Random& random) {
  Case c;
  const int64_t length = random.integer(1, 40), components = random.pick<int64_t>({1, 1, 2});
  ir::Shape shape = {random.integer(1, 3), random.integer(length, 150)};
  if (components == 2 || random.chance(70)) shape.push_back(components);
  const bool window = random.chance(70);
  NodeBuilder node(c, "STFT", 17);
  node.input(random.floats(shape)).constant(one(random, random.integer(1, 30)));
  if (window)
    node.input(random.floats({length}), random.chance(50));
  else
    node.absent();
  if (!window || random.chance(60)) node.constant(one(random, length));
  node.integer("onesided", random.chance(60) ? 1 : 0);
  node.output();
  return c;
}

}  // namespace

void fourier_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "DFT", dft});
  table.push_back({"", "STFT", stft});
}

}  // namespace axrun::runtime
