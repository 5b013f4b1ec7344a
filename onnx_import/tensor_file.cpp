#include "onnx_import/tensor_file.h"

#include <fmt/format.h>

#include <functional>
#include <new>
#include <utility>

#include "ir/error.h"
#include "onnx_import/context.h"
#include "onnx_import/names.h"
#include "onnx_import/tensor_data.h"
#include "onnx_import/tensor_writer.h"

namespace axrun::onnx_import {
namespace {

using ir::ValueKind;

constexpr int nesting_limit = 64;

/// Reads the messages of onnx-data.proto.
class ValueReader {
 public:
  explicit ValueReader(ImportContext& context) : context_(context) {}

  DataValue value(std::string_view bytes, ValueKind kind, int nesting) {
    if (nesting > nesting_limit) throw WireError{bytes.data(), "values are nested too deeply"};
    switch (kind) {
      case ValueKind::tensor:
        return tensor(bytes);
      case ValueKind::map:
        return map(bytes, nesting);
      default:
        return sequence(bytes, kind, nesting);
    }
  }

 private:
  DataValue tensor(std::string_view bytes) {
    const auto message = read_message<TensorMessage>(bytes, context_.unknown_fields);
    DataValue result;
    result.name = printable(message.name);
    result.tensor = tensor_of(message, {"tensor", message.name}, context_);
    return result;
  }

  /// A sequence, or an optional: a sequence of at most one element.
  DataValue sequence(std::string_view bytes, ValueKind kind, int nesting) {
    const auto message = read_message<SequenceMessage>(bytes, context_.unknown_fields);
    DataValue result;
    result.kind = kind;
    result.name = printable(message.name);
    for (const auto part : message.tensors)
      result.elements.push_back(value(part, ValueKind::tensor, nesting + 1));
    for (const auto part : message.sparse_tensors) {
      DataValue& element = result.elements.emplace_back();
      element.tensor = tensor_of(read_message<SparseTensorMessage>(part, context_.unknown_fields),
                                 {"sparse tensor in", message.name}, context_);
    }
    for (const auto part : message.sequences) {
      result.elements.push_back(value(part, ValueKind::sequence, nesting + 1));
    }
    for (const auto part : message.maps) result.elements.push_back(value(part, ValueKind::map, nesting + 1));
    for (const auto part : message.optionals) {
      result.elements.push_back(value(part, ValueKind::optional, nesting + 1));
    }
    if (kind == ValueKind::optional && result.elements.size() > 1) {
      throw WireError{bytes.data(), "an optional holds more than one value"};
    }
    return result;
  }

  DataValue map(std::string_view bytes, int nesting) {
    const auto message = read_message<MapMessage>(bytes, context_.unknown_fields);
    DataValue result;
    result.kind = ValueKind::map;
    result.name = printable(message.name);
    if (!message.keys.empty() && !message.string_keys.empty()) {
      throw WireError{bytes.data(), "a map has keys of two types"};
    }
    if (message.string_keys.empty()) {
      result.keys = ir::Tensor::from_i64(message.keys);
    } else {
      result.keys = ir::Tensor::from_strings({static_cast<int64_t>(message.string_keys.size())},
                                             {message.string_keys.begin(), message.string_keys.end()});
    }
    if (message.values)
      result.elements = sequence(*message.values, ValueKind::sequence, nesting + 1).elements;
    if (result.elements.size() != static_cast<size_t>(result.keys.size())) {
      throw WireError{bytes.data(), fmt::format("a map has {} keys and {} values", result.keys.size(),
                                                result.elements.size())};
    }
    return result;
  }

  ImportContext& context_;
};

/// A damaged data file is the user's, not the model's.
DataValue read_value(ByteSource source, ExternalData external, ValueKind kind, const std::string& what) {
  const char* begin = source.bytes.data();
  ImportContext context{.source = std::move(source), .external = std::move(external), .options = {}};
  try {
    DataValue value = ValueReader(context).value(context.source.bytes, kind, 0);
    context.refuse_unsupported("the file");
    return value;
  } catch (const WireError& error) {
    throw Error(Fault::user, fmt::format("{}: not an ONNX data file of this kind, or damaged at byte {}: {}",
                                         what, error.at - begin, error.what));
  } catch (const std::bad_alloc&) {
    throw Error(Fault::user, what + ": not enough memory to read it");
  } catch (const Error& error) {
    throw Error(error.fault() == Fault::model ? Fault::user : error.fault(), what + ": " + error.what());
  }
}

ByteSource data_source(const std::string& path) {
  auto file = FileBytes::read(path);
  const std::string_view bytes = file->bytes();
  return {bytes, std::move(file)};
}

WireWriter value_message(const DataValue& value);

/// The fields of a SequenceProto or OptionalProto that hold the elements.
WireWriter sequence_message(std::string_view name, const std::vector<DataValue>& elements) {
  // By ValueKind: SequenceProto.DataType, which is also the number of the field less 2.
  const auto type_of = [](ValueKind kind) {
    switch (kind) {
      case ValueKind::tensor:
        return 1;
      case ValueKind::sequence:
        return 3;
      case ValueKind::map:
        return 4;
      default:
        return 5;
    }
  };
  WireWriter message;
  if (!name.empty()) message.bytes(1, name);
  message.integer(2, elements.empty() ? 0 : type_of(elements.front().kind));
  for (const DataValue& element : elements) {
    if (element.kind != elements.front().kind) {
      throw Error(Fault::user, "a sequence of values of different kinds cannot be written");
    }
    message.message(static_cast<uint32_t>(type_of(element.kind) + 2), value_message(element));
  }
  return message;
}

WireWriter value_message(const DataValue& value) {
  if (value.kind == ValueKind::tensor) return tensor_message(value.name, value.tensor);
  if (value.kind != ValueKind::map) return sequence_message(value.name, value.elements);
  WireWriter message;
  if (!value.name.empty()) message.bytes(1, value.name);
  const bool has_strings = value.keys.type() == ir::ElementType::string;
  message.integer(2, has_strings ? 8 : 7);
  for (int64_t k = 0; k < value.keys.size(); ++k) {
    if (has_strings) {
      message.bytes(4, value.keys.strings()[k]);
    } else {
      message.integer(3, value.keys.get_int(k));
    }
  }
  message.message(5, sequence_message({}, value.elements));
  return message;
}

}  // namespace

DataValue read_value_file(const std::string& path, ValueKind kind) {
  return read_value(data_source(path), ExternalData::beside(path), kind, in_quotes(path));
}

DataValue read_value_memory(const void* data, size_t size, ValueKind kind, const std::string& what) {
  ByteSource source{std::string_view(static_cast<const char*>(data), size), nullptr};
  return read_value(std::move(source), ExternalData({}), kind, what);
}

NamedTensor read_tensor_file(const std::string& path) {
  DataValue value = read_value_file(path, ValueKind::tensor);
  return {std::move(value.name), std::move(value.tensor)};
}

NamedTensor read_tensor_memory(const void* data, size_t size, const std::string& what) {
  DataValue value = read_value_memory(data, size, ValueKind::tensor, what);
  return {std::move(value.name), std::move(value.tensor)};
}

std::string tensor_to_bytes(const std::string& name, const ir::Tensor& tensor) {
  return tensor_message(name, tensor).take();
}

std::string value_to_bytes(const DataValue& value) { return value_message(value).take(); }

void write_tensor_file(const std::string& path, const std::string& name, const ir::Tensor& tensor) {
  write_whole_file(path, tensor_to_bytes(name, tensor));
}

void write_value_file(const std::string& path, const DataValue& value) {
  write_whole_file(path, value_to_bytes(value));
}

}  // namespace axrun::onnx_import
