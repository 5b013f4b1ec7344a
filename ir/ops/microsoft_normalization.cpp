// com.microsoft: layer normalisation with what precedes it in a transformer.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/normalization.h"

namespace axrun::ir {
namespace {

/// Mean and sum of squared deviations of each row of x, [rows..., width], updated element by element
/// (Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", 1962) with every
/// operation rounded to f32. Where the mean is far larger than the deviation these roundings decide the
/// leading digits of the result; they are ONNX Runtime's, the only specification SkipLayerNormalization has.
struct RunningMoments {
  TensorRef mean;
  TensorRef squares;
};
RunningMoments running_moments(Builder& b, const TensorRef& x) {
  const Dims rows = part(x.dims(), 0, x.dims().size() - 1);
  const auto single = [](const Scalar& value) { return rounded(ElementType::f32, value); };
  const TensorRef zero = b.map(rows, [&](const Indices&) { return b.real(ElementType::f32, 0); });
  const auto moments = b.scan(
      x.dims().back(), {x}, {zero, zero},
      [&](Builder& s, const std::vector<TensorRef>& captures, const std::vector<TensorRef>& states) {
        const auto value = [&](const Indices& i) { return single(captures[0](joined(i, {s.time()}))); };
        const TensorRef mean = s.map(rows, [&](const Indices& i) {
          const Scalar count = cast(ElementType::f32, s.time() + 1);
          return single(states[0](i) + single(single(value(i) - states[0](i)) / count));
        });
        const TensorRef squares = s.map(rows, [&](const Indices& i) {
          const Scalar before = single(value(i) - states[0](i));
          return single(states[1](i) + single(before * single(value(i) - mean(i))));
        });
        return Builder::StepResult{{mean, squares}, {}};
      });
  return {moments[0], moments[1]};
}

struct LayerNorm {
  TensorRef output;  ///< of `type`
  TensorRef mean;    ///< undefined where simplified; [..., 1], like the next one
  TensorRef inverse_deviation;
};

enum class Statistics : uint8_t { exact, running_f32, simplified };

/// Normalises x, of a compute type, over its last dimension: (x - mean) / sqrt(variance + epsilon) * gamma +
/// beta, or, where simplified, x / sqrt(mean of x^2 + epsilon) * gamma + beta. beta may be undefined.
LayerNorm normalize(Builder& b, const TensorRef& x, ElementType type, const TensorRef& gamma,
                    const TensorRef& beta, double epsilon, Statistics kind) {
  const ElementType real = x.type();
  const Dims rows = part(x.dims(), 0, x.dims().size() - 1);
  Dims statistics = rows;
  statistics.push_back(Dim(1));
  const Dim& width = x.dims().back();
  LayerNorm result;
  TensorRef squares;
  Builder::MapBody centered;  // of a whole index
  if (kind == Statistics::simplified) {
    centered = [&](const Indices& i) { return x(i); };
    squares = b.sum(rows, {width}, [&](const Indices& i, const Indices& r) {
      const Scalar value = x(joined(i, r));
      return value * value;
    });
  } else {
    if (kind == Statistics::running_f32) {
      const RunningMoments moments = running_moments(b, x);
      squares = moments.squares;
      result.mean =
          b.map(statistics, [&](const Indices& i) { return moments.mean(part(i, 0, rows.size())); });
    } else {
      const Moments moments = moments_of(b, x, {x.rank() - 1});
      squares = moments.squares;
      result.mean =
          b.map(statistics, [&](const Indices& i) { return moments.mean(part(i, 0, rows.size())); });
    }
    centered = [&](const Indices& i) {
      Indices row = part(i, 0, rows.size());
      row.push_back(b.integer(0));
      return x(i) - result.mean(row);
    };
  }
  result.inverse_deviation = b.map(statistics, [&](const Indices& i) {
    const Scalar mean = squares(part(i, 0, rows.size())) / count_of(b, real, {width});
    return 1.0 / sqrt(mean + epsilon);
  });
  result.output = b.map(x.dims(), [&](const Indices& i) {
    Indices row = part(i, 0, rows.size());
    row.push_back(b.integer(0));
    Scalar value = centered(i) * result.inverse_deviation(row) * cast(real, gamma({i.back()}));
    if (beta.defined()) value = value + cast(real, beta({i.back()}));
    return cast(type, value);
  });
  return result;
}

TensorRef vector_operand(const OperatorContext& context, Builder& b, int k, const Dim& size) {
  const TensorRef v = real_operand(b, context, k);
  check_dims(context, v, {size}, fmt::format("input {}", k));
  return v;
}

/// output = normalised (input + skip + bias); the sum is output 3. `skip` is broadcast over leading
/// dimensions.
void skip_normalization(const OperatorContext& context, Builder& b, bool simplified) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 2 || x.rank() == 3, fmt::format("an input of shape {}", to_string(x.dims())));
  const Dims& dims = x.dims();
  const Dim& width = dims.back();
  const TensorRef skip = real_operand(b, context, 1);
  if (skip.rank() > x.rank() || !context.broadcasts_to(skip.dims(), dims)) {
    context.fail(fmt::format("skip of shape {} does not fit {}", to_string(skip.dims()), to_string(dims)));
  }
  const TensorRef gamma = vector_operand(context, b, 2, width);
  const int bias_input = simplified ? 3 : 4;
  TensorRef beta;
  TensorRef bias;
  if (!simplified && context.has(3)) beta = vector_operand(context, b, 3, width);
  if (context.has(bias_input)) bias = vector_operand(context, b, bias_input, width);
  const TensorRef sum = b.map(dims, [&](const Indices& i) {
    const Scalar value = widen(x(i));
    const Scalar with_skip = value + cast(value.type(), broadcast_load(context, skip, i, dims));
    return bias.defined() ? with_skip + cast(value.type(), bias({i.back()})) : with_skip;
  });
  const Statistics kind = simplified                     ? Statistics::simplified
                          : x.type() == ElementType::f32 ? Statistics::running_f32
                                                         : Statistics::exact;
  const LayerNorm norm = normalize(b, sum, x.type(), gamma, beta, context.real("epsilon", 1e-12F), kind);
  b.output(norm.output);
  if (context.outputs() < 2) return;
  // Where simplified there is no mean; the output stands for it with zeros.
  b.output(norm.mean.defined() ? norm.mean : b.map(norm.inverse_deviation.dims(), [&](const Indices&) {
    return b.literal(sum.type(), 0);
  }));
  b.output(norm.inverse_deviation);
  b.output(b.map(dims, [&](const Indices& i) { return cast(x.type(), sum(i)); }));
}

void skip_layer_normalization(const OperatorContext& context, Builder& b) {
  skip_normalization(context, b, false);
}

void skip_simplified_layer_normalization(const OperatorContext& context, Builder& b) {
  skip_normalization(context, b, true);
}

/// RMSNormalization under the name it had in exported models; output 1 is the inverse deviation.
void simplified_layer_normalization(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const int axis = context.axis(context.integer("axis", -1), x.rank());
  const Dims outer = part(x.dims(), 0, static_cast<size_t>(axis));
  const Dims inner = part(x.dims(), static_cast<size_t>(axis), x.dims().size());
  const TensorRef scale = real_operand(b, context, 1);
  check_dims(context, scale, inner, "the scale");
  const double epsilon = context.real("epsilon", 1e-5F);
  const TensorRef squares = b.sum(outer, inner, [&](const Indices& i, const Indices& r) {
    const Scalar value = widen(x(joined(i, r)));
    return value * value;
  });
  Dims statistics = outer;
  statistics.insert(statistics.end(), inner.size(), Dim(1));
  const TensorRef inverse = b.map(statistics, [&](const Indices& i) {
    return 1.0 / sqrt(squares(part(i, 0, outer.size())) / count_of(b, squares.type(), inner) + epsilon);
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Indices row = part(i, 0, outer.size());
    row.insert(row.end(), inner.size(), b.integer(0));
    const Scalar value = widen(x(i)) * inverse(row);
    return cast(scale.type(), value * cast(value.type(), scale(part(i, outer.size(), i.size()))));
  }));
  if (context.wants(1)) b.output(inverse);
}

struct Embeddings {
  TensorRef words, positions, segments;  ///< segments perhaps undefined
  TensorRef gamma, beta;
};

/// Sum of word, position and segment embeddings, normalised; the number of unmasked words per sequence; the
/// sum. Inputs 0, 1, 7 and, where `has_positions`, 8 are ids of words and segments, the mask, and positions.
void embed_and_normalize(const OperatorContext& context, Builder& b, const Embeddings& e,
                         bool has_positions) {
  const auto ids_operand = [&](int k) {
    return typed_operand(b, context, k, {ElementType::i32, ElementType::i64});
  };
  const TensorRef ids = ids_operand(0);
  context.check(ids.rank() == 2, fmt::format("input_ids of shape {}", to_string(ids.dims())));
  const Dim& batch = ids.dims()[0];
  const Dim& length = ids.dims()[1];
  const auto& [words, positions, segments, gamma, beta] = e;
  context.check(words.rank() == 2 && positions.rank() == 2, "the embeddings must be matrices");
  const Dim& width = words.dims()[1];
  context.check(context.equal(positions.dims()[1], width), "the embeddings differ in width");
  TensorRef segment_ids;
  context.check(context.has(1) == context.has(4), "segment_ids and segment_embedding go together");
  if (context.has(1)) {
    segment_ids = ids_operand(1);
    check_dims(context, segment_ids, ids.dims(), "segment_ids");
    context.check(segments.rank() == 2 && context.equal(segments.dims()[1], width),
                  "the embeddings differ in width");
  }
  TensorRef position_ids;
  if (has_positions && context.has(8)) {
    position_ids = ids_operand(8);
    context.check(position_ids.rank() == 2 && context.broadcasts_to(position_ids.dims(), ids.dims()),
                  fmt::format("position_ids of shape {}", to_string(position_ids.dims())));
  }
  check_dims(context, gamma, {width}, "gamma");
  check_dims(context, beta, {width}, "beta");
  TensorRef mask;
  if (context.has(7)) {
    mask = ids_operand(7);
    check_dims(context, mask, ids.dims(), "the mask");
  }

  const TensorRef sum = b.map({batch, length, width}, [&](const Indices& i) {
    const Indices token = {i[0], i[1]};
    const Scalar position =
        position_ids.defined() ? broadcast_load(context, position_ids, token, ids.dims()) : i[1];
    Scalar value = widen(words({ids(token), i[2]}));
    value = value + cast(value.type(), positions({position, i[2]}));
    if (!segments.defined()) return value;
    return value + cast(value.type(), segments({segment_ids(token), i[2]}));
  });
  const LayerNorm norm =
      normalize(b, sum, words.type(), gamma, beta, context.real("epsilon", 1e-12F), Statistics::exact);
  b.output(norm.output);
  if (context.outputs() < 2) return;
  if (mask.defined()) {
    b.output(b.sum({batch}, {length}, [&](const Indices& i, const Indices& r) {
      return cast(ElementType::i32, mask({i[0], r[0]}) == 1);
    }));
  } else {
    b.output(b.map({batch}, [&](const Indices&) { return b.integer(0, ElementType::i32); }));
  }
  if (!has_positions) return;
  b.output(b.map(sum.dims(), [&](const Indices& i) { return cast(words.type(), sum(i)); }));
}

void embed_layer_normalization(const OperatorContext& context, Builder& b) {
  Embeddings e;
  e.words = real_operand(b, context, 2);
  e.positions = real_operand(b, context, 3);
  if (context.has(4)) e.segments = real_operand(b, context, 4);
  e.gamma = real_operand(b, context, 5);
  e.beta = real_operand(b, context, 6);
  embed_and_normalize(context, b, e, true);
}

/// With tables of bytes: inputs 8 to 12 are their scales, 13 to 17 their zero points.
void quantized_embed_layer_normalization(const OperatorContext& context, Builder& b) {
  const auto dequantized = [&](int k) {
    if (k == 4 && !context.has(k)) return TensorRef();
    const TensorRef x = typed_operand(b, context, k, {ElementType::u8, ElementType::i8});
    const int nth = k < 5 ? k - 2 : k - 5 + 3;
    const TensorRef scale = typed_operand(b, context, 8 + nth, {ElementType::f32});
    const TensorRef zero = typed_operand(b, context, 13 + nth, {x.type()});
    return b.map(x.dims(), [&](const Indices& i) {
      const Scalar centered = cast(ElementType::i32, x(i)) -
                              cast(ElementType::i32, only_element(context, b, zero, "a zero point"));
      return cast(ElementType::f32, centered) * only_element(context, b, scale, "a scale");
    });
  };
  embed_and_normalize(
      context, b, {dequantized(2), dequantized(3), dequantized(4), dequantized(5), dequantized(6)}, false);
}

}  // namespace

void microsoft_normalization_operators(std::vector<OperatorEntry>& table) {
  table.insert(
      table.end(),
      {{microsoft_domain, "EmbedLayerNormalization", 1, embed_layer_normalization},
       {microsoft_domain, "QEmbedLayerNormalization", 1, quantized_embed_layer_normalization},
       {microsoft_domain, "SkipLayerNormalization", 1, skip_layer_normalization},
       {microsoft_domain, "SkipSimplifiedLayerNormalization", 1, skip_simplified_layer_normalization},
       {microsoft_domain, "SimplifiedLayerNormalization", 1, simplified_layer_normalization},
       {"", "SimplifiedLayerNormalization", 1, simplified_layer_normalization}});
}

}  // namespace axrun::ir
