#include "ir/ops/microsoft_requests.h"

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {

using enum ElementType;

PackedRequests::PackedRequests(const OperatorContext& context, Builder& b, int k, const Dim& tokens) {
  const TensorRef given = typed_operand(b, context, k, {i32});
  require_rank(context, k, 1);
  count_ = given.dims()[0] - 1;
  context.check(context.may_be_at_least(count_, 1), "cumulative_sequence_length has no request");
  // Read beyond its end where an offset is wrong.
  const TensorRef right = b.map(
      {Dim(1)}, [&](const Indices& i) { return i[0]; }, "growing_offsets");
  offsets_ = b.map(
      given.dims(),
      [&](const Indices& i) {
        const Scalar value = cast(i64, given(i)), zero = b.integer(0);
        const Scalar is_first = i[0] == 0, is_last = i[0] == count_;
        const Scalar before = cast(i64, given.guarded({i[0] - 1}, !is_first, b.integer(0, i32)));
        const Scalar is_right =
            logical_and(select(is_first, value == 0, value > before), logical_or(!is_last, value == tokens));
        return value + right({select(is_right, zero, zero + 1)});
      },
      "cumulative_sequence_length");
  request_ = b.sum({tokens}, {count_}, [&](const Indices& i, const Indices& r) {
    return cast(i64, offsets_({r[0] + 1}) <= i[0]);
  });
}

CapturedPrefixes::CapturedPrefixes(const OperatorContext& context, Builder& b, int k,
                                   const PackedRequests& requests)
    : requests_(requests) {
  capacity_ = bounded_integer(context, "state_update_capacity", 0, 0, 8);
  context.check(context.has(k) == (capacity_ > 0),
                "capture_count goes with a positive state_update_capacity");
  if (!context.has(k)) return;
  counts_ = typed_operand(b, context, k, {i32});
  check_dims(context, counts_, {requests.count()}, "capture_count");
}

Scalar CapturedPrefixes::is_used(const Scalar& request, const Scalar& slot) const {
  return logical_and(slot < cast(i64, counts_({request})), slot < requests_.length(request));
}

}  // namespace axrun::ir
