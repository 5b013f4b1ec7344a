#include <fmt/format.h>

#include <cstring>

#include "ir/error.h"
#include "onnx_import/tensor_data.h"

namespace axrun::onnx_import {
namespace {

using ir::ElementType;
using ir::Tensor;

/// Row-major positions of the stored elements: `indices` has either one row-major position for each, or one
/// row of coordinates. They must lie inside the shape and ascend, which also rules out duplicates.
std::vector<int64_t> positions_of(const Tensor& indices, const std::vector<int64_t>& dims, int64_t stored,
                                  int64_t count, const Origin& what) {
  const auto fail = [&](const std::string& why) { throw Error(Fault::model, what.text() + ": " + why); };
  const auto rank = static_cast<int64_t>(dims.size());
  const bool linear = indices.rank() == 1 && indices.shape()[0] == stored;
  const bool coordinates = indices.rank() == 2 && indices.shape()[0] == stored && indices.shape()[1] == rank;
  if (!linear && !coordinates) fail("the shape of its indices does not fit its values");
  std::vector<int64_t> positions(static_cast<size_t>(stored));
  const auto* index = indices.as<int64_t>();
  for (int64_t k = 0; k < stored; ++k) {
    int64_t position = 0;
    if (linear) {
      position = index[k];
      if (position < 0 || position >= count) fail(fmt::format("the index {} is out of range", position));
    } else {
      for (int64_t axis = 0; axis < rank; ++axis) {
        const int64_t coordinate = index[k * rank + axis];
        const int64_t dim = dims[static_cast<size_t>(axis)];
        if (coordinate < 0 || coordinate >= dim)
          fail(fmt::format("the index {} is out of range", coordinate));
        position = position * dim + coordinate;  // below checked_count's limit
      }
    }
    if (k > 0 && position <= positions[static_cast<size_t>(k) - 1])
      fail("its indices are not in ascending order");
    positions[static_cast<size_t>(k)] = position;
  }
  return positions;
}

}  // namespace

Tensor tensor_of(const SparseTensorMessage& message, const Origin& what, ImportContext& context) {
  if (!message.values || !message.indices)
    throw Error(Fault::model, what.text() + ": has no values or no indices");
  const Tensor values = tensor_of(read_message<TensorMessage>(*message.values, context.unknown_fields),
                                  Origin{"values", {}, &what}, context);
  const Tensor indices = tensor_of(read_message<TensorMessage>(*message.indices, context.unknown_fields),
                                   Origin{"indices", {}, &what}, context);
  if (!values.defined() || !indices.defined()) return {};
  if (values.rank() != 1) throw Error(Fault::model, what.text() + ": its values are not one-dimensional");
  if (indices.type() != ElementType::i64)
    throw Error(Fault::model, what.text() + ": its indices are not int64");
  if (message.dims.empty() || message.dims.size() > rank_limit) {
    context.unsupported.push_back(fmt::format("{}: rank {}", what.text(), message.dims.size()));
    return {};
  }
  const int64_t count = checked_count(message.dims, what);
  const auto positions = positions_of(indices, message.dims, values.size(), count, what);

  const bool is_string = values.type() == ElementType::string;
  const auto size = static_cast<int64_t>(is_string ? sizeof(std::string) : ir::size_of(values.type()));
  if (count > (context.options.max_dense_bytes - context.dense_bytes) / size) {
    context.unsupported.push_back(fmt::format("{}: more than {} bytes of sparse tensors once dense",
                                              what.text(), context.options.max_dense_bytes));
    return {};
  }
  context.dense_bytes += count * size;
  Tensor dense = Tensor::allocate(values.type(), message.dims);
  for (int64_t k = 0; k < values.size(); ++k) {
    const int64_t position = positions[static_cast<size_t>(k)];
    if (is_string) {
      dense.strings()[position] = values.strings()[k];
    } else {
      std::memcpy(dense.as<char>() + position * size, values.as<char>() + k * size,
                  static_cast<size_t>(size));
    }
  }
  return dense;
}

}  // namespace axrun::onnx_import
