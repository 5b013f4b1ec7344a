// ai.onnx.ml: operators that look values up in a list: LabelEncoder, CategoryMapper, OneHotEncoder.
#include <fmt/format.h>

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/constant_table.h"
#include "ir/ops/machine_learning.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

/// A list of numbers or strings: of one type, from one of several attributes.
struct List {
  ElementType type = ElementType::undefined;
  std::vector<double> reals;
  std::vector<int64_t> integers;
  std::vector<std::string> strings;

  size_t size() const {
    return type == ElementType::string ? strings.size() : is_float(type) ? reals.size() : integers.size();
  }
};

ConstantTable table_of(Builder& b, const List& list) {
  return is_float(list.type) ? ConstantTable(b, list.type, list.reals)
                             : ConstantTable(b, list.type, list.integers);
}

List list_of(const Tensor& tensor) {
  List list{tensor.type(), {}, {}, {}};
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (tensor.type() == ElementType::string) {
      list.strings.push_back(tensor.strings()[k]);
    } else if (is_float(tensor.type())) {
      list.reals.push_back(tensor.get_real(k));
    } else {
      list.integers.push_back(tensor.get_int(k));
    }
  }
  return list;
}

/// The attribute `prefix`_strings, _int64s, _floats or _tensor: exactly one must be there, and not be empty.
List list_attribute(const OperatorContext& context, const std::string& prefix) {
  List list;
  int found = 0;
  if (context.has_attribute(prefix + "_strings")) {
    list = {ElementType::string, {}, {}, context.strings(prefix + "_strings")};
    ++found;
  }
  if (context.has_attribute(prefix + "_int64s")) {
    list = {ElementType::i64, {}, context.integers(prefix + "_int64s"), {}};
    ++found;
  }
  if (context.has_attribute(prefix + "_floats")) {
    list = {ElementType::f32, context.reals(prefix + "_floats"), {}, {}};
    ++found;
  }
  if (const Tensor* tensor = context.tensor(prefix + "_tensor")) {
    list = list_of(*tensor);
    ++found;
  }
  context.check(found == 1 && list.size() > 0, fmt::format("exactly one list '{}_...' is needed", prefix));
  return list;
}

/// Position of each element of x in `keys` as i64; the last one of equal keys, -1 where there is none. NaN
/// equals NaN.
TensorRef positions_of(const OperatorContext& context, Builder& b, const TensorRef& x, const List& keys) {
  context.check(x.type() == keys.type, fmt::format("keys of type {} for an input of type {}",
                                                   name_of(keys.type), name_of(x.type())));
  if (keys.type == ElementType::string) return find_strings(b, x, keys.strings);
  const ConstantTable table = table_of(b, keys);
  const Dim count(static_cast<int64_t>(keys.size()));
  return b.reduce(Monoid::Kind::max, x.dims(), {count}, [&](const Indices& i, const Indices& r) {
    const Scalar value = x(i);
    const Scalar key = table.at(r[0]);
    Scalar found = value == key;
    if (is_float(keys.type)) {
      const Scalar both_nan = logical_and(unary(ScalarOp::is_nan, value), unary(ScalarOp::is_nan, key));
      found = binary(ScalarOp::logical_or, found, both_nan);
    }
    return select(found, r[0], b.integer(-1));
  });
}

TensorRef values_at(Builder& b, const TensorRef& positions, const List& values, const List& otherwise) {
  if (values.type == ElementType::string) {
    return choose_strings(b, positions, values.strings, otherwise.strings[0]);
  }
  const ConstantTable table = table_of(b, values);
  const ConstantTable fallback = table_of(b, otherwise);
  return b.map(positions.dims(), [&](const Indices& i) {
    const Scalar position = positions(i);
    return select(position < 0, fallback.at(b.integer(0)), table.at(max(position, 0)));
  });
}

List default_for(const OperatorContext& context, ElementType type) {
  List list{type, {}, {}, {}};
  if (const Tensor* tensor = context.tensor("default_tensor")) {
    list = list_of(*tensor);
    context.check(list.type == type && list.size() == 1,
                  "default_tensor must be one element of the values' type");
  } else if (type == ElementType::string) {
    list.strings = {context.string("default_string", "_Unused")};
  } else if (is_float(type)) {
    list.reals = {context.real("default_float", -0.0)};
  } else {
    list.integers = {context.integer("default_int64", -1)};
  }
  return list;
}

/// Integers name strings by position, and strings are answered by their position.
void label_encoder_1(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::string, ElementType::i64});
  const auto classes = context.strings("classes_strings");
  context.check(!classes.empty(), "attribute 'classes_strings' is needed");
  if (x.type() == ElementType::i64) {
    b.output(choose_strings(b, x, classes, context.string("default_string", "_Unused")));
    return;
  }
  const TensorRef positions = find_strings(b, x, classes);
  const int64_t otherwise = context.integer("default_int64", -1);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    return select(positions(i) < 0, b.integer(otherwise), positions(i));
  }));
}

void label_encoder_2(const OperatorContext& context, Builder& b) {
  const List keys = list_attribute(context, "keys");
  const List values = list_attribute(context, "values");
  context.check(keys.size() == values.size(),
                fmt::format("{} keys for {} values", keys.size(), values.size()));
  const TensorRef positions = positions_of(context, b, operand(b, context, 0), keys);
  b.output(values_at(b, positions, values, default_for(context, values.type)));
}

void category_mapper(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::string, ElementType::i64});
  const List integers{ElementType::i64, {}, context.integers("cats_int64s"), {}};
  const List strings{ElementType::string, {}, {}, context.strings("cats_strings")};
  context.check(integers.size() > 0 && integers.size() == strings.size(),
                "lists 'cats_int64s' and 'cats_strings' of one length are needed");
  const bool from_strings = x.type() == ElementType::string;
  const TensorRef positions = positions_of(context, b, x, from_strings ? strings : integers);
  const List& values = from_strings ? integers : strings;
  b.output(values_at(b, positions, values, default_for(context, values.type)));
}

/// Numbers are truncated to integers before the look-up. Unless `zeros` allows them, unknown categories are
/// refused when they are met: reading `ones` at -1 is the user's error.
void one_hot_encoder(const OperatorContext& context, Builder& b) {
  TensorRef x = typed_operand(
      b, context, 0,
      {ElementType::string, ElementType::i64, ElementType::i32, ElementType::f32, ElementType::f64});
  const List keys = list_attribute(context, "cats");
  if (is_float(x.type()) || x.type() == ElementType::i32) {
    const TensorRef source = x;
    x = b.map(source.dims(), [&](const Indices& i) { return cast(ElementType::i64, source(i)); });
  }
  const TensorRef positions = positions_of(context, b, x, keys);
  const Dim count(static_cast<int64_t>(keys.size()));
  const bool allows_unknown = context.integer("zeros", 1) != 0;
  TensorRef ones;
  if (!allows_unknown) {
    ones = b.map({count}, [&](const Indices&) { return b.real(ElementType::f32, 1); });
  }
  Dims dims = x.dims();
  dims.push_back(count);
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar position = positions(part(i, 0, i.size() - 1));
    const Scalar one = allows_unknown ? b.real(ElementType::f32, 1) : ones({position});
    return select(position == i.back(), one, b.real(ElementType::f32, 0));
  }));
}

}  // namespace

void encoder_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.ml";
  table.push_back({domain, "LabelEncoder", 1, label_encoder_1});
  table.push_back({domain, "LabelEncoder", 2, label_encoder_2});
  table.push_back({domain, "CategoryMapper", 1, category_mapper});
  table.push_back({domain, "OneHotEncoder", 1, one_hot_encoder});
}

}  // namespace axrun::ir
