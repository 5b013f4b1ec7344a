#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

const char* nearest_mode(Random& random) {
  return random.pick<const char*>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}
const char* coordinate_mode(Random& random) {
  return random.pick<const char*>(
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"});
}

/// Some of the last dims of [batch, channels, spatial...] get another size, given as scales or as sizes.
Case resize(Random& random) {
  Case c;
  ir::Shape x = random.shape(3, 4, 3);
  for (size_t d = 2; d < x.size(); ++d) x[d] = random.integer(1, 8);
  const bool by_sizes = random.chance(50);
  ir::Tensor scales = ir::Tensor::allocate(ir::ElementType::f32, {static_cast<int64_t>(x.size())});
  std::vector<int64_t> sizes = x;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool changes = d >= 2 || random.chance(10);
    scales.set_real(static_cast<int64_t>(d), changes ? random.pick({0.5, 1.0, 1.5, 2.0, 2.6, 3.0}) : 1.0);
    // A dimension may not vanish.
    if (static_cast<double>(x[d]) * scales.get_real(static_cast<int64_t>(d)) < 1)
      scales.set_real(static_cast<int64_t>(d), 1);
    if (changes) sizes[d] = random.integer(1, 14);
  }
  NodeBuilder node(c, "Resize", 19);
  const bool nearest = random.chance(40);
  const auto type = nearest && random.chance(30) ? random.pick({ir::ElementType::u8, ir::ElementType::f16})
                                                 : ir::ElementType::f32;
  node.input(random.tensor(type, x, 0, 9));
  const bool crops = !nearest && random.chance(25);
  if (crops) {
    ir::Tensor roi = ir::Tensor::allocate(ir::ElementType::f32, {2 * static_cast<int64_t>(x.size())});
    for (int64_t d = 0; d < static_cast<int64_t>(x.size()); ++d) {
      roi.set_real(d, d < 2 ? 0 : random.real(-0.2, 0.4));
      roi.set_real(d + static_cast<int64_t>(x.size()), d < 2 ? 1 : random.real(0.6, 1.2));
    }
    node.input(roi, random.chance(30));
    node.text("coordinate_transformation_mode", "tf_crop_and_resize")
        .real("extrapolation_value", random.real());
  } else {
    node.absent();
    node.text("coordinate_transformation_mode", coordinate_mode(random));
  }
  if (by_sizes || crops) {
    node.absent().constant(ir::Tensor::from_i64(sizes));
  } else {
    node.constant(scales);
  }
  if (nearest) {
    node.text("mode", "nearest").text("nearest_mode", nearest_mode(random));
  } else {
    node.text("mode", random.chance(60) ? "linear" : "cubic");
    if (random.chance(20)) node.integer("exclude_outside", 1);
    if (random.chance(25) && !crops) node.integer("antialias", 1);
  }
  node.output();
  return c;
}

Case upsample(Random& random) {
  Case c;
  const ir::Shape x = random.shape(4, 4, 5);
  ir::Tensor scales = ir::Tensor::allocate(ir::ElementType::f32, {4});
  for (int64_t d = 0; d < 4; ++d) scales.set_real(d, d < 2 ? 1.0 : random.pick({1.0, 1.5, 2.0, 3.0}));
  NodeBuilder(c, "Upsample", 9)
      .input(random.floats(x))
      .constant(scales)
      .text("mode", random.pick<const char*>({"nearest", "linear"}))
      .output();
  return c;
}

Case grid_sample(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 2);
  const ir::Shape x = {batch, random.integer(1, 3), random.integer(1, 7), random.integer(1, 7)};
  const ir::Shape grid = {batch, random.integer(1, 20), random.integer(1, 20), 2};
  const int version = random.pick({16, 20});
  NodeBuilder(c, "GridSample", version)
      .input(random.floats(x))
      .input(random.floats(grid, -1.6, 1.6))
      .text("mode", random.chance(30) ? "nearest"
                    : version == 16   ? "bilinear"
                                      : "linear")
      .text("padding_mode", random.pick<const char*>({"zeros", "border", "reflection"}))
      .integer("align_corners", random.chance(50))
      .output();
  return c;
}

}  // namespace

void resize_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "Resize", resize});
  table.push_back({"", "Upsample", upsample});
  table.push_back({"", "GridSample", grid_sample});
}

}  // namespace axrun::runtime
