// States that stay in place: values that grow along one axis lie at the beginning of buffers that are longer.
//
// Models do not have these operators: graphs that are made for states do (runtime/state).
#include <fmt/format.h>

#include <cstring>

#include "ir/ops/compute.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The axis, and that the input k has the dims of the buffer but there.
size_t grown_axis(const OperatorContext& context, int k) {
  const Dims& buffer = context.dims(0);
  const Dims& dims = context.dims(k);
  const auto axis = static_cast<size_t>(context.axis(context.integer("axis", 0), context.rank(0)));
  bool fits = dims.size() == buffer.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) fits = d == axis || context.equal(dims[d], buffer[d]);
  if (!fits) {
    context.fail(fmt::format("shape {} does not lie in a buffer of shape {} along axis {}", to_string(dims),
                             to_string(buffer), axis));
  }
  return axis;
}

void require_room(const OperatorContext& context, const Dim& room, const Dim& wanted) {
  if (context.may_be_at_least(room - wanted, 0)) return;
  throw Error(Fault::user, fmt::format("state '{}' has a capacity of {}: there is no room for {}",
                                       context.name(), room.to_string(), wanted.to_string()));
}

/// (buffer, past, new) with the attribute `axis`: the buffer with `new` behind what is as long as `past`, of
/// which only the dims count, and how much there is then, i64 [1].
void define_append(const OperatorContext& context, Builder& b) {
  require_same_type(context, 0, 2);
  const size_t axis = grown_axis(context, 1);
  grown_axis(context, 2);
  const Dim past = context.dims(1)[axis];
  require_room(context, context.dims(0)[axis], past + context.dims(2)[axis]);
  const TensorRef buffer = operand(b, context, 0), added = operand(b, context, 2);
  const TensorRef position = b.map({Dim(1)}, [&](const Indices&) { return b.extent(past); });
  const auto results = b.opaque("append", {buffer, position, added},
                                {{buffer.type(), buffer.dims()}, {ElementType::i64, {Dim(1)}}},
                                std::make_shared<const SelectionAxis>(SelectionAxis{static_cast<int>(axis)}));
  for (const TensorRef& result : results) b.output(result);
}

/// (buffer, value...) with the attribute `axis`: the beginning of the buffer, as long as all the values
/// together, of which only the dims count.
void define_prefix(const OperatorContext& context, Builder& b) {
  context.check(context.inputs() > 1, "nothing says how long it is");
  const TensorRef buffer = operand(b, context, 0);
  Dims dims = buffer.dims();
  size_t axis = 0;
  Dim length = 0;
  for (int k = 1; k < context.inputs(); ++k) {
    axis = grown_axis(context, k);
    length = length + context.dims(k)[axis];
  }
  require_room(context, dims[axis], length);
  dims[axis] = length;
  b.output(b.map(dims, [&](const Indices& i) { return buffer(i); }));
}

}  // namespace

Tensors append_function(const Stage& stage, const Tensors& arguments) {
  const auto axis = static_cast<size_t>(payload_of<SelectionAxis>(stage).axis);
  const Tensor& added = arguments[2];
  // Stored alike, however wide that is.
  Tensor buffer =
      arguments[0].type() == added.type() ? arguments[0].clone() : arguments[0].converted(added.type());
  const int64_t past = arguments[1].get_int(0);
  const auto row_of = [&](const Tensor& tensor) {
    int64_t elements = 1;
    for (size_t d = axis; d < tensor.shape().size(); ++d) elements *= tensor.shape()[d];
    return elements;
  };
  const int64_t row = row_of(buffer), new_row = row_of(added);
  const int64_t position = past * (buffer.shape()[axis] > 0 ? row / buffer.shape()[axis] : 0);
  const auto width = static_cast<int64_t>(size_of(added.type()));
  for (int64_t r = 0; new_row > 0 && r < added.size() / new_row; ++r) {
    std::memcpy(buffer.as<char>() + (r * row + position) * width, added.as<char>() + r * new_row * width,
                static_cast<size_t>(new_row * width));
  }
  return {buffer, Tensor::from_i64({past + added.shape()[axis]})};
}

void state_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(),
               {{state_domain, "Append", 1, define_append}, {state_domain, "Prefix", 1, define_prefix}});
}

}  // namespace axrun::ir
