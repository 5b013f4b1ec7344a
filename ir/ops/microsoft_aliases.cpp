// com.microsoft: operators that ai.onnx took over, and small ones beside them.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

void trilu(const OperatorContext& context, Builder& b) { define_as(context, b, "Trilu", 14); }
void pad(const OperatorContext& context, Builder& b) { define_as(context, b, "Pad", 13); }
void grid_sample(const OperatorContext& context, Builder& b) { define_as(context, b, "GridSample", 16); }
void gather_nd(const OperatorContext& context, Builder& b) { define_as(context, b, "GatherND", 12); }

void range(const OperatorContext& context, Builder& b) {
  if (!context.has(2)) context.unsupported("no input 'delta'");
  define_as(context, b, "Range", 11);
}

/// A dimension of 1 in front of axis `axis` of the result, which input 1 holds.
void expand_dims(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const auto given = context.integers(1);
  context.check(given.size() == 1, "the axis must be a single number");
  const int axis = context.axis(given[0], x.rank() + 1);
  Dims dims = x.dims();
  dims.insert(dims.begin() + axis, Dim(1));
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + axis);
    return x(at);
  }));
}

/// Distances between the rows of two matrices.
void cdist(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::f32, ElementType::f64});
  const TensorRef y = typed_operand(b, context, 1, {x.type()});
  require_rank(context, 0, 2);
  require_rank(context, 1, 2);
  context.check(context.equal(x.dims()[1], y.dims()[1]), "the rows differ in length");
  const std::string metric = context.string("metric", "sqeuclidean");
  const bool squared = metric == "sqeuclidean";
  if (!squared && metric != "euclidean") context.unsupported(fmt::format("metric '{}'", metric));
  const TensorRef sum =
      b.sum({x.dims()[0], y.dims()[0]}, {x.dims()[1]}, [&](const Indices& i, const Indices& r) {
        const Scalar difference = x({i[0], r[0]}) - y({i[1], r[0]});
        return difference * difference;
      });
  b.output(squared ? sum : b.map(sum.dims(), [&](const Indices& i) { return sqrt(sum(i)); }));
}

/// z sigmoid(z) with z = scale x; z and the sigmoid are rounded to the type of x.
void scaled_silu(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const double alpha = context.real("alpha", 1);
  TensorRef scale;
  if (context.has(1)) scale = real_operand(b, context, 1);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar own = widen(x(i));
    const Scalar factor = scale.defined() ? cast(own.type(), only_element(context, b, scale, "the scale"))
                                          : b.literal(own.type(), alpha);
    const Scalar z = rounded(x.type(), own * factor);
    const Scalar gate = rounded(x.type(), sigmoid(widen(z)));
    return cast(x.type(), widen(z) * widen(gate));
  }));
}

}  // namespace

void microsoft_alias_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "CDist", 1, cdist},
                             {microsoft_domain, "ExpandDims", 1, expand_dims},
                             {microsoft_domain, "GatherND", 1, gather_nd},
                             {microsoft_domain, "GridSample", 1, grid_sample},
                             {microsoft_domain, "Pad", 1, pad},
                             {microsoft_domain, "Range", 1, range},
                             {microsoft_domain, "ScaledSiLU", 1, scaled_silu},
                             {microsoft_domain, "Trilu", 1, trilu}});
}

}  // namespace axrun::ir
