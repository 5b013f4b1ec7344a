#include "runtime/cli/data_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ir/error.h"

namespace axrun::cli {

using ir::Tensor;
using ir::ValueKind;
using onnx_import::DataValue;
using runtime::Port;
using runtime::RuntimeValue;

namespace {

std::string file_name(const std::string& folder, const char* kind, size_t k) {
  return (std::filesystem::path(folder) / fmt::format("{}_{}.pb", kind, k)).string();
}

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

/// One value per key, as a one-dimensional tensor.
Tensor joined(const std::vector<DataValue>& elements) {
  std::vector<Tensor> parts;
  for (const DataValue& element : elements) {
    if (element.kind != ValueKind::tensor || element.tensor.size() != 1) {
      throw Error(Fault::user, fmt::format("map '{}': only single numbers or strings are read as its values",
                                           element.name));
    }
    parts.push_back(element.tensor.reshaped({1}));
  }
  return parts.empty() ? Tensor::allocate(ir::ElementType::f32, {0}) : runtime::concatenate(parts, 0);
}

}  // namespace

RuntimeValue runtime_value_of(const DataValue& data) {
  if (data.kind == ValueKind::tensor) return RuntimeValue(data.tensor);
  if (data.kind == ValueKind::map) return RuntimeValue::map(data.keys, joined(data.elements));
  std::vector<RuntimeValue> items;
  for (const DataValue& element : data.elements) items.push_back(runtime_value_of(element));
  return data.kind == ValueKind::sequence ? RuntimeValue::sequence(std::move(items))
                                          : RuntimeValue::optional(std::move(items));
}

DataValue data_value_of(const RuntimeValue& value, const std::string& name) {
  DataValue data;
  data.kind = value.kind;
  data.name = name;
  if (value.kind == ValueKind::tensor) {
    data.tensor = value.tensor;
  } else if (value.kind == ValueKind::map && value.items && value.items->size() == 2) {
    data.keys = (*value.items)[0].tensor;
    const Tensor& values = (*value.items)[1].tensor;
    for (int64_t k = 0; k < data.keys.size(); ++k) {
      DataValue element;
      element.tensor = runtime::take(values, 0, k, false);
      data.elements.push_back(std::move(element));
    }
  } else if (value.items) {
    for (const RuntimeValue& item : *value.items) data.elements.push_back(data_value_of(item, ""));
  }
  return data;
}

std::vector<std::optional<RuntimeValue>> read_data_inputs(const std::string& folder,
                                                          const std::vector<Port>& ports) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(Fault::user, fmt::format("'{}' is not a folder", folder));
  }
  std::vector<std::optional<RuntimeValue>> found(ports.size());
  for (size_t k = 0; exists(file_name(folder, "input", k)); ++k) {
    const std::string path = file_name(folder, "input", k);
    const ValueKind kind = k < ports.size() ? ports[k].kind : ValueKind::tensor;
    DataValue data = onnx_import::read_value_file(path, kind);
    const auto named =
        std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == data.name; });
    const size_t index = named == ports.end() ? k : static_cast<size_t>(named - ports.begin());
    if (index >= ports.size()) {
      throw Error(Fault::user, fmt::format("'{}' belongs to none of the model's inputs", path));
    }
    if (found[index]) {
      throw Error(Fault::user, fmt::format("'{}' is a second value for input '{}'", path, ports[index].name));
    }
    // The file does not say what kind of value it holds.
    if (ports[index].kind != kind) data = onnx_import::read_value_file(path, ports[index].kind);
    found[index] = runtime_value_of(data);
  }
  return found;
}

std::optional<RuntimeValue> read_data_output(const std::string& folder, size_t k, ValueKind kind) {
  const std::string path = file_name(folder, "output", k);
  if (!exists(path)) return std::nullopt;
  return runtime_value_of(onnx_import::read_value_file(path, kind));
}

void save_outputs(const std::string& folder, const std::vector<Port>& ports,
                  const std::vector<RuntimeValue>& outputs) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (size_t k = 0; k < outputs.size(); ++k) {
    onnx_import::write_value_file(file_name(folder, "output", k), data_value_of(outputs[k], ports[k].name));
  }
}

}  // namespace axrun::cli
