#include "onnx_import/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "ir/dim.h"
#include "ir/error.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/model_source.h"
#include "onnx_import/names.h"
#include "onnx_import/packed_bits.h"
#include "onnx_import/typed_data.h"

namespace axrun::onnx_import {
namespace {

using ir::ElementType;
using ir::Tensor;

[[noreturn]] void fail(const Origin& what, const std::string& why) {
  throw Error(Fault::model, what.text() + ": " + why);
}

std::string described(const ElementCode& code, const std::vector<int64_t>& dims) {
  return fmt::format("{} of shape {}", code.name, ir::to_string(dims));
}

bool all_are_booleans(std::string_view bytes) {
  unsigned seen = 0;
  for (const char byte : bytes) seen |= static_cast<uint8_t>(byte);
  return seen <= 1;
}

Tensor unpack(ElementType type, const ir::Shape& shape, std::string_view bytes) {
  Tensor tensor = Tensor::allocate_uninitialized(type, shape);
  auto* elements = tensor.as<uint8_t>();
  for (int64_t position = 0; position < tensor.size(); ++position) {
    elements[position] = unpacked(type, bytes, position);
  }
  return tensor;
}

/// In place.
void make_booleans(Tensor& tensor) {
  for (int64_t position = 0; position < tensor.size(); ++position) {
    tensor.as<uint8_t>()[position] = tensor.as<uint8_t>()[position] != 0;
  }
}

Tensor from_raw(ElementType type, const ir::Shape& shape, std::string_view bytes, const ByteSource& source) {
  if (is_packed(type)) return unpack(type, shape, bytes);
  const bool usable = type != ElementType::boolean || all_are_booleans(bytes);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % ir::size_of(type) == 0;
  if (source.owner && usable && aligned && bytes.size() >= borrow_threshold) {
    return Tensor::borrow(type, shape, const_cast<char*>(bytes.data()), source.owner);
  }
  Tensor tensor = Tensor::allocate_uninitialized(type, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (!usable) make_booleans(tensor);
  return tensor;
}

Tensor from_file(ElementType type, const ir::Shape& shape, const InputFile& file, uint64_t offset,
                 size_t bytes, ImportContext& context) {
  if (is_packed(type)) {
    std::string packed(bytes, '\0');
    file.read(offset, packed.data(), bytes);
    return unpack(type, shape, packed);
  }
  Tensor& known = context.copied[{&file, offset}];
  if (known.type() == type && known.bytes() == bytes) return known.reshaped(shape);
  Tensor tensor = Tensor::allocate_uninitialized(type, shape);
  file.read(offset, tensor.data(), bytes);
  if (type == ElementType::boolean) make_booleans(tensor);
  known = tensor;
  return tensor;
}

uint64_t decimal(std::string_view text, std::string_view key, const Origin& what) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(what, fmt::format("external data {} {} is not a number", key, in_quotes(text)));
  }
  return value;
}

/// The tensor that lies in an external file, of `needed` bytes there.
Tensor external_tensor(const TensorMessage& message, ElementType type, uint64_t needed, const Origin& what,
                       ImportContext& context) {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const std::string_view bytes : message.external_data) {
    const auto entry = read_message<EntryMessage>(bytes, context.unknown_fields);
    if (entry.key == "location") location = entry.value;
    if (entry.key == "offset") offset = decimal(entry.value, "offset", what);
    if (entry.key == "length") length = decimal(entry.value, "length", what);
  }
  const auto in_memory = context.options.memory_files.find(location);
  const bool is_file = in_memory == context.options.memory_files.end();
  const auto file = is_file ? context.external.find(location, what) : nullptr;
  const uint64_t size = is_file ? file->size() : in_memory->second.size;
  if (offset > size || length.value_or(0) > size - offset) {
    fail(what, fmt::format("external data {} has {} bytes, the tensor is said to be at {} + {}",
                           in_quotes(location), size, offset, length.value_or(needed)));
  }
  const uint64_t available = length.value_or(size - offset);
  if (length ? available != needed : available < needed) {
    fail(what,
         fmt::format("needs {} bytes, external data {} has {}", needed, in_quotes(location), available));
  }
  if (is_file) return from_file(type, message.dims, *file, offset, needed, context);
  const MemoryFile& memory = in_memory->second;
  const ByteSource source{{static_cast<const char*>(memory.data), memory.size}, memory.owner};
  return from_raw(type, message.dims, source.bytes.substr(offset, needed), source);
}

}  // namespace

int64_t checked_count(const std::vector<int64_t>& dims, const Origin& what) {
  // Below this no element type makes a number of bytes overflow.
  constexpr int64_t largest = int64_t{1} << 56;
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) fail(what, fmt::format("has the negative dimension {}", dim));
    empty |= dim == 0;
    // Also of an empty tensor the other dims are multiplied somewhere, for its strides.
    if (dim > largest / count) fail(what, fmt::format("the shape {} is too large", ir::to_string(dims)));
    count *= std::max<int64_t>(dim, 1);
  }
  return empty ? 0 : count;
}

Tensor tensor_of(const TensorMessage& message, const Origin& what, ImportContext& context) {
  if (message.data_type == 0) fail(what, "has no element type");
  const ElementCode* code = find_element_code(message.data_type);
  if (code == nullptr) fail(what, fmt::format("has the unknown element type {}", message.data_type));
  if (message.dims.size() > rank_limit) {
    context.unsupported.push_back(fmt::format("{}: rank {}", what.text(), message.dims.size()));
    return {};
  }
  const int64_t count = checked_count(message.dims, what);
  const ElementType type = code->type;
  if (type == ElementType::undefined || message.segment) {
    context.unsupported.push_back(type == ElementType::undefined
                                      ? fmt::format("{}: element type {}", what.text(), code->name)
                                      : fmt::format("{}: is stored in segments", what.text()));
    return {};
  }
  if (message.data_location != 0 && message.data_location != 1) {
    fail(what, fmt::format("has the unknown data location {}", message.data_location));
  }
  const bool is_external = message.data_location == 1;
  const bool is_raw = message.raw_data && !message.raw_data->empty();
  if (is_external + is_raw + message.has_typed_data > 1) fail(what, "has its data twice");
  if (message.has_typed_data || (count == 0 && !is_raw && !is_external)) {
    return typed_data(message, *code, count, what);
  }
  if (type == ElementType::string) fail(what, "is a string tensor with raw data");
  const auto needed = static_cast<uint64_t>(packed_bytes(type, count));
  if (is_external) return external_tensor(message, type, needed, what, context);
  if (!message.raw_data) fail(what, fmt::format("{} has no data", described(*code, message.dims)));
  if (message.raw_data->size() != needed) {
    fail(what, fmt::format("{} takes {} bytes, the file has {}", described(*code, message.dims), needed,
                           message.raw_data->size()));
  }
  const ByteSource& source = context.source;
  if (source.file && needed >= large_raw_data) {
    const auto offset = static_cast<uint64_t>(message.raw_data->data() - source.bytes.data());
    return from_file(type, message.dims, *source.file, offset, needed, context);
  }
  return from_raw(type, message.dims, *message.raw_data, source);
}

}  // namespace axrun::onnx_import
