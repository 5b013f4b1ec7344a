// Convolutions, pooling, and what follows them.
#include "tests/operators/epilogue_nodes.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

struct Window {
  std::vector<int64_t> in, kernel, strides, dilations, pads;
};

/// A window that fits its input at least once.
Window draw_window(Random& random, size_t rank, int64_t most = 9) {
  Window w;
  for (size_t d = 0; d < rank; ++d) {
    w.kernel.push_back(random.chance(40) ? 1 : random.integer(1, 4));
    w.strides.push_back(random.chance(60) ? 1 : random.integer(1, 3));
    w.dilations.push_back(random.chance(75) ? 1 : random.integer(1, 3));
    const int64_t reach = w.dilations[d] * (w.kernel[d] - 1) + 1;
    w.in.push_back(random.integer(reach, std::max(reach, most)));
  }
  w.pads.assign(2 * rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    if (!random.chance(50)) continue;
    w.pads[d] = random.integer(0, w.kernel[d] - 1);
    w.pads[d + rank] = random.integer(0, w.kernel[d] - 1);
  }
  return w;
}

void set_window(NodeBuilder& node, Random& random, const Window& w, bool with_dilations = true) {
  node.integers("strides", w.strides);
  if (with_dilations) node.integers("dilations", w.dilations);
  switch (random.integer(0, 5)) {
    case 0:
      node.text("auto_pad", "SAME_UPPER");
      break;
    case 1:
      node.text("auto_pad", "SAME_LOWER");
      break;
    case 2:
      node.text("auto_pad", "VALID");
      break;
    default:
      node.integers("pads", w.pads);
      break;
  }
}

size_t spatial_rank(Random& random) { return static_cast<size_t>(random.pick<int64_t>({1, 2, 2, 2, 3})); }

struct Channels {
  int64_t groups = 1, in = 1, out = 1;
};

Channels draw_channels(Random& random) {
  Channels c;
  if (random.chance(30)) {  // depthwise
    c.groups = c.in = random.integer(1, 18);
    c.out = c.in * random.integer(1, 2);
  } else {
    c.groups = random.chance(70) ? 1 : random.integer(1, 4);
    c.in = c.groups * random.integer(1, 5);
    c.out = c.groups * random.integer(1, random.chance(30) ? 20 : 5);
  }
  return c;
}

ir::Shape with_spatial(ir::Shape shape, const std::vector<int64_t>& spatial) {
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

/// A plain window, so that Z's shape is easy to say.
Case fused_conv(Random& random) {
  Case c;
  const size_t rank = random.pick<size_t>({1, 2});
  const Channels channels = draw_channels(random);
  const int64_t batch = random.integer(1, 2);
  std::vector<int64_t> in, kernel, out;
  for (size_t d = 0; d < rank; ++d) {
    in.push_back(random.integer(3, 9));
    kernel.push_back(random.integer(1, 3));
    out.push_back(in[d] - kernel[d] + 1);
  }
  NodeBuilder node(c, "FusedConv", 1, "com.microsoft");
  node.input(random.floats(with_spatial({batch, channels.in}, in)));
  node.input(random.floats(with_spatial({channels.out, channels.in / channels.groups}, kernel)),
             random.chance(85));
  const bool added = random.chance(50);
  if (random.chance(60)) {
    node.input(random.floats({channels.out}), random.chance(80));
  } else if (added) {
    node.absent();
  }
  if (added) {
    if (c.nodes[0].inputs.size() == 2) node.absent();
    node.input(random.floats(with_spatial({batch, channels.out}, out)));
  }
  node.integer("group", channels.groups);
  const auto activation =
      random.pick<const char*>({"", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip"});
  node.text("activation", activation);
  if (std::string_view(activation) == "LeakyRelu") node.reals("activation_params", {0.3});
  if (std::string_view(activation) == "HardSigmoid" && random.chance(50))
    node.reals("activation_params", {0.3, 0.4});
  if (std::string_view(activation) == "Clip") node.reals("activation_params", {-0.5, 0.7});
  node.output();
  return c;
}

Case conv(Random& random) {
  Case c;
  const size_t rank = spatial_rank(random);
  const Window w = draw_window(random, rank, rank == 3 ? 5 : 9);
  const Channels channels = draw_channels(random);
  const int64_t batch = random.integer(1, 2);
  NodeBuilder node(c, "Conv", random.pick({1, 11, 22}));
  node.input(random.floats(with_spatial({batch, channels.in}, w.in)));
  node.input(random.floats(with_spatial({channels.out, channels.in / channels.groups}, w.kernel)),
             random.chance(85));
  const bool bias = random.chance(60), constant_bias = random.chance(80);
  if (bias) node.input(random.floats({channels.out}), constant_bias);
  node.integer("group", channels.groups);
  // The result's extent is easy to say without automatic pads.
  const bool plain = random.chance(50);
  if (!plain) {
    set_window(node, random, w);
  } else {
    node.integers("strides", w.strides).integers("dilations", w.dilations).integers("pads", w.pads);
  }
  node.output();
  if (plain) {
    ir::Shape y = {batch, channels.out};
    for (size_t d = 0; d < rank; ++d) {
      const int64_t room = w.in[d] + w.pads[d] + w.pads[d + rank] - (w.dilations[d] * (w.kernel[d] - 1) + 1);
      y.push_back(room / w.strides[d] + 1);
    }
    append_epilogue(c, random, y, 1);
  }
  return c;
}

Case conv_transpose(Random& random) {
  Case c;
  const size_t rank = spatial_rank(random);
  Window w = draw_window(random, rank, 5);
  const Channels channels = draw_channels(random);
  const int64_t batch = random.integer(1, 2);
  NodeBuilder node(c, "ConvTranspose", 11);
  node.input(random.floats(with_spatial({batch, channels.in}, w.in)));
  node.input(random.floats(with_spatial({channels.in, channels.out / channels.groups}, w.kernel)),
             random.chance(85));
  if (random.chance(60)) node.input(random.floats({channels.out}), random.chance(80));
  node.integer("group", channels.groups);
  std::vector<int64_t> extra(rank, 0);
  ir::Shape y = {batch, channels.out};
  for (size_t d = 0; d < rank; ++d) {
    if (random.chance(30)) extra[d] = random.integer(0, std::max<int64_t>(w.strides[d], w.dilations[d]) - 1);
    int64_t extent = w.strides[d] * (w.in[d] - 1) + w.dilations[d] * (w.kernel[d] - 1) + 1 + extra[d];
    // Pads may not eat the whole result.
    if (extent <= w.pads[d] + w.pads[d + rank]) w.pads[d] = w.pads[d + rank] = 0;
    extent -= w.pads[d] + w.pads[d + rank];
    y.push_back(extent);
  }
  node.integers("strides", w.strides).integers("dilations", w.dilations);
  node.integers("output_padding", extra);
  if (random.chance(80)) {
    node.integers("pads", w.pads);
    node.output();
    if (random.chance(50)) append_epilogue(c, random, y, 1);
  } else {
    node.text("auto_pad", random.pick<const char*>({"SAME_UPPER", "SAME_LOWER", "VALID"}));
    node.output();
  }
  return c;
}

/// A pooling node. Pads stay smaller than the kernel, so that every window has a point inside.
Case pool(Random& random, const char* op) {
  Case c;
  const size_t rank = spatial_rank(random);
  const bool dilates = random.chance(50);
  Window w = draw_window(random, rank, rank == 3 ? 5 : 9);
  const bool max = std::string_view(op) == "MaxPool";
  const int version = random.pick({max ? 12 : 11, 19, 22});
  if (!dilates || (!max && version < 19)) w.dilations.assign(rank, 1);
  for (size_t d = 0; d < rank; ++d) w.in[d] = std::max(w.in[d], w.dilations[d] * (w.kernel[d] - 1) + 1);
  NodeBuilder node(c, op, version);
  node.input(random.floats(with_spatial({random.integer(1, 2), random.integer(1, 5)}, w.in)));
  node.integers("kernel_shape", w.kernel);
  set_window(node, random, w, max || version >= 19);
  if (random.chance(30)) node.integer("ceil_mode", 1);
  if (!max && random.chance(50)) node.integer("count_include_pad", 1);
  if (max && random.chance(30)) {
    if (random.chance(50)) node.integer("storage_order", 1);
    node.output();
  }
  node.output();
  return c;
}
Case max_pool(Random& random) { return pool(random, "MaxPool"); }
Case average_pool(Random& random) { return pool(random, "AveragePool"); }

/// The same of bytes, with channels before or after the spatial dims.
Case byte_pool(Random& random, const char* op) {
  Case c;
  const bool max = std::string_view(op) == "NhwcMaxPool";
  const size_t rank = spatial_rank(random);
  Window w = draw_window(random, rank, rank == 3 ? 5 : 9);
  if (!max) w.dilations.assign(rank, 1);
  const bool channels_last = max || random.chance(50);
  const int64_t channels = random.integer(1, 20);
  ir::Shape shape = with_spatial({random.integer(1, 2)}, w.in);
  shape.insert(channels_last ? shape.end() : shape.begin() + 1, channels);
  const auto type = random.pick({ir::ElementType::u8, ir::ElementType::i8});
  const bool is_signed = type == ir::ElementType::i8;
  const auto bytes = [&](const ir::Shape& dims) {
    return random.tensor(type, dims, is_signed ? -128 : 0, is_signed ? 127 : 255);
  };
  NodeBuilder node(c, op, 1, "com.microsoft");
  node.input(bytes(shape));
  if (!max) {
    node.input(random.floats({}, 0.01, 0.1)).input(bytes({})).input(random.floats({}, 0.01, 0.1));
    if (random.chance(80)) node.input(bytes({}));
    node.integer("channels_last", channels_last ? 1 : 0);
    if (random.chance(50)) node.integer("count_include_pad", 1);
  }
  node.integers("kernel_shape", w.kernel);
  set_window(node, random, w, max);
  if (random.chance(30)) node.integer("ceil_mode", 1);
  node.output();
  return c;
}
Case nhwc_max_pool(Random& random) { return byte_pool(random, "NhwcMaxPool"); }
Case qlinear_average_pool(Random& random) { return byte_pool(random, "QLinearAveragePool"); }

Case global(Random& random, const char* op) {
  Case c;
  NodeBuilder(c, op, 1).input(random.floats(random.shape(3, 5, 7))).output();
  return c;
}
Case global_max(Random& random) { return global(random, "GlobalMaxPool"); }
Case global_average(Random& random) { return global(random, "GlobalAveragePool"); }

}  // namespace

void convolution_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "Conv", conv});
  table.push_back({"com.microsoft", "FusedConv", fused_conv});
  table.push_back({"", "ConvTranspose", conv_transpose});
  table.push_back({"", "MaxPool", max_pool});
  table.push_back({"", "AveragePool", average_pool});
  table.push_back({"com.microsoft", "NhwcMaxPool", nhwc_max_pool});
  table.push_back({"com.microsoft", "QLinearAveragePool", qlinear_average_pool});
  table.push_back({"", "GlobalMaxPool", global_max});
  table.push_back({"", "GlobalAveragePool", global_average});
}

}  // namespace axrun::runtime
