// Concat and Split.

#include <fmt/format.h>

#include "ir/ops/movement_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// True when the dim is certain not to be 0.
bool surely_positive(const OperatorContext& context, const Dim& dim) {
  try {
    return context.less(Dim(0), dim);
  } catch (const NotYetKnown&) {
    return false;
  }
}

/// result[.., i, ..] = the part that i falls into, read at i - its offset, as a chain of guarded loads. The
/// end of the chain is never used; for strings, which have no literals, it is some element of a part that is
/// not empty.
class Chain {
 public:
  Chain(const OperatorContext& context, Builder& b, std::vector<TensorRef> parts, size_t axis)
      : context_(context), b_(b), parts_(std::move(parts)), axis_(axis) {
    for (const TensorRef& part : parts_) {
      ends_.push_back((ends_.empty() ? Dim(0) : ends_.back()) + part.dims()[axis_]);
    }
  }

  const Dim& size() const { return ends_.back(); }

  Scalar at(const Indices& indices) const {
    const Scalar& i = indices[axis_];
    Scalar value = filler(indices);
    for (size_t k = parts_.size(); k-- > 0;) {
      Indices at = indices;
      at[axis_] = k == 0 ? i : i - ends_[k - 1];
      value = parts_[k].guarded(at, guard(i, k), value);
    }
    return value;
  }

 private:
  /// Exactly where part k is meant: the value behind a guard is computed everywhere.
  Scalar guard(const Scalar& i, size_t k) const {
    Scalar inside = b_.boolean(true);
    if (k > 0) inside = i >= ends_[k - 1];
    return k + 1 < parts_.size() ? logical_and(inside, i < ends_[k]) : inside;
  }

  Scalar filler(const Indices& indices) const {
    const ElementType type = parts_[0].type();
    if (type != ElementType::string) return b_.literal(type, 0);
    for (const TensorRef& part : parts_) {
      if (!surely_positive(context_, part.dims()[axis_])) continue;
      Indices at = indices;
      at[axis_] = b_.integer(0);
      return part(at);
    }
    throw NotYetKnown{"which of the strings to concatenate are empty"};
  }

  const OperatorContext& context_;
  Builder& b_;
  std::vector<TensorRef> parts_;
  size_t axis_;
  std::vector<Dim> ends_;
};

void define_concat(const OperatorContext& context, Builder& b) {
  context.check(context.inputs() > 0, "at least one input is needed");
  context.check(context.version() < 4 || context.has_attribute("axis"), "attribute 'axis' is missing");
  std::vector<TensorRef> parts;
  for (int k = 0; k < context.inputs(); ++k) {
    require_same_type(context, 0, k);
    parts.push_back(operand(b, context, k));
  }
  const TensorRef first = parts[0];
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 1), first.rank()));
  for (const TensorRef& part : parts) {
    bool fits = part.rank() == first.rank();
    for (size_t d = 0; fits && d < first.dims().size(); ++d) {
      fits = d == axis || context.equal(part.dims()[d], first.dims()[d]);
    }
    if (!fits) {
      context.fail(fmt::format("shapes {} and {} cannot be joined along axis {}", to_string(first.dims()),
                               to_string(part.dims()), axis));
    }
  }
  // Empty parts say nothing; an empty result has nothing to say.
  std::vector<TensorRef> filled;
  for (const TensorRef& part : parts) {
    if (part.dims()[axis] != Dim(0)) filled.push_back(part);
  }
  if (filled.empty()) filled.push_back(first);
  const Chain chain(context, b, filled, axis);
  Dims dims = first.dims();
  dims[axis] = chain.size();
  b.output(b.map(dims, [&](const Indices& i) { return filled.size() == 1 ? filled[0](i) : chain.at(i); }));
}

/// The sizes of a Split's parts: given; or, since opset 18, `num_outputs` of them rounded up, the last ones
/// smaller; or equal.
Dims split_sizes(const OperatorContext& context, const Dim& whole) {
  const int64_t count = context.outputs();
  context.check(count > 0, "it has no outputs");
  Dims sizes;
  if (context.has(1)) {
    sizes = context.elements(1);
  } else if (context.has_attribute("split")) {
    sizes = to_dims(context.integers("split"));
  } else if (context.version() >= 18) {
    const int64_t asked = context.integer("num_outputs", count);
    context.check(asked == count, fmt::format("num_outputs is {} but the node has {} outputs", asked, count));
    const Dim chunk = ceil_div(whole, Dim(count));
    for (int64_t k = 0; k < count; ++k) sizes.push_back(min(chunk, max(whole - Dim(k) * chunk, Dim(0))));
    return sizes;
  } else {
    context.check(context.equal(floor_mod(whole, Dim(count)), Dim(0)),
                  fmt::format("a dimension of {} has no {} equal parts", whole.to_string(), count));
    return Dims(static_cast<size_t>(count), floor_div(whole, Dim(count)));
  }
  context.check(static_cast<int64_t>(sizes.size()) == count, "one size per output is needed");
  Dim sum = 0;
  for (const Dim& size : sizes) {
    context.check(context.may_be_at_least(size, 0), "a size is negative");
    sum = sum + size;
  }
  context.check(context.equal(sum, whole),
                fmt::format("the sizes {} do not add up to {}", to_string(sizes), whole.to_string()));
  return sizes;
}

void define_split(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), x.rank()));
  Dim offset = 0;
  for (const Dim& size : split_sizes(context, x.dims()[axis])) {
    Dims dims = x.dims();
    dims[axis] = size;
    b.output(b.map(dims, [&](const Indices& i) {
      Indices at = i;
      at[axis] = i[axis] + offset;
      return x(at);
    }));
    offset = offset + size;
  }
}

}  // namespace

void joining_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Concat", 1, define_concat}, {"", "Split", 1, define_split}});
}

}  // namespace axrun::ir
