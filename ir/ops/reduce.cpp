// ReduceSum and its relatives: elements prepared, combined by a monoid, the result finished.

#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/reduction_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The axes are an attribute at first and an input since opset 13 (ReduceSum) or 18. Where none are listed,
/// all are reduced, or, with noop_with_empty_axes, none.
ReducedDims reduced_dims(const OperatorContext& context) {
  const Dims& dims = context.dims(0);
  const std::vector<int64_t> listed = listed_axes(context, 1, "axes").value_or(std::vector<int64_t>());
  const bool all = listed.empty() && !flag(context, "noop_with_empty_axes", false);
  std::vector<bool> which(dims.size(), all);
  for (int d : context.axes(listed, static_cast<int>(dims.size()))) which[static_cast<size_t>(d)] = true;
  return ReducedDims(dims, std::move(which), flag(context, "keepdims", true));
}

using Rule = Scalar (*)(const Scalar&);
Scalar same(const Scalar& x) { return x; }
Scalar square(const Scalar& x) { return x * x; }

/// Between stages narrow floats are kept as float32, so that a sum does not overflow before it is finished.
/// `real` operators take integers as float64.
struct Reducer {
  const OperatorContext& context;
  Builder& b;
  bool real;
  TensorRef x = operand(b, context, 0);
  ReducedDims dims = reduced_dims(context);

  Scalar load(const Indices& i, const Indices& k) const {
    const Scalar element = x(dims.at(i, k));
    return real && !is_float(element.type()) ? cast(ElementType::f64, element) : widen(element);
  }
  TensorRef reduce(Monoid::Kind kind, Rule prepare) {
    return b.reduce(kind, dims.result, dims.inner,
                    [&](const Indices& i, const Indices& k) { return prepare(load(i, k)); });
  }
  /// finish(y), rounded to the input's type; y itself where that changes nothing.
  void output(const TensorRef& y, const std::function<Scalar(const Scalar&)>& finish = {}) {
    if (!finish && y.type() == x.type()) return b.output(y);
    b.output(
        b.map(dims.result, [&](const Indices& i) { return cast(x.type(), finish ? finish(y(i)) : y(i)); }));
  }
};

Reducer reducer(const OperatorContext& context, Builder& b, bool real = false) {
  require_type(context, 0, TypeClass::number);
  return Reducer{context, b, real};
}

template <Monoid::Kind kind, Rule prepare>
void define_plain(const OperatorContext& context, Builder& b) {
  Reducer r = reducer(context, b);
  r.output(r.reduce(kind, prepare));
}

/// Booleans compare as false < true.
template <Monoid::Kind kind>
void define_extremum(const OperatorContext& context, Builder& b) {
  if (context.type(0) != ElementType::boolean) return define_plain<kind, same>(context, b);
  Reducer r{context, b, false};
  const TensorRef extremum = b.reduce(
      kind, r.dims.result, r.dims.inner,
      [&](const Indices& i, const Indices& k) { return cast(ElementType::u8, r.x(r.dims.at(i, k))); });
  // Of no elements the least byte is 255, which as a boolean is true.
  b.output(b.map(r.dims.result, [&](const Indices& i) { return extremum(i) != 0; }));
}

/// The quotient of integers is truncated.
void define_mean(const OperatorContext& context, Builder& b) {
  Reducer r = reducer(context, b);
  r.output(r.reduce(Monoid::Kind::sum, same),
           [&](const Scalar& sum) { return sum / count_of(b, sum.type(), r.dims.inner); });
}

void define_l2(const OperatorContext& context, Builder& b) {
  Reducer r = reducer(context, b, true);
  r.output(r.reduce(Monoid::Kind::sum, square), [](const Scalar& sum) { return sqrt(sum); });
}

void define_log_sum(const OperatorContext& context, Builder& b) {
  Reducer r = reducer(context, b, true);
  r.output(r.reduce(Monoid::Kind::sum, same), [](const Scalar& sum) { return log(sum); });
}

/// m + log(sum exp(x - m)) with m the maximum, or 0 where that is infinite: then no difference of infinities
/// arises.
void define_log_sum_exp(const OperatorContext& context, Builder& b) {
  Reducer r = reducer(context, b, true);
  const TensorRef greatest = r.reduce(Monoid::Kind::max, same);
  const auto pivot = [&](const Indices& i) {
    const Scalar m = greatest(i);
    return select(unary(ScalarOp::is_inf, m), b.real(m.type(), 0), m);
  };
  const TensorRef sum = b.sum(r.dims.result, r.dims.inner, [&](const Indices& i, const Indices& k) {
    return exp(r.load(i, k) - pivot(i));
  });
  b.output(b.map(r.dims.result, [&](const Indices& i) { return cast(r.x.type(), pivot(i) + log(sum(i))); }));
}

}  // namespace

void reduce_operators(std::vector<OperatorEntry>& table) {
  using Kind = Monoid::Kind;
  table.insert(table.end(), {{"", "ReduceL1", 1, define_plain<Kind::sum, abs>},
                             {"", "ReduceL2", 1, define_l2},
                             {"", "ReduceLogSum", 1, define_log_sum},
                             {"", "ReduceLogSumExp", 1, define_log_sum_exp},
                             {"", "ReduceMax", 1, define_extremum<Kind::max>},
                             {"", "ReduceMean", 1, define_mean},
                             {"", "ReduceMin", 1, define_extremum<Kind::min>},
                             {"", "ReduceProd", 1, define_plain<Kind::product, same>},
                             {"", "ReduceSum", 1, define_plain<Kind::sum, same>},
                             {"", "ReduceSumSquare", 1, define_plain<Kind::sum, square>}});
}

}  // namespace axrun::ir
