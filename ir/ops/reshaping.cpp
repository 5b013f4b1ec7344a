// Operators that keep the elements in row-major order, or repeat them: Reshape, Flatten, Squeeze, Unsqueeze,
// Expand, Tile; and those that answer sizes: Shape, Size.

#include <fmt/format.h>

#include <algorithm>

#include "ir/ops/compute.h"
#include "ir/ops/movement_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// What dims of an empty tensor are worth beside a -1: zeros do not count.
Dim product_without_zeros(const OperatorContext& context, const Dims& dims) {
  Dim product = 1;
  for (const Dim& dim : dims) {
    if (!context.is(dim, 0) && !context.is(dim, -1)) product = product * dim;
  }
  return product;
}

/// The dims a Reshape asks for. 0 copies the input's dim (unless allow_zero), one -1 takes what is left.
/// Copied dims are left out of that division, so that it works on empty tensors too. ONNX forbids a 0 that is
/// meant beside a -1; ONNX Runtime takes it where the input is empty, and so do exported models with no row
/// of a batch.
Dims reshape_target(const OperatorContext& context, const Dims& from, const Dims& asked, bool allow_zero) {
  Dims dims(asked.size());
  std::vector<bool> copied(std::max(from.size(), asked.size()), false);
  Dim given = 1;
  bool empty = false;
  int inferred = -1;
  for (size_t d = 0; d < asked.size(); ++d) {
    if (context.is(asked[d], -1)) {
      context.check(inferred < 0, "the new shape has more than one -1");
      inferred = static_cast<int>(d);
    } else if (!allow_zero && context.is(asked[d], 0)) {
      context.check(d < from.size(), "a 0 in the new shape has no dimension to copy");
      dims[d] = from[d];
      copied[d] = true;
      empty = empty || context.is(from[d], 0);
    } else {
      context.check(context.may_be_at_least(asked[d], 0), "the new shape has a negative size");
      dims[d] = asked[d];
      given = given * asked[d];
    }
  }
  Dim available = 1;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!copied[d]) available = available * from[d];
  }
  const auto refuse = [&] {
    context.fail(fmt::format("shape {} cannot become {}", to_string(from), to_string(asked)));
  };
  if (inferred >= 0) {
    if (context.is(given, 0)) {
      if (!context.is(available, 0)) refuse();
      given = product_without_zeros(context, asked);
      available = product_without_zeros(context, from);
    }
    const Dim size = floor_div(available, given);
    dims[static_cast<size_t>(inferred)] = size;
    const Dim rest = floor_mod(available, given);
    if (rest.is_constant() ? rest.value() != 0 : !context.may_be_at_least(0, rest)) refuse();
  } else {
    // Sizes that only execution can compare are taken at their word; they are compared there.
    const Dim difference = available - given;
    const bool differs = !context.may_be_at_least(difference, 0) || !context.may_be_at_least(0, difference);
    if (differs && !empty) refuse();
  }
  return dims;
}

void build_reshape(const OperatorContext& context, Builder& b, const Dims& asked, bool allow_zero) {
  const TensorRef x = operand(b, context, 0);
  b.output(b.reshape(x, reshape_target(context, x.dims(), asked, allow_zero)));
}

void define_reshape_attribute(const OperatorContext& context, Builder& b) {
  context.check(context.has_attribute("shape"), "attribute 'shape' is missing");
  build_reshape(context, b, to_dims(context.integers("shape")), false);
}

void define_reshape(const OperatorContext& context, Builder& b) {
  build_reshape(context, b, context.elements(1), flag(context, "allowzero", false));
}

/// Two dimensions: the product of the dims before the axis and that of the others.
void define_flatten(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  int64_t axis = context.integer("axis", 1);
  context.check(axis >= -x.rank() && axis <= x.rank(), fmt::format("axis {} is out of range", axis));
  if (axis < 0) axis += x.rank();
  const size_t split = static_cast<size_t>(axis);
  b.output(
      b.reshape(x, {product(part(x.dims(), 0, split)), product(part(x.dims(), split, x.dims().size()))}));
}

/// Drops the listed dims, which must be 1; all dims of 1 where no axes are given.
void define_squeeze(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  std::vector<bool> dropped(x.dims().size(), false);
  if (const auto listed = listed_axes(context, 1, "axes")) {
    for (int64_t value : *listed) {
      const auto d = static_cast<size_t>(context.axis(value, x.rank()));
      context.check(context.is_one(x.dims()[d]),
                    fmt::format("dimension {} of shape {} is not 1", d, to_string(x.dims())));
      dropped[d] = true;
    }
  } else {
    for (size_t d = 0; d < dropped.size(); ++d) dropped[d] = context.is_one(x.dims()[d]);
  }
  Dims dims;
  for (size_t d = 0; d < dropped.size(); ++d) {
    if (!dropped[d]) dims.push_back(x.dims()[d]);
  }
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at;
    size_t next = 0;
    for (size_t d = 0; d < dropped.size(); ++d) at.push_back(dropped[d] ? b.integer(0) : i[next++]);
    return x(at);
  }));
}

/// Inserts dims of 1 at the listed places of the result.
void define_unsqueeze(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const auto listed = listed_axes(context, 1, "axes");
  context.check(listed.has_value(), "the axes are missing");
  const size_t rank = x.dims().size() + listed->size();
  constexpr size_t highest_rank = 4096;
  context.check(rank <= highest_rank, "too many axes");
  std::vector<bool> inserted(rank, false);
  for (int d : context.axes(*listed, static_cast<int>(rank))) inserted[static_cast<size_t>(d)] = true;
  Dims dims;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) dims.push_back(inserted[d] ? Dim(1) : x.dims()[next++]);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at;
    for (size_t d = 0; d < rank; ++d) {
      if (!inserted[d]) at.push_back(i[d]);
    }
    return x(at);
  }));
}

void check_sizes(const OperatorContext& context, const Dims& sizes) {
  for (const Dim& size : sizes) {
    context.check(context.may_be_at_least(size, 0), "a size is negative");
  }
}

/// Broadcast of the input with the given shape, in both directions.
void define_expand(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const Dims asked = context.elements(1);
  check_sizes(context, asked);
  const Dims dims = context.broadcast({x.dims(), asked});
  b.output(b.map(dims, [&](const Indices& i) { return broadcast_load(context, x, i, dims); }));
}

/// Every dim becomes (repeat, dim), of which the load reads the second factor.
void build_tile(const OperatorContext& context, Builder& b, const TensorRef& x, const Dims& repeats) {
  check_sizes(context, repeats);
  context.check(repeats.size() == x.dims().size(), "one repeat per dimension is needed");
  Dims axes;
  std::vector<std::vector<int>> groups;
  std::vector<size_t> source;
  for (size_t d = 0; d < repeats.size(); ++d) {
    groups.emplace_back();
    if (repeats[d] != Dim(1)) {
      groups.back().push_back(static_cast<int>(axes.size()));
      axes.push_back(repeats[d]);
    }
    source.push_back(axes.size());
    groups.back().push_back(static_cast<int>(axes.size()));
    axes.push_back(x.dims()[d]);
  }
  b.output(b.map_grouped(axes, groups, [&](const Indices& i) {
    Indices at;
    for (size_t axis : source) at.push_back(i[axis]);
    return x(at);
  }));
}

void define_tile(const OperatorContext& context, Builder& b) {
  build_tile(context, b, operand(b, context, 0), context.elements(1));
}

/// Until opset 5: one repeat count, along one axis; both of the input's type.
void define_tile_axis(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const int64_t axis = context.fixed(single_size(context, 2, "the axis"));
  Dims repeats(x.dims().size(), Dim(1));
  repeats[static_cast<size_t>(context.axis(axis, x.rank()))] = single_size(context, 1, "the number of tiles");
  build_tile(context, b, x, repeats);
}

void define_shape(const OperatorContext& context, Builder& b) {
  const Dims& dims = context.dims(0);
  const int64_t rank = static_cast<int64_t>(dims.size());
  const auto place = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? std::max(position, -rank) + rank : position, 0, rank);
  };
  const int64_t start = place(context.integer("start", 0));
  const int64_t end = std::max(start, place(context.integer("end", rank)));
  const Dims chosen = part(dims, static_cast<size_t>(start), static_cast<size_t>(end));
  declare_for_dims(b, context, 0);
  b.output(b.map({end - start}, [&](const Indices& i) {
    Scalar value = chosen.empty() ? b.integer(0) : b.extent(chosen.back());
    for (size_t d = chosen.size(); d-- > 1;) {
      value = select(i[0] == static_cast<int64_t>(d - 1), b.extent(chosen[d - 1]), value);
    }
    return value;
  }));
}

void define_size(const OperatorContext& context, Builder& b) {
  const Dim size = product(context.dims(0));
  declare_for_dims(b, context, 0);
  b.output(b.map({}, [&](const Indices&) { return b.extent(size); }));
}

}  // namespace

void reshaping_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Expand", 8, define_expand},
                             {"", "Flatten", 1, define_flatten},
                             {"", "Reshape", 1, define_reshape_attribute},
                             {"", "Reshape", 5, define_reshape},
                             {"", "Shape", 1, define_shape},
                             {"", "Size", 1, define_size},
                             {"", "Squeeze", 1, define_squeeze},
                             {"", "Tile", 1, define_tile_axis},
                             {"", "Tile", 6, define_tile},
                             {"", "Unsqueeze", 1, define_unsqueeze}});
}

}  // namespace axrun::ir
