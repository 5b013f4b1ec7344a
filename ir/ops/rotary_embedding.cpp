// RotaryEmbedding of ai.onnx (https://arxiv.org/abs/2104.09864).
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/heads.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Rotates pairs of elements of each head by the angle of the position: the first and the second half of the
/// rotated part are paired, or neighbours if interleaved. What is past the rotated part stays as it is.
void define_rotary_embedding(const OperatorContext& context, Builder& b) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const Heads x = heads_of(context, b, 0, bounded_integer(context, "num_heads", 0, 0, most));
  const bool interleaved = flag(context, "interleaved", false);
  const int64_t size = context.fixed(x.size);
  const int64_t stated = bounded_integer(context, "rotary_embedding_dim", 0, 0, most);
  const int64_t rotated = stated == 0 ? size : stated;
  context.check(rotated % 2 == 0 && rotated <= size, "the rotated part must be even and within the head");
  const int64_t half = rotated / 2;
  context.check(context.type(1) == x.tensor.type() && context.type(2) == x.tensor.type(),
                "the caches must have the type of the input");
  TensorRef positions;
  Dims cache_dims = {x.batch, x.length, Dim(half)};
  if (context.has(3)) {
    require_type(context, 3, TypeClass::integer);
    positions = shaped_operand(b, context, 3, {x.batch, x.length}, "position_ids");
    require_rank(context, 1, 2);
    cache_dims = {context.dims(1)[0], Dim(half)};
  }
  const TensorRef cosine = shaped_operand(b, context, 1, cache_dims, "cos_cache");
  const TensorRef sine = shaped_operand(b, context, 2, cache_dims, "sin_cache");
  const auto body = [&](const Scalar& batch, const Scalar& head, const Scalar& position, const Scalar& d) {
    const Scalar value = x(batch, head, position, d);
    if (half == 0) return value;
    // Indices past the rotated part are folded into it: they are read, but not used.
    const Scalar inside = floor_mod(d, rotated);
    const Scalar first = interleaved ? floor_mod(inside, 2) == 0 : inside < half;
    const Scalar pair = interleaved ? floor_div(inside, 2) : floor_mod(inside, half);
    const int64_t step = interleaved ? 1 : half;
    const Scalar partner = select(first, inside + step, inside - step);
    const auto cached = [&](const TensorRef& cache) {
      if (positions.defined()) return widen(cache({positions({batch, position}), pair}));
      return widen(cache({batch, position, pair}));
    };
    const Scalar other = widen(x(batch, head, position, partner)) * cached(sine);
    const Scalar turned = widen(value) * cached(cosine) + select(first, -other, other);
    return select(d < rotated, cast(x.tensor.type(), turned), value);
  };
  if (x.packed) {
    b.output(b.map_grouped({x.batch, x.length, x.heads, x.size}, {{0}, {1}, {2, 3}},
                           [&](const Indices& i) { return body(i[0], i[2], i[1], i[3]); }));
  } else {
    b.output(b.map(x.tensor.dims(), [&](const Indices& i) { return body(i[0], i[1], i[2], i[3]); }));
  }
}

}  // namespace

void rotary_embedding_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"", "RotaryEmbedding", 23, define_rotary_embedding});
}

}  // namespace axrun::ir
