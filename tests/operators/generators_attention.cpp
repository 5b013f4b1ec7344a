// Attention over states that a cache holds, and the turning of vectors by their positions.
#include <limits>

#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// Mostly few queries, sometimes several blocks of them.
int64_t draw_queries(Random& random) {
  if (random.chance(40)) return 1;
  return random.chance(75) ? random.integer(1, 6) : random.integer(20, 70);
}

ir::Tensor one(ElementType type, const ir::Shape& shape, int64_t value) {
  ir::Tensor tensor = ir::Tensor::allocate(type, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, value);
  return tensor;
}

struct GroupQuerySizes {
  int64_t batch, groups, heads, size, queries, past, total;
  bool has_past;
};

GroupQuerySizes draw_group_query_sizes(Random& random) {
  GroupQuerySizes s = {};
  s.batch = random.integer(1, 3);
  s.groups = random.integer(1, 2);
  s.heads = s.groups * random.integer(1, 4);
  s.size = random.chance(80) ? random.integer(2, 10) : random.integer(16, 24);
  s.queries = draw_queries(random);
  s.has_past = random.chance(60);
  s.past = s.has_past ? random.integer(1, 12) : 0;
  s.total = s.past + s.queries;
  // A past that has room for more, and a prompt that comes with such a past.
  if (s.has_past && random.chance(40)) s.total = random.integer(s.queries, s.total);
  if (!s.has_past && random.chance(20)) s.total += random.integer(1, 3);
  return s;
}

void add_rotation(NodeBuilder& node, Random& random, const GroupQuerySizes& s) {
  const int64_t half = random.integer(1, s.size / 2), rows = s.total + random.integer(2, 5);
  node.integer("do_rotary", 1).integer("rotary_interleaved", random.chance(50));
  for (int k = 0; k < 2; ++k) node.input(random.floats({rows, half}), random.chance(50));
  if (random.chance(30)) {
    node.input(random.tensor(ElementType::i64, {s.batch, s.queries}, 0, static_cast<double>(rows - 1)));
  } else {
    node.absent();
  }
}

Case group_query_attention(Random& random) {
  Case c;
  const GroupQuerySizes s = draw_group_query_sizes(random);
  NodeBuilder node(c, "GroupQueryAttention", 1, microsoft);
  node.integer("num_heads", s.heads).integer("kv_num_heads", s.groups);
  if (random.chance(30)) node.real("scale", random.real(0.2, 1));
  if (random.chance(30)) node.integer("local_window_size", random.integer(1, 8));
  if (random.chance(20)) node.real("softcap", random.real(0.5, 3));
  if (random.chance(20)) node.integer("smooth_softmax", 1);
  if (random.chance(30)) {
    node.input(random.floats({s.batch, s.queries, (s.heads + 2 * s.groups) * s.size})).absent().absent();
  } else {
    node.input(random.floats({s.batch, s.queries, s.heads * s.size}));
    for (int k = 0; k < 2; ++k) node.input(random.floats({s.batch, s.queries, s.groups * s.size}));
  }
  for (int k = 0; k < 2; ++k) {
    if (s.has_past) {
      node.input(random.floats({s.batch, s.groups, s.past, s.size}));
    } else {
      node.absent();
    }
  }
  const int64_t least = s.queries == s.total ? 1 : s.queries;
  const ir::Shape shape = random.chance(80) ? ir::Shape{s.batch} : ir::Shape{s.batch, 1};
  node.input(random.tensor(ElementType::i32, shape, static_cast<double>(least - 1),
                           static_cast<double>(s.total - 1)));
  node.constant(one(ElementType::i32, random.chance(50) ? ir::Shape{} : ir::Shape{1}, s.total));
  if (random.chance(60)) {
    add_rotation(node, random, s);
  } else {
    node.absent().absent().absent();
  }
  if (random.chance(25)) {
    node.input(random.floats(
        {random.chance(50) ? s.batch : 1, random.chance(50) ? s.heads : 1, s.queries, s.total}));
  } else {
    node.absent();
  }
  if (random.chance(20)) node.input(random.floats({s.heads}));
  node.output();
  if (random.chance(70)) {
    node.output();
    node.output();
  }
  return c;
}

/// Vectors of heads as ai.onnx's operators take them: [batch, heads, length, size], or side by side.
ir::Tensor draw_heads(Random& random, bool packed, int64_t batch, int64_t heads, int64_t length,
                      int64_t size) {
  return random.floats(packed ? ir::Shape{batch, length, heads * size}
                              : ir::Shape{batch, heads, length, size});
}

/// Broadcast to [batch, heads, queries, keys]; since opset 24 it may cover fewer keys. Some rows hide all.
ir::Tensor draw_mask(Random& random, const ir::Shape& scores, int version) {
  ir::Shape shape = scores;
  for (size_t d = 0; d < 3; ++d) {
    if (random.chance(30)) shape[d] = 1;
  }
  if (version < 24 && random.chance(15)) shape[3] = 1;
  if (version >= 24 && random.chance(30)) shape[3] = random.integer(1, shape[3]);
  shape.erase(shape.begin(), shape.begin() + random.integer(0, 3));
  if (random.chance(50)) return random.tensor(ElementType::boolean, shape);
  ir::Tensor mask = random.floats(shape);
  const int hidden = random.chance(50) ? 0 : 40;
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (random.chance(hidden)) mask.set_real(i, -std::numeric_limits<double>::infinity());
  }
  return mask;
}

Case attention(Random& random) {
  Case c;
  const int version = static_cast<int>(random.integer(23, 24));
  const int64_t batch = random.integer(1, 2), groups = random.integer(1, 3),
                heads = groups * random.integer(1, 3), size = random.integer(1, 9);
  const bool has_past = random.chance(40);
  const int64_t past = has_past ? random.integer(0, 8) : 0;
  const int64_t value_size = random.chance(50) ? size : random.integer(1, 9);
  const int64_t queries = draw_queries(random), added = random.chance(50) ? queries : random.integer(1, 30);
  NodeBuilder node(c, "Attention", version);
  node.integer("q_num_heads", heads).integer("kv_num_heads", groups);
  if (random.chance(40)) node.integer("is_causal", 1);
  if (random.chance(30)) node.real("scale", random.real(0.2, 1));
  if (random.chance(20)) node.real("softcap", random.real(0.5, 3));
  if (random.chance(15)) node.integer("left_window_size", random.integer(0, 6));
  if (random.chance(15)) node.integer("right_window_size", random.integer(0, 6));
  const bool packed = random.chance(50), mixed = random.chance(20);
  node.input(draw_heads(random, packed, batch, heads, queries, size));
  node.input(draw_heads(random, packed != mixed, batch, groups, added, size));
  node.input(draw_heads(random, packed != mixed, batch, groups, added, value_size));
  if (random.chance(50)) {
    node.input(draw_mask(random, {batch, heads, queries, past + added}, version));
  } else {
    node.absent();
  }
  if (has_past) {
    node.input(random.floats({batch, groups, past, size}));
    node.input(random.floats({batch, groups, past, value_size}));
  } else if (version >= 24 && random.chance(40)) {
    node.absent().absent();
    node.input(random.tensor(ElementType::i64, {batch}, 0, static_cast<double>(added)));
  }
  node.output();
  if (random.chance(has_past ? 70 : 20)) {
    node.output();
    node.output();
  }
  return c;
}

Case microsoft_rotary(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 3), heads = random.integer(1, 4), length = random.integer(1, 12),
                half = random.integer(1, 12), rows = length + random.integer(0, 6);
  const int64_t layout = random.integer(0, 2);  // whole heads side by side, a part of them, separate heads
  const int64_t size = layout == 0 ? 2 * half : 2 * half + random.integer(0, 5);
  NodeBuilder node(c, "RotaryEmbedding", 1, microsoft);
  node.integer("interleaved", random.chance(50));
  if (layout == 1) node.integer("rotary_embedding_dim", 2 * half).integer("num_heads", heads);
  node.input(draw_heads(random, layout != 2, batch, heads, length, size));
  if (random.chance(40)) {
    node.input(random.tensor(ElementType::i64, {1}, 0, static_cast<double>(rows - length)));
  } else {
    node.input(random.tensor(ElementType::i64, {batch, length}, 0, static_cast<double>(rows - 1)));
  }
  node.input(random.floats({rows, half})).input(random.floats({rows, half}));
  node.output();
  return c;
}

Case rotary(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 3), heads = random.integer(1, 4), length = random.integer(1, 12),
                half = random.integer(1, 12), rows = random.integer(1, 9);
  const bool partial = random.chance(40), identified = random.chance(60);
  const int64_t size = 2 * half + (partial ? random.integer(0, 5) : 0);
  NodeBuilder node(c, "RotaryEmbedding", 23);
  node.integer("interleaved", random.chance(50)).integer("num_heads", heads);
  if (partial) node.integer("rotary_embedding_dim", 2 * half);
  node.input(draw_heads(random, random.chance(50), batch, heads, length, size));
  const ir::Shape caches = identified ? ir::Shape{rows, half} : ir::Shape{batch, length, half};
  node.input(random.floats(caches)).input(random.floats(caches));
  if (identified) {
    const ElementType type = random.chance(80) ? ElementType::i64 : ElementType::i32;
    node.input(random.tensor(type, {batch, length}, 0, static_cast<double>(rows - 1)));
  }
  node.output();
  return c;
}

}  // namespace

void attention_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({microsoft, "GroupQueryAttention", group_query_attention});
  table.push_back({microsoft, "RotaryEmbedding", microsoft_rotary});
  table.push_back({"", "Attention", attention});
  table.push_back({"", "RotaryEmbedding", rotary});
}

}  // namespace axrun::runtime
