// Pad in its four modes.

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/compute.h"
#include "ir/ops/movement_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

/// What is added (or, negative, removed) at the two ends of a dimension.
struct Margin {
  Dim before = 0;
  Dim after = 0;
  bool none() const { return before == Dim(0) && after == Dim(0); }
};

enum class PadMode { constant, reflect, edge, wrap };

PadMode pad_mode(const OperatorContext& context) {
  const std::string mode = context.string("mode", "constant");
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "edge") return PadMode::edge;
  context.check(mode == "wrap", fmt::format("attribute 'mode' = '{}' is unknown", mode));
  return PadMode::wrap;
}

/// The input elements that the pattern repeats: what the removed ends leave.
struct Kept {
  Dim low;   ///< first
  Dim high;  ///< one past the last
};

Kept kept_of(const Margin& margin, const Dim& size) {
  return {max(Dim(0) - margin.before, Dim(0)), min(size + margin.after, size)};
}

/// The element of a dimension of the given size that stands at coordinate `i` of the padded line, whose
/// origin is the first input element. Removed ends do not take part: the pattern repeats what is left.
Scalar mirrored(PadMode mode, const Scalar& i, const Margin& margin, const Dim& size) {
  const auto [low, high] = kept_of(margin, size);
  const Dim count = high - low;
  if (mode == PadMode::edge) return max(min(i, i.builder().extent(high - 1)), low);
  const Scalar place = i - low;
  if (mode == PadMode::wrap) return floor_mod(place, count) + low;
  // There and back again has period 2 (count - 1).
  const Dim turn = count - 1;
  const Scalar phase = floor_mod(place, max(2 * turn, Dim(1)));
  return min(phase, i.builder().extent(2 * turn) - phase) + low;
}

void build_pad(const OperatorContext& context, Builder& b, const std::vector<Margin>& margins,
               const std::function<Scalar()>& filler) {
  const PadMode mode = pad_mode(context);
  const TensorRef x = operand(b, context, 0);
  constexpr int64_t largest = int64_t{1} << 40;
  Dims dims;
  for (size_t d = 0; d < margins.size(); ++d) {
    for (const Dim& pad : {margins[d].before, margins[d].after}) {
      context.check(context.may_be_at_least(pad, -largest) && context.may_be_at_least(largest, pad),
                    "absurd padding");
    }
    const Dim size = x.dims()[d] + margins[d].before + margins[d].after;
    context.check(context.may_be_at_least(size, 0), "more is removed than there is");
    const Kept kept = kept_of(margins[d], x.dims()[d]);
    const Dim count = kept.high - kept.low;
    const bool nothing = mode != PadMode::constant && !context.may_be_at_least(count, 1);
    context.check(!nothing || context.is(size, 0), "nothing is left to repeat");
    dims.push_back(size);
  }
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < margins.size(); ++d) {
      const Scalar place = i[d] - margins[d].before;
      const bool moved = mode != PadMode::constant && !margins[d].none();
      at.push_back(moved ? mirrored(mode, place, margins[d], x.dims()[d]) : place);
    }
    return mode == PadMode::constant ? x.padded(at, filler()) : x(at);
  }));
}

std::vector<Margin> margins_of(const OperatorContext& context, const Dims& pads,
                               const std::vector<int>& axes) {
  context.check(pads.size() == 2 * axes.size(), "two pads per axis are needed");
  std::vector<Margin> margins(context.dims(0).size());
  for (size_t k = 0; k < axes.size(); ++k) {
    margins[static_cast<size_t>(axes[k])] = {pads[k], pads[axes.size() + k]};
  }
  return margins;
}

std::vector<int> all_axes(int rank) {
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  return axes;
}

void define_pad_attributes(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number_or_boolean);
  const Dims pads = to_dims(context.integers(context.version() < 2 ? "paddings" : "pads"));
  const double value = context.real("value", 0);
  build_pad(context, b, margins_of(context, pads, all_axes(context.rank(0))),
            [&] { return b.literal(context.type(0), value); });
}

void define_pad(const OperatorContext& context, Builder& b) {
  const std::vector<int> axes =
      context.has(3) ? context.axes(context.integers(3), context.rank(0)) : all_axes(context.rank(0));
  TensorRef value;
  if (context.has(2) && pad_mode(context) == PadMode::constant) {
    require_same_type(context, 0, 2);
    value = operand(b, context, 2);
  }
  std::function<Scalar()> nothing;
  if (!value.defined()) nothing = nothing_of(b, context.type(0));
  build_pad(context, b, margins_of(context, context.elements(1), axes),
            [&] { return value.defined() ? only_element(context, b, value, "constant_value") : nothing(); });
}

}  // namespace

void padding_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Pad", 1, define_pad_attributes}, {"", "Pad", 11, define_pad}});
}

}  // namespace axrun::ir
