// com.microsoft: RotaryEmbedding and MRotaryEmbedding.
#include <fmt/format.h>

#include <optional>

#include "ir/ops/attention.h"
#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// An input (batch, position, heads * size) or (batch, heads, position, size), in terms of its heads.
struct RotaryInput {
  TensorRef x;
  Dim size;
  bool separate = false;

  const Dim& batch() const { return x.dims()[0]; }
  const Dim& length() const { return x.dims()[separate ? 2 : 1]; }
};

RotaryInput rotary_input(const OperatorContext& context, const TensorRef& x, const Dim& size) {
  RotaryInput heads{x, size, x.rank() == 4};
  context.check(x.rank() == 3 || x.rank() == 4, fmt::format("an input of shape {}", to_string(x.dims())));
  if (!heads.separate) divided(context, x.dims()[2], size, "hidden size");
  return heads;
}

/// Every vector turned by the angles of its position: cosine and sine at (batch, position, pair).
TensorRef turned(Builder& b, const RotaryInput& heads, const Dim& half, bool interleaved,
                 const Builder::MapBody& cosine, const Builder::MapBody& sine) {
  const TensorRef& x = heads.x;
  Dims axes = x.dims();
  std::vector<std::vector<int>> groups = {{0}, {1}, {2}, {3}};
  if (!heads.separate) {
    axes = {axes[0], axes[1], floor_div(axes[2], heads.size), heads.size};
    groups = {{0}, {1}, {2, 3}};
  }
  return b.map_grouped(axes, groups, [&](const Indices& i) {
    const Scalar& position = i[heads.separate ? 2 : 1];
    const auto at = [&](const Scalar& component) {
      return widen(heads.separate ? x({i[0], i[1], i[2], component})
                                  : x({i[0], i[1], i[2] * heads.size + component}));
    };
    const Scalar value = rotated(
        i[3], half, interleaved, at,
        [&](const Scalar& pair) {
          return cosine({i[0], position, pair});
        },
        [&](const Scalar& pair) {
          return sine({i[0], position, pair});
        });
    return cast(x.type(), value);
  });
}

void check_half(const OperatorContext& context, const Dim& half, const Dim& size) {
  context.check(!context.less(size, half * 2),
                fmt::format("the caches turn {} pairs of vectors of {} components", half.to_string(),
                            size.to_string()));
}

/// Which of three positions (time, height, width) turns a pair: contiguous sections of the pairs, or every
/// third pair each for height and width as far as their sections go.
struct Sections {
  std::vector<int64_t> sizes;
  bool interleaved = false;

  Sections(const OperatorContext& context, const Dim& half)
      : sizes(context.integers("mrope_section")),
        interleaved(bounded_integer(context, "mrope_layout", 0, 0, 1) == 1) {
    int64_t whole = 0;
    for (const int64_t size : sizes) {
      context.check(size >= 0 && size <= int64_t{1} << 30, "a section is no size");
      whole += size;
    }
    context.check(sizes.size() == 3 && context.equal(Dim(whole), half),
                  "attribute 'mrope_section' must be three sizes that make up the caches' width");
  }
  Scalar stream(const Scalar& pair) const {
    Builder& b = pair.builder();
    const Scalar time = b.integer(0), height = b.integer(1), width = b.integer(2);
    if (!interleaved) {
      return select(pair < sizes[0], time, select(pair < sizes[0] + sizes[1], height, width));
    }
    const Scalar third = floor_mod(pair, 3);
    const Scalar is_height = logical_and(third == 1, pair < sizes[1] * 3);
    const Scalar is_width = logical_and(third == 2, pair < sizes[2] * 3);
    return select(is_height, height, select(is_width, width, time));
  }
};

/// Inputs: x, position_ids, cos_cache, sin_cache. A single position id is that of the first position. Where
/// it is multimodal there are three of each position.
template <bool multimodal>
void microsoft_rotary_embedding(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef ids = typed_operand(b, context, 1, {ElementType::i64});
  const TensorRef cosines = real_operand(b, context, 2);
  context.check(cosines.rank() == 2, "cos_cache must be a matrix");
  const TensorRef sines = shaped_operand(b, context, 3, cosines.dims(), "sin_cache");
  if (context.real("scale", 1) != 1) context.unsupported("attribute 'scale'");
  if (flag(context, "is_packed_batching", false)) context.unsupported("attribute 'is_packed_batching'");
  const Dim& half = cosines.dims()[1];
  const int64_t partial = bounded_integer(context, "rotary_embedding_dim", 0, 0, int64_t{1} << 30);
  Dim size = half * 2;
  if (x.rank() == 4) {
    size = x.dims()[3];
  } else if (partial > 0) {
    context.check(x.rank() == 3, fmt::format("an input of shape {}", to_string(x.dims())));
    size = divided(context, x.dims()[2], head_count(context, "num_heads"), "hidden size");
  }
  if (partial > 0)
    context.check(context.equal(half * 2, Dim(partial)), "the caches do not fit rotary_embedding_dim");
  check_half(context, half, size);
  const RotaryInput heads = rotary_input(context, x, size);
  std::optional<Sections> sections;
  if (multimodal) sections.emplace(context, half);
  const bool single = !multimodal && ids.rank() == 1;
  if (multimodal) {
    check_dims(context, ids, {Dim(3), heads.batch(), heads.length()}, "position_ids");
  } else if (single) {
    check_dims(context, ids, {Dim(1)}, "position_ids");
  } else {
    check_dims(context, ids, {heads.batch(), heads.length()}, "position_ids");
  }
  const auto row = [&](const Indices& i) {
    if (sections) return ids({sections->stream(i[2]), i[0], i[1]});
    return single ? ids({b.integer(0)}) + i[1] : ids({i[0], i[1]});
  };
  b.output(turned(
      b, heads, half, flag(context, "interleaved", false),
      [&](const Indices& i) {
        return widen(cosines({row(i), i[2]}));
      },
      [&](const Indices& i) {
        return widen(sines({row(i), i[2]}));
      }));
}

}  // namespace

void microsoft_rotary_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "MRotaryEmbedding", 1, microsoft_rotary_embedding<true>});
  table.push_back({microsoft_domain, "RotaryEmbedding", 1, microsoft_rotary_embedding<false>});
}

}  // namespace axrun::ir
