// ai.onnx.ml: operators that prepare features.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/machine_learning.h"
#include "ir/ops/ml_rows.h"

namespace axrun::ir {
namespace {

constexpr std::initializer_list<ElementType> number_types = {ElementType::f32, ElementType::f64,
                                                             ElementType::i32, ElementType::i64};

/// Refuses a list that is neither one number nor one per feature (the last dimension of `dims`).
void check_list(const OperatorContext& context, const Dims& dims, size_t size, std::string_view name) {
  if (size == 1) return;
  context.check(!dims.empty() && size > 1 && context.equal(dims.back(), Dim(static_cast<int64_t>(size))),
                fmt::format("attribute '{}' has {} values for input shape {}", name, size, to_string(dims)));
}

/// The index into a list of one value or one per feature.
Scalar list_index(Builder& b, const Indices& i) { return i.empty() ? b.integer(0) : i.back(); }

void imputer(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, number_types);
  const bool real = is_float(x.type());
  const auto reals = context.reals("imputed_value_floats");
  const auto integers = context.integers("imputed_value_int64s");
  const size_t size = real ? reals.size() : integers.size();
  check_list(context, x.dims(), size, real ? "imputed_value_floats" : "imputed_value_int64s");
  const ConstantTable imputed =
      real ? ConstantTable(b, x.type(), reals) : ConstantTable(b, x.type(), integers);
  const double replaced_real = context.real("replaced_value_float", 0);
  const int64_t replaced_integer = context.integer("replaced_value_int64", 0);
  if (!real && wrap_to(x.type(), replaced_integer) != replaced_integer) {
    context.fail("replaced_value_int64 does not fit the input's type");
  }
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = x(i);
    const bool replaces_nan = replaced_real != replaced_real;
    const Scalar missing = !real          ? value == replaced_integer
                           : replaces_nan ? unary(ScalarOp::is_nan, value)
                                          : value == replaced_real;
    return select(missing, imputed.at(list_index(b, i)), value);
  }));
}

void scaler(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, number_types);
  const auto offsets = context.reals("offset");
  const auto scales = context.reals("scale");
  check_list(context, x.dims(), offsets.size(), "offset");
  check_list(context, x.dims(), scales.size(), "scale");
  const ElementType type = x.type() == ElementType::f32 ? ElementType::f32 : ElementType::f64;
  const ConstantTable offset(b, type, offsets);
  const ConstantTable scale(b, type, scales);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar feature = list_index(b, i);
    return cast(ElementType::f32, (cast(type, x(i)) - offset.at(feature)) * scale.at(feature));
  }));
}

/// Rows of all inputs side by side. Input k takes inputdimensions[k] columns (its own width where the
/// attribute is left out); missing columns are zero, superfluous ones are dropped. Dimensions after the first
/// count as one.
void feature_vectorizer(const OperatorContext& context, Builder& b) {
  context.check(context.inputs() > 0, "at least one input is needed");
  const auto widths = context.integers("inputdimensions");
  if (!widths.empty() && widths.size() != static_cast<size_t>(context.inputs())) {
    context.fail(fmt::format("{} inputdimensions for {} inputs", widths.size(), context.inputs()));
  }
  struct Part {
    TensorRef x;
    Dim first;
    Dim columns;
  };
  std::vector<Part> parts;
  Dim rows;
  Dim total = 0;
  for (int k = 0; k < context.inputs(); ++k) {
    TensorRef x = typed_operand(b, context, k, number_types);
    context.check(x.rank() > 0, fmt::format("input {} is a scalar", k));
    const Dim own_rows = x.rank() == 1 ? Dim(1) : x.dims()[0];
    const Dim own_columns = x.rank() == 1 ? x.dims()[0] : product(part(x.dims(), 1, x.dims().size()));
    if (x.rank() != 2) x = b.reshape(x, {own_rows, own_columns});
    if (k == 0) rows = own_rows;
    context.check(context.equal(own_rows, rows), fmt::format("input {} has another number of rows", k));
    Dim columns = own_columns;
    if (!widths.empty()) {
      const int64_t width = widths[static_cast<size_t>(k)];
      context.check(width >= 0 && width <= int64_t{1} << 32,
                    fmt::format("inputdimensions {} of input {}", width, k));
      columns = Dim(width);
    }
    parts.push_back({x, total, columns});
    total = total + columns;
  }
  b.output(b.map({rows, total}, [&](const Indices& i) {
    Scalar value;
    for (size_t k = parts.size(); k-- > 0;) {
      const Part& p = parts[k];
      const Scalar column = i[1] - p.first;
      const Scalar own = cast(ElementType::f32, p.x.padded({i[0], column}, 0.0));
      value = value.defined() ? select(column < p.columns, own, value) : own;
    }
    return value;
  }));
}

/// Elements along the last axis at the listed positions; a vector counts as one row.
void array_feature_extractor(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const TensorRef y = typed_operand(b, context, 1, {ElementType::i64});
  context.check(x.rank() > 0, "a scalar has no features");
  const TensorRef positions = y.rank() == 1 ? y : b.reshape(y, {product(y.dims())});
  Dims dims = x.rank() == 1 ? Dims{Dim(1)} : part(x.dims(), 0, x.dims().size() - 1);
  dims.push_back(positions.dims()[0]);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at = x.rank() == 1 ? Indices() : part(i, 0, i.size() - 1);
    at.push_back(positions({i.back()}));
    return x(at);
  }));
}

void binarizer(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, number_types);
  const double threshold = context.real("threshold", 0);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = x(i);
    const Scalar comparable = is_float(x.type()) ? value : cast(ElementType::f64, value);
    return select(comparable > threshold, b.literal(x.type(), 1), b.literal(x.type(), 0));
  }));
}

/// Divides by the largest element, by the sum of magnitudes or by the length of the vectors along axis 1
/// (axis 0 of a vector); a divisor of zero leaves them as they are.
void normalizer(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, number_types);
  const std::string norm = context.string("norm", "MAX");
  context.check(norm == "MAX" || norm == "L1" || norm == "L2", fmt::format("norm '{}' is unknown", norm));
  context.check(x.rank() > 0, "a scalar has no features");
  const ElementType type = x.type() == ElementType::f32 ? ElementType::f32 : ElementType::f64;
  const size_t axis = x.rank() == 1 ? 0 : 1;
  Dims kept = x.dims();
  kept[axis] = Dim(1);
  const TensorRef size = b.reduce(norm == "MAX" ? Monoid::Kind::max : Monoid::Kind::sum, kept,
                                  {x.dims()[axis]}, [&](const Indices& i, const Indices& r) {
                                    Indices at = i;
                                    at[axis] = r[0];
                                    const Scalar value = cast(type, x(at));
                                    return norm == "MAX" ? value : norm == "L1" ? abs(value) : value * value;
                                  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Indices at = i;
    at[axis] = b.integer(0);
    const Scalar value = cast(type, x(i));
    const Scalar divisor = norm == "L2" ? sqrt(size(at)) : size(at);
    return cast(ElementType::f32, select(size(at) == 0.0, value, value / divisor));
  }));
}

}  // namespace

void feature_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.ml";
  table.push_back({domain, "Imputer", 1, imputer});
  table.push_back({domain, "Scaler", 1, scaler});
  table.push_back({domain, "FeatureVectorizer", 1, feature_vectorizer});
  table.push_back({domain, "ArrayFeatureExtractor", 1, array_feature_extractor});
  table.push_back({domain, "Binarizer", 1, binarizer});
  table.push_back({domain, "Normalizer", 1, normalizer});
}

}  // namespace axrun::ir
