// com.microsoft: attention and the normalizations around it.
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// A mask of one of the operator's forms that leaves every query at least the first key.
void add_mask(NodeBuilder& node, Random& random, int64_t batch, int64_t queries, int64_t keys, bool causal) {
  const ElementType type = random.chance(80) ? ElementType::i32 : ElementType::i64;
  const auto mask = [&](const ir::Shape& shape, int64_t row) {
    ir::Tensor tensor = random.tensor(type, shape, 0, 1);
    for (int64_t i = 0; i < tensor.size(); i += row) tensor.set_int(i, 1);
    return tensor;
  };
  switch (random.integer(0, causal ? 5 : 6)) {
    case 0:
      node.input(random.tensor(type, {batch}, 1, static_cast<double>(keys)));
      break;
    case 1: {
      ir::Tensor ends = random.tensor(type, {2 * batch}, 1, static_cast<double>(keys));
      for (int64_t b = 0; b < batch; ++b)
        ends.set_int(batch + b, causal ? 0 : random.integer(0, ends.get_int(b) - 1));
      node.input(ends);
      break;
    }
    case 2:
      node.input(mask({batch, keys}, keys));
      break;
    case 3:
      node.input(mask({batch, queries, keys}, keys));
      break;
    case 6: {
      const int64_t side = keys + queries + 2;
      node.input(mask({batch, 1, side, side}, side));
      break;
    }
    default:
      node.absent();
      break;
  }
}

void add_bias(NodeBuilder& node, Random& random, int64_t batch, int64_t heads, int64_t queries,
              int64_t keys) {
  if (random.chance(30)) {
    node.input(random.floats({random.chance(50) ? batch : 1, random.chance(50) ? heads : 1, queries, keys}));
  } else {
    node.absent();
  }
}

Case attention(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 2), queries = random.integer(1, 6), heads = random.integer(1, 3),
                size = random.integer(1, 6), width = random.integer(1, 8);
  const bool has_past = random.chance(40), causal = random.chance(50);
  const int64_t past = has_past ? random.integer(0, 4) : 0;
  const bool present = has_past || random.chance(30);
  const int64_t value_size = !present && random.chance(30) ? random.integer(1, 6) : size;
  const int64_t columns = heads * (2 * size + value_size);
  NodeBuilder node(c, "Attention", 1, microsoft);
  node.integer("num_heads", heads).integer("unidirectional", causal);
  if (value_size != size) node.integers("qkv_hidden_sizes", {heads * size, heads * size, heads * value_size});
  if (random.chance(30)) node.real("scale", random.real(0.2, 1));
  node.input(random.floats({batch, queries, width}));
  node.input(random.floats({width, columns}), random.chance(70));
  if (random.chance(80)) {
    node.input(random.floats({columns}));
  } else {
    node.absent();
  }
  add_mask(node, random, batch, queries, past + queries, causal);
  if (has_past) {
    node.input(random.floats({2, batch, heads, past, size}));
  } else {
    node.absent();
  }
  add_bias(node, random, batch, heads, queries, past + queries);
  node.output();
  if (present) node.output();
  return c;
}

Case quantized_attention(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 2), queries = random.integer(1, 6), heads = random.integer(1, 3),
                size = random.integer(1, 6), width = random.integer(1, 20), columns = 3 * heads * size;
  const bool has_past = random.chance(40), causal = random.chance(50), constant = random.chance(70);
  const int64_t past = has_past ? random.integer(0, 4) : 0;
  const auto bytes = [&](ElementType type, const ir::Shape& shape) {
    return random.tensor(type, shape, static_cast<double>(ir::integer_min(type)),
                         static_cast<double>(ir::integer_max(type)));
  };
  const ElementType x = random.pick({ElementType::u8, ElementType::i8}),
                    weights = random.pick({ElementType::u8, ElementType::i8});
  const auto parameters = [&] { return random.chance(50) ? ir::Shape{} : ir::Shape{columns}; };
  NodeBuilder node(c, "QAttention", 1, microsoft);
  node.integer("num_heads", heads).integer("unidirectional", causal);
  node.input(bytes(x, {batch, queries, width})).input(bytes(weights, {width, columns}), constant);
  node.input(random.floats({columns}));
  // So small that no key takes all: softmax would grow the roundings of large logits.
  node.input(random.floats({}, 0.0005, 0.003)).input(random.floats(parameters(), 0.0005, 0.003));
  add_mask(node, random, batch, queries, past + queries, causal);
  if (random.chance(60)) {
    node.input(bytes(x, {}));
  } else {
    node.absent();
  }
  if (random.chance(60)) {
    node.input(bytes(weights, parameters()), constant);
  } else {
    node.absent();
  }
  if (has_past) node.input(random.floats({2, batch, heads, past, size}));
  node.output();
  if (has_past || random.chance(30)) node.output();
  return c;
}

Case multi_head_attention(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 2), queries = random.integer(1, 5), heads = random.integer(1, 3),
                size = random.integer(1, 6);
  const int64_t layout = random.integer(0, 3);  // rows, states, packed key and value, all packed
  const int64_t added = layout == 3 ? queries : random.integer(1, 6);
  const int64_t value_size = layout < 2 ? random.integer(1, 6) : size;
  const bool has_past = layout != 1 && random.chance(40), causal = random.chance(40);
  const int64_t past = has_past ? random.integer(0, 4) : 0;
  const int64_t keys = past + added;
  NodeBuilder node(c, "MultiHeadAttention", 1, microsoft);
  node.integer("num_heads", heads).integer("unidirectional", causal);
  if (random.chance(30)) node.real("scale", random.real(0.2, 1));
  if (layout == 3) {
    node.input(random.floats({batch, queries, heads, 3, size})).absent().absent();
  } else {
    node.input(random.floats({batch, queries, heads * size}));
    if (layout == 2) {
      node.input(random.floats({batch, added, heads, 2, size})).absent();
    } else if (layout == 1) {
      node.input(random.floats({batch, heads, added, size}))
          .input(random.floats({batch, heads, added, value_size}));
    } else {
      node.input(random.floats({batch, added, heads * size}))
          .input(random.floats({batch, added, heads * value_size}));
    }
  }
  if (random.chance(50)) {
    node.input(random.floats({heads * (2 * size + value_size)}));
  } else {
    node.absent();
  }
  add_mask(node, random, batch, queries, keys, causal);
  add_bias(node, random, batch, heads, queries, keys);
  if (has_past) {
    node.input(random.floats({batch, heads, past, size}))
        .input(random.floats({batch, heads, past, value_size}));
  }
  node.output();
  if (layout != 1 && random.chance(60)) {
    node.output();
    node.output();
  }
  return c;
}

template <bool simplified>
Case skip_normalization(Random& random) {
  Case c;
  c.tolerance = 1e-4;  // running moments: roundings are part of the definition
  ir::Shape shape = random.shape(2, 3, 6);
  shape.back() = random.integer(2, 40);
  ir::Shape skip = shape;
  if (shape.size() == 3 && random.chance(40)) {
    if (random.chance(50)) {
      skip.erase(skip.begin());
    } else {
      skip[0] = 1;
    }
  }
  NodeBuilder node(c, simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization", 1,
                   microsoft);
  node.input(random.floats(shape)).input(random.floats(skip)).input(random.floats({shape.back()}));
  if (!simplified) {
    if (random.chance(70)) {
      node.input(random.floats({shape.back()}));
    } else {
      node.absent();
    }
  }
  if (random.chance(50)) node.input(random.floats({shape.back()}));
  node.real("epsilon", 1e-3);
  node.output();
  if (random.chance(50)) {
    for (int k = 0; k < 2; ++k) {
      if (random.chance(50)) {
        node.output();
      } else {
        node.no_output();
      }
    }
    node.output();
  }
  return c;
}

Case embed(Random& random) {
  Case c;
  const int64_t batch = random.integer(1, 3), length = random.integer(1, 5), width = random.integer(2, 20),
                words = random.integer(2, 9);
  const ElementType type = random.pick({ElementType::i32, ElementType::i64});
  const auto ids = [&](const ir::Shape& shape, int64_t count) {
    return random.tensor(type, shape, 0, static_cast<double>(count - 1));
  };
  const bool segments = random.chance(50);
  NodeBuilder node(c, "EmbedLayerNormalization", 1, microsoft);
  node.input(ids({batch, length}, words));
  if (segments) {
    node.input(ids({batch, length}, 2));
  } else {
    node.absent();
  }
  node.input(random.floats({words, width})).input(random.floats({7, width}));
  if (segments) {
    node.input(random.floats({2, width}));
  } else {
    node.absent();
  }
  node.input(random.floats({width})).input(random.floats({width}));
  if (random.chance(50)) {
    node.input(ids({batch, length}, 3));
  } else {
    node.absent();
  }
  if (random.chance(50)) node.input(ids({random.chance(50) ? batch : 1, length}, 7));
  node.real("epsilon", 1e-3);
  node.output();
  node.output();
  if (random.chance(50)) node.output();
  return c;
}

}  // namespace

void transformer_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({microsoft, "Attention", attention});
  table.push_back({microsoft, "QAttention", quantized_attention});
  table.push_back({microsoft, "MultiHeadAttention", multi_head_attention});
  table.push_back({microsoft, "SkipLayerNormalization", skip_normalization<false>});
  table.push_back({microsoft, "SkipSimplifiedLayerNormalization", skip_normalization<true>});
  table.push_back({microsoft, "EmbedLayerNormalization", embed});
}

}  // namespace axrun::runtime
