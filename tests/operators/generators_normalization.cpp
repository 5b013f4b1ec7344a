#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

Case softmax(Random& random, const char* op) {
  Case c;
  const ir::Shape shape =
      random.chance(20) ? ir::Shape{random.integer(1, 3), random.integer(30, 90)} : random.shape(1, 4, 7);
  const auto rank = static_cast<int64_t>(shape.size());
  NodeBuilder(c, op, random.pick({11, 13}))
      .input(random.floats(shape, -5, 5))
      .integer("axis", random.integer(-rank, rank - 1))
      .output();
  return c;
}
Case plain_softmax(Random& random) { return softmax(random, "Softmax"); }
Case log_softmax(Random& random) { return softmax(random, "LogSoftmax"); }

/// A node over the trailing dims from `axis` on.
Case layer(Random& random, const char* op, int version, bool has_bias, bool has_statistics) {
  Case c;
  ir::Shape shape = random.shape(1, 4, 6);
  shape.back() = random.integer(2, 40);
  const auto axis = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
  const ir::Shape inner(shape.begin() + axis, shape.end());
  NodeBuilder node(c, op, version);
  node.input(random.floats(shape, -2, 3)).input(random.floats(inner), random.chance(50));
  if (has_bias && random.chance(70)) node.input(random.floats(inner));
  node.integer("axis", random.chance(50) ? axis : axis - static_cast<int64_t>(shape.size()));
  if (random.chance(50)) node.real("epsilon", 1e-3);
  node.output();
  if (has_statistics && random.chance(30)) node.output();
  if (has_statistics && c.nodes[0].outputs.size() == 2 && random.chance(50)) node.output();
  return c;
}
Case layer_normalization(Random& random) { return layer(random, "LayerNormalization", 17, true, true); }
Case rms_normalization(Random& random) { return layer(random, "RMSNormalization", 23, false, false); }
Case simplified(Random& random) { return layer(random, "SimplifiedLayerNormalization", 1, false, false); }

Case instance_normalization(Random& random) {
  Case c;
  ir::Shape shape = random.shape(3, 5, 5);
  shape[2] = random.integer(3, 12);
  NodeBuilder(c, "InstanceNormalization", 6)
      .input(random.floats(shape, -2, 3))
      .input(random.floats({shape[1]}))
      .input(random.floats({shape[1]}))
      .real("epsilon", 1e-3)
      .output();
  return c;
}

Case group_normalization(Random& random) {
  Case c;
  const int64_t groups = random.integer(1, 4), channels = groups * random.integer(1, 4);
  ir::Shape shape = random.shape(3, 5, 5);
  shape[1] = channels;
  shape[2] = random.integer(3, 12);
  const int version = random.pick({18, 21});
  const ir::Shape parameters = {version == 18 ? groups : channels};
  NodeBuilder(c, "GroupNormalization", version)
      .input(random.floats(shape, -2, 3))
      .input(random.floats(parameters))
      .input(random.floats(parameters))
      .integer("num_groups", groups)
      .real("epsilon", 1e-3)
      .output();
  return c;
}

Case batch_normalization(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(2, 5, 6);
  const bool constant = random.chance(85);
  NodeBuilder node(c, "BatchNormalization", random.pick({9, 15}));
  node.input(random.floats(shape, -2, 2))
      .input(random.floats({shape[1]}), constant)
      .input(random.floats({shape[1]}), constant)
      .input(random.floats({shape[1]}), constant)
      .input(random.floats({shape[1]}, 0.2, 2), constant);
  if (random.chance(50)) node.real("epsilon", 1e-2);
  node.output();
  return c;
}

Case image_scaler(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(4, 4, 7);
  std::vector<double> bias;
  for (int64_t k = 0; k < shape[1]; ++k) bias.push_back(random.real());
  NodeBuilder(c, "ImageScaler", 1)
      .input(random.floats(shape))
      .real("scale", random.real(0.5, 2))
      .reals("bias", bias)
      .output();
  return c;
}

}  // namespace

void normalization_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "Softmax", plain_softmax});
  table.push_back({"", "LogSoftmax", log_softmax});
  table.push_back({"", "LayerNormalization", layer_normalization});
  table.push_back({"", "RMSNormalization", rms_normalization});
  table.push_back({"", "SimplifiedLayerNormalization", simplified});
  table.push_back({"", "InstanceNormalization", instance_normalization});
  table.push_back({"", "GroupNormalization", group_normalization});
  table.push_back({"", "BatchNormalization", batch_normalization});
  table.push_back({"", "ImageScaler", image_scaler});
}

}  // namespace axrun::runtime
