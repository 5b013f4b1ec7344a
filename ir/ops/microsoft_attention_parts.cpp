#include "ir/ops/microsoft_attention_parts.h"

#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {

LogitTerms::LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape,
                       std::function<Scalar()> past, bool buffered)
    : context_(context),
      b_(b),
      shape_(shape),
      past_(std::move(past)),
      buffered_(buffered),
      filter_(context.real("mask_filter_value", -10000)),
      causal_(flag(context, "unidirectional", false)) {}

LogitTerms::LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape,
                       const Dim& past)
    : LogitTerms(
          context, b, shape, [&b, past] { return b.extent(past); }, false) {}

LogitTerms::LogitTerms(const OperatorContext& context, Builder& b, const AttentionShape& shape,
                       std::function<Scalar()> past)
    : LogitTerms(context, b, shape, std::move(past), true) {}

void LogitTerms::read_mask(int k) {
  if (!context_.has(k)) return;
  mask_ = typed_operand(b_, context_, k, {ElementType::i32, ElementType::i64, ElementType::boolean});
  const Dims& dims = mask_.dims();
  const auto refuse = [&] { context_.fail(fmt::format("a mask of shape {}", to_string(dims))); };
  if (dims.size() == 1) {
    has_starts_ = !context_.equal(dims[0], shape_.batch);
    if (has_starts_ && !context_.equal(dims[0], shape_.batch * 2)) {
      if (context_.equal(dims[0], shape_.batch * 3 + 2)) context_.unsupported("a mask of cumulated lengths");
      refuse();
    }
  } else if (buffered_) {
    read_buffered_mask();
  } else if (dims.size() == 2) {
    if (!context_.equal(dims[1], shape_.keys)) {
      if (!context_.is_one(dims[1])) refuse();
      mask_ = TensorRef();
      return;
    }
    if (!context_.equal(dims[0], shape_.batch)) refuse();
  } else if (dims.size() == 3) {
    check_dims(context_, mask_, {shape_.batch, shape_.queries, shape_.keys}, "the mask");
  } else if (dims.size() == 4) {
    check_dims(context_, mask_, {shape_.batch, Dim(1), dims[2], dims[2]}, "the mask");
    if (context_.less(dims[2], shape_.keys) || causal_) refuse();
  } else {
    refuse();
  }
}

void LogitTerms::read_buffered_mask() {
  const Dims& dims = mask_.dims();
  if (dims.size() == 2) {
    check_dims(context_, mask_, {shape_.batch, dims[1]}, "the mask");
  } else if (dims.size() == 3) {
    check_dims(context_, mask_, {shape_.batch, shape_.queries, dims[2]}, "the mask");
  } else {
    context_.fail(fmt::format("a mask of shape {}", to_string(dims)));
  }
  // As above, one of a single column masks nothing where there are more keys.
  if (!context_.is(dims.back(), 1)) columns_.push_back(dims.back());
}

void LogitTerms::read_bias(int k) {
  if (!context_.has(k)) return;
  bias_ = real_operand(b_, context_, k);
  const auto refuse = [&] {
    context_.fail(fmt::format("attention_bias of shape {}", to_string(bias_.dims())));
  };
  if (bias_.rank() != 4) refuse();
  Dims dims = shape_.scores();
  if (buffered_) {
    dims[3] = bias_.dims()[3];
    columns_.push_back(dims[3]);
  }
  if (!context_.broadcasts_to(bias_.dims(), dims)) refuse();
}

Scalar LogitTerms::exists(const Scalar& key) const {
  Scalar all = buffered_ ? key < past_() + shape_.queries : b_.boolean(true);
  for (const Dim& columns : columns_) all = logical_and(all, key < columns);
  return all;
}

Scalar LogitTerms::apply(const Indices& i, const Scalar& product) const {
  Scalar sum = product;
  if (bias_.defined()) sum = sum + cast(sum.type(), bias_at(i));
  const ElementType type = sum.type();
  Scalar mask;
  if (mask_.defined()) {
    mask = select(kept(i), b_.literal(type, 0), b_.literal(type, filter_));
  }
  if (causal_) {
    // The last query sees every key, even where there are more keys than queries.
    const Scalar hidden = logical_and(i[2]<shape_.queries - 1, i[3]> i[2] + past_());
    const Scalar otherwise = mask.defined() ? mask : b_.literal(type, 0);
    mask = select(hidden, b_.literal(type, std::numeric_limits<float>::lowest()), otherwise);
  }
  if (mask.defined()) sum = sum + mask;
  if (!buffered_) return sum;
  return select(exists(i[3]), sum, b_.literal(type, -std::numeric_limits<double>::infinity()));
}

Scalar LogitTerms::bias_at(const Indices& i) const {
  if (!buffered_) return broadcast_load(context_, bias_, i, shape_.scores());
  const Dims dims = shape_.scores();
  Indices at = i;
  for (size_t d = 0; d < 3; ++d) {
    if (bias_.dims()[d] != dims[d] && context_.is_one(bias_.dims()[d])) at[d] = b_.integer(0);
  }
  return bias_.padded(at, 0);
}

Scalar LogitTerms::kept(const Indices& i) const {
  const Scalar& batch = i[0];
  const Scalar& key = i[3];
  if (mask_.rank() > 1) {
    const Indices at = mask_.rank() == 2   ? Indices{batch, key}
                       : mask_.rank() == 3 ? Indices{batch, i[2], key}
                                           : Indices{batch, b_.integer(0), i[2] + past_(), key};
    if (!buffered_) return cast(ElementType::i32, mask_(at)) > 0;
    const Scalar is_kept = cast(ElementType::i32, mask_.padded(at, 1)) > 0;
    if (!context_.is(mask_.dims().back(), 1)) return is_kept;
    return logical_or(is_kept, past_() + shape_.queries > 1);
  }
  const Scalar before_end = key < cast(ElementType::i64, mask_({batch}));
  if (!has_starts_) return before_end;
  const Scalar start = cast(ElementType::i64, mask_({batch + shape_.batch}));
  return logical_and(before_end, key >= start);
}

Dim head_count(const OperatorContext& context, std::string_view name) {
  return Dim(bounded_integer(context, name, 0, 1, int64_t{1} << 20));
}

Dim divided(const OperatorContext& context, const Dim& size, const Dim& parts, std::string_view what) {
  const Dim quotient = floor_div(size, parts);
  context.check(context.equal(quotient * parts, size),
                fmt::format("{} {} is not divisible by {}", what, size.to_string(), parts.to_string()));
  return quotient;
}

TensorRef converted(Builder& b, const TensorRef& x, ElementType type) {
  if (x.type() == type) return x;
  return b.map(x.dims(), [&](const Indices& i) { return cast(type, x(i)); });
}

}  // namespace axrun::ir
