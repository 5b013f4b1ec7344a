// Slice, and what is a slice or a window of slices: CenterCropPad, ReverseSequence, Trilu.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/movement_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

/// Exporters write 2^31-1 or more for "to the end" and the negative of it for "from the beginning"; no
/// dimension is taken to be so long, which keeps symbolic sizes free of comparisons with such numbers.
constexpr int64_t unlimited = std::numeric_limits<int32_t>::max();

/// One dimension of a slice: element i of the result is element start + i * step.
struct Range {
  Dim start;
  Dim size;
  int64_t step = 1;
};

/// ONNX's rule for steps > 0: start and end are clamped to 0..size, negative ones counted from the end
/// before.
Range forward_range(const OperatorContext& context, const Dim& start, const Dim& end, int64_t step,
                    const Dim& size) {
  // The clamps that the length below or the other end already implies are left out: they would only blur
  // symbolic sizes.
  Dim stop;
  if (end.is_constant() && end.value() >= unlimited) {
    stop = size;
  } else if (end.is_constant() && end.value() <= -unlimited) {
    stop = 0;
  } else {
    stop = context.less(end, Dim(0)) ? size + end : min(end, size);
  }
  Dim begin;
  Dim length;
  if (start.is_constant() && start.value() <= -unlimited) {
    begin = 0;
    length = stop;
  } else if (start.is_constant() && start.value() >= unlimited) {
    begin = 0;
    length = 0;
  } else if (context.less(start, Dim(0))) {
    begin = max(size + start, Dim(0));
    length = min(stop - (size + start), stop);
  } else {
    begin = start;
    length = stop - start;
  }
  return {begin, max(ceil_div(length, Dim(step)), Dim(0)), step};
}

/// For steps < 0: start is clamped to 0..size-1, end to -1..size-1.
Range backward_range(const OperatorContext& context, const Dim& start, const Dim& end, int64_t step,
                     const Dim& size) {
  const Dim last = size - 1;
  Dim begin;
  if (start == Dim(-1) || (start.is_constant() && start.value() >= unlimited)) {
    begin = last;
  } else if (start.is_constant() && start.value() <= -unlimited) {
    begin = min(Dim(0), last);
  } else if (context.less(start, Dim(0))) {
    begin = min(max(size + start, Dim(0)), last);
  } else {
    begin = min(start, last);
  }
  Dim stop;
  if (end == Dim(-1) || (end.is_constant() && end.value() >= unlimited)) {
    stop = last;
  } else if (end.is_constant() && end.value() <= -unlimited) {
    stop = -1;
  } else {
    stop = context.less(end, Dim(0)) ? max(size + end, Dim(-1)) : end;
  }
  return {begin, max(ceil_div(begin - stop, Dim(-step)), Dim(0)), step};
}

void build_slice(const OperatorContext& context, Builder& b, const Dims& starts, const Dims& ends,
                 const std::vector<int64_t>& axes, const std::vector<int64_t>& steps) {
  const TensorRef x = operand(b, context, 0);
  context.check(starts.size() == ends.size() && axes.size() == starts.size() && steps.size() == starts.size(),
                "starts, ends, axes and steps differ in length");
  std::vector<Range> ranges;
  for (const Dim& size : x.dims()) ranges.push_back({0, size, 1});
  const std::vector<int> places = context.axes(axes, x.rank());
  for (size_t k = 0; k < places.size(); ++k) {
    context.check(steps[k] != 0, "a step is 0");
    // Longer steps than this reach one element only, and so does this.
    const int64_t step = std::clamp(steps[k], -(int64_t{1} << 48), int64_t{1} << 48);
    const Dim& size = x.dims()[static_cast<size_t>(places[k])];
    ranges[static_cast<size_t>(places[k])] = step > 0
                                                 ? forward_range(context, starts[k], ends[k], step, size)
                                                 : backward_range(context, starts[k], ends[k], step, size);
  }
  Dims dims;
  for (const Range& range : ranges) dims.push_back(range.size);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < ranges.size(); ++d) at.push_back(i[d] * ranges[d].step + ranges[d].start);
    return x(at);
  }));
}

std::vector<int64_t> leading_axes(size_t count) {
  std::vector<int64_t> axes;
  for (size_t k = 0; k < count; ++k) axes.push_back(static_cast<int64_t>(k));
  return axes;
}

void define_slice_attributes(const OperatorContext& context, Builder& b) {
  const Dims starts = to_dims(context.integers("starts"));
  const Dims ends = to_dims(context.integers("ends"));
  const std::vector<int64_t> axes =
      context.has_attribute("axes") ? context.integers("axes") : leading_axes(starts.size());
  build_slice(context, b, starts, ends, axes, std::vector<int64_t>(starts.size(), 1));
}

void define_slice(const OperatorContext& context, Builder& b) {
  const Dims starts = context.elements(1);
  const Dims ends = context.elements(2);
  const std::vector<int64_t> axes = context.has(3) ? context.integers(3) : leading_axes(starts.size());
  const std::vector<int64_t> steps =
      context.has(4) ? context.integers(4) : std::vector<int64_t>(starts.size(), 1);
  build_slice(context, b, starts, ends, axes, steps);
}

/// The middle of a longer dimension, or a shorter one in the middle of zeros; odd differences leave one more
/// at the end.
void define_center_crop_pad(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const Dims asked = context.elements(1);
  const std::vector<int64_t> axes =
      context.has_attribute("axes") ? context.integers("axes") : leading_axes(x.dims().size());
  context.check(asked.size() == axes.size(), "one size per axis is needed");
  Dims dims = x.dims();
  Dims offsets(dims.size(), Dim(0));
  bool padded = false;
  const std::vector<int> places = context.axes(axes, x.rank());
  for (size_t k = 0; k < places.size(); ++k) {
    const auto d = static_cast<size_t>(places[k]);
    context.check(context.may_be_at_least(asked[k], 0), "a size is negative");
    const bool crop = !context.less(dims[d], asked[k]);
    padded = padded || !crop;
    offsets[d] =
        crop ? floor_div(dims[d] - asked[k], Dim(2)) : Dim(0) - floor_div(asked[k] - dims[d], Dim(2));
    dims[d] = asked[k];
  }
  std::function<Scalar()> nothing;
  if (padded) nothing = nothing_of(b, x.type());
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < dims.size(); ++d) at.push_back(i[d] + offsets[d]);
    return padded ? x.padded(at, nothing()) : x(at);
  }));
}

/// Along the time axis, the first sequence_lens[batch] elements backwards and the others as they are.
void define_reverse_sequence(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const TensorRef lengths = operand(b, context, 1);
  require_type(context, 1, TypeClass::integer);
  require_rank(context, 1, 1);
  const auto batch = static_cast<size_t>(context.axis(context.integer("batch_axis", 1), x.rank()));
  const auto time = static_cast<size_t>(context.axis(context.integer("time_axis", 0), x.rank()));
  context.check(batch != time, "batch_axis and time_axis are the same");
  context.check(context.equal(lengths.dims()[0], x.dims()[batch]), "one length per batch element is needed");
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar length = cast(ElementType::i64, lengths({i[batch]}));
    Indices at = i;
    at[time] = select(i[time] < length, length - 1 - i[time], i[time]);
    return x(at);
  }));
}

/// Zeros below (upper) or above the k-th diagonal of the last two dims.
void define_trilu(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  context.check(x.rank() >= 2, "the input must have at least two dimensions");
  const bool upper = flag(context, "upper", true);
  const auto nothing = nothing_of(b, x.type());
  TensorRef diagonal;
  if (context.has(1)) {
    require_type(context, 1, TypeClass::integer);
    diagonal = operand(b, context, 1);
  }
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar k =
        diagonal.defined() ? cast(ElementType::i64, only_element(context, b, diagonal, "k")) : b.integer(0);
    const Scalar distance = i.back() - i[i.size() - 2];
    return select(upper ? distance >= k : distance <= k, x(i), nothing());
  }));
}

}  // namespace

void slicing_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "CenterCropPad", 18, define_center_crop_pad},
                             {"", "ReverseSequence", 10, define_reverse_sequence},
                             {"", "Slice", 1, define_slice_attributes},
                             {"", "Slice", 10, define_slice},
                             {"", "Trilu", 14, define_trilu}});
}

}  // namespace axrun::ir
