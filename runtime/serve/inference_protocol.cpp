#include "runtime/serve/inference_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "ir/error_place.h"
#include "runtime/serve/json_elements.h"

namespace axrun::serve {

using ir::ElementType;
using ir::Tensor;
using Json = nlohmann::ordered_json;
using runtime::Port;
using runtime::RuntimeValue;

namespace {

constexpr std::pair<std::string_view, ElementType> datatypes[] = {
    {"BOOL", ElementType::boolean}, {"UINT8", ElementType::u8},    {"UINT16", ElementType::u16},
    {"UINT32", ElementType::u32},   {"UINT64", ElementType::u64},  {"INT8", ElementType::i8},
    {"INT16", ElementType::i16},    {"INT32", ElementType::i32},   {"INT64", ElementType::i64},
    {"FP16", ElementType::f16},     {"FP32", ElementType::f32},    {"FP64", ElementType::f64},
    {"BF16", ElementType::bf16},    {"BYTES", ElementType::string}};

/// Beyond a day nobody waits.
constexpr double longest_timeout_s = 86400;

[[noreturn]] void refuse(const std::string& text) { throw Error(Fault::user, text); }

const Json& member(const Json& object, const char* name, const std::string& of) {
  if (!object.is_object()) refuse(fmt::format("{} is no JSON object", of));
  const auto found = object.find(name);
  if (found == object.end()) refuse(fmt::format("{} has no '{}'", of, name));
  return *found;
}

std::string text_member(const Json& object, const char* name, const std::string& of) {
  const Json& value = member(object, name, of);
  if (!value.is_string()) refuse(fmt::format("'{}' of {} is no text", name, of));
  return value.get<std::string>();
}

/// A member of "parameters", where there is one.
const Json* parameter(const Json& object, const char* name, const std::string& of) {
  const auto parameters = object.find("parameters");
  if (parameters == object.end()) return nullptr;
  if (!parameters->is_object()) refuse(fmt::format("'parameters' of {} are no JSON object", of));
  const auto found = parameters->find(name);
  return found == parameters->end() ? nullptr : &*found;
}

bool flag(const Json& object, const char* name, const std::string& of, bool standard) {
  const Json* const value = parameter(object, name, of);
  if (value == nullptr) return standard;
  if (!value->is_boolean()) refuse(fmt::format("'{}' of {} is neither true nor false", name, of));
  return value->get<bool>();
}

ir::Shape shape_of(const Json& list, const std::string& of) {
  if (!list.is_array()) refuse(fmt::format("'shape' of {} is no list", of));
  ir::Shape shape;
  for (const Json& size : list) {
    if (!size.is_number_integer() || (!size.is_number_unsigned() && size.get<int64_t>() < 0) ||
        (size.is_number_unsigned() && size.get<uint64_t>() > uint64_t{1} << 62))
      refuse(fmt::format("'shape' of {} has {}, which is no size", of, size.dump()));
    shape.push_back(size.get<int64_t>());
  }
  ir::element_count(shape);  // refuses what overflows
  return shape;
}

uint32_t little_endian_32(const char* bytes) {
  const auto* const b = reinterpret_cast<const unsigned char*>(bytes);
  return b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

/// Each string after its length, four bytes, little endian.
Tensor strings_of(std::string_view bytes, const ir::Shape& shape, const std::string& of) {
  std::vector<std::string> strings;
  const int64_t count = ir::element_count(shape);
  while (!bytes.empty()) {
    if (bytes.size() < 4 || little_endian_32(bytes.data()) > bytes.size() - 4)
      refuse(fmt::format("a string in the binary data of {} ends beyond it", of));
    const uint32_t length = little_endian_32(bytes.data());
    strings.emplace_back(bytes.substr(4, length));
    bytes.remove_prefix(4 + size_t{length});
  }
  if (static_cast<int64_t>(strings.size()) != count)
    refuse(fmt::format("{} has {} elements, its shape takes {}", of, strings.size(), count));
  return Tensor::from_strings(shape, std::move(strings));
}

Tensor binary_tensor(std::string_view bytes, ElementType type, const ir::Shape& shape,
                     const std::string& of) {
  if (type == ElementType::string) return strings_of(bytes, shape, of);
  const auto count = static_cast<uint64_t>(ir::element_count(shape));
  if (count > bytes.size() || count * ir::size_of(type) != bytes.size()) {
    refuse(fmt::format("{} takes {} elements of {} bytes, its binary data has {}", of, count,
                       ir::size_of(type), bytes.size()));
  }
  // Alignment is whatever the JSON before has left: the session wants whole elements.
  Tensor tensor = Tensor::allocate_uninitialized(type, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  if (type == ElementType::boolean) {
    for (int64_t k = 0; k < tensor.size(); ++k)
      tensor.as<uint8_t>()[k] = static_cast<uint8_t>(tensor.as<uint8_t>()[k] != 0);
  }
  return tensor;
}

Tensor input_tensor(const Json& input, const std::string& of, std::string_view& binary) {
  const std::string datatype = text_member(input, "datatype", of);
  const auto type = type_of(datatype);
  if (!type) refuse(fmt::format("{} has the unknown datatype '{}'", of, datatype.substr(0, 40)));
  const ir::Shape shape = shape_of(member(input, "shape", of), of);
  if (const Json* const size = parameter(input, "binary_data_size", of)) {
    if (!size->is_number_unsigned() || size->get<uint64_t>() > binary.size())
      refuse(fmt::format("{} says it has {} bytes of binary data; {} are left", of, size->dump(),
                         binary.size()));
    const auto bytes = size->get<size_t>();
    Tensor tensor = binary_tensor(binary.substr(0, bytes), *type, shape, of);
    binary.remove_prefix(bytes);
    return tensor;
  }
  const Json& data = member(input, "data", of);
  // Every element takes a character at least: a shape alone allocates nothing.
  if (!data.is_array()) refuse(fmt::format("'data' of {} is no list of elements", of));
  const int64_t count = ir::element_count(shape);
  const bool nested = !data.empty() && data.front().is_array();
  if (!nested && static_cast<uint64_t>(count) != data.size())
    refuse(fmt::format("{} has {} elements, its shape takes {}", of, data.size(), count));
  if (nested && static_cast<uint64_t>(count) > input.dump().size())
    refuse(fmt::format("{} has fewer elements than its shape takes ({})", of, count));
  Tensor tensor = Tensor::allocate(*type, shape);
  read_elements(data, tensor, of);
  return tensor;
}

template <class Ports>
size_t position_of(const Ports& ports, const std::string& name, const char* what) {
  const auto found =
      std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  if (found == ports.end()) refuse(fmt::format("the model has no {} '{}'", what, name.substr(0, 200)));
  return static_cast<size_t>(found - ports.begin());
}

std::vector<InferenceRequest::Output> wanted_outputs(const runtime::Session& session, const Json& json) {
  const bool binary = flag(json, "binary_data_output", "the request", false);
  std::vector<InferenceRequest::Output> wanted;
  const auto list = json.find("outputs");
  if (list == json.end()) {
    for (size_t k = 0; k < session.outputs().size(); ++k) wanted.push_back({k, binary});
    return wanted;
  }
  if (!list->is_array()) refuse("'outputs' is no list");
  for (const Json& output : *list) {
    const std::string name = text_member(output, "name", "an output");
    const size_t index = position_of(session.outputs(), name, "output");
    for (const auto& known : wanted) {
      if (known.index == index) refuse(fmt::format("output '{}' is asked for twice", name));
    }
    wanted.push_back({index, flag(output, "binary_data", "output '" + name + "'", binary)});
  }
  return wanted;
}

void append_bytes(std::string& binary, const Tensor& tensor) {
  if (tensor.type() != ElementType::string) {
    binary.append(static_cast<const char*>(tensor.data()), tensor.bytes());
    return;
  }
  for (int64_t k = 0; k < tensor.size(); ++k) {
    const std::string& text = tensor.strings()[k];
    const auto length = static_cast<uint32_t>(text.size());
    for (int shift = 0; shift < 32; shift += 8) binary += static_cast<char>(length >> shift & 0xff);
    binary += text;
  }
}

/// An object with members, without its last brace.
std::string open_object(const Json& object) {
  std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  return text;
}

Json ports_json(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) {
    Json shape = Json::array();
    if (port.dims) {
      for (const ir::Dim& dim : *port.dims) shape.push_back(dim.constant().value_or(-1));
    }
    list.push_back({{"name", port.name}, {"datatype", datatype_of(port.type)}, {"shape", std::move(shape)}});
  }
  return list;
}

}  // namespace

std::string_view datatype_of(ElementType type) {
  for (const auto& [name, known] : datatypes) {
    if (known == type) return name;
  }
  return {};
}

std::optional<ElementType> type_of(std::string_view datatype) {
  for (const auto& [name, known] : datatypes) {
    if (name == datatype) return known;
  }
  return std::nullopt;
}

InferenceRequest parse_request(const runtime::Session& session, std::string_view body,
                               std::optional<size_t> json_bytes) {
  if (json_bytes.value_or(0) > body.size())
    refuse(fmt::format("the JSON is said to have {} bytes, the message has {}", *json_bytes, body.size()));
  std::string_view binary = json_bytes ? body.substr(*json_bytes) : std::string_view();
  Json json;
  try {
    json = Json::parse(body.substr(0, json_bytes.value_or(body.size())));
  } catch (const Json::exception& error) {
    refuse(fmt::format("the request is no JSON: {}", error.what()));
  }
  if (!json.is_object()) refuse("the request is no JSON object");
  InferenceRequest request;
  if (json.contains("id")) request.id = text_member(json, "id", "the request");
  // Microseconds, as other servers take it.
  if (const Json* const timeout = parameter(json, "timeout", "the request")) {
    if (!timeout->is_number() || !(timeout->get<double>() >= 0))
      refuse("'timeout' is no time in microseconds");
    request.timeout_seconds = std::min(timeout->get<double>() * 1e-6, longest_timeout_s);
  }
  const Json& inputs = member(json, "inputs", "the request");
  if (!inputs.is_array()) refuse("'inputs' is no list");
  request.inputs.resize(session.inputs().size());
  for (const Json& input : inputs) {
    const std::string name = text_member(input, "name", "an input");
    const size_t index = position_of(session.inputs(), name, "input");
    try {
      if (request.inputs[index].present()) refuse(fmt::format("input '{}' is given twice", name));
      request.inputs[index] = RuntimeValue(input_tensor(input, "input '" + name + "'", binary));
    } catch (const Error& error) {
      throw_as(error, error.what(), ErrorPlace::of_input(name));
    }
  }
  if (!binary.empty()) refuse(fmt::format("{} bytes of binary data belong to no input", binary.size()));
  request.outputs = wanted_outputs(session, json);
  return request;
}

size_t most_bytes_to_parse(std::string_view json) {
  // Lists grow by doubling, the old one beside the new one: three times their size at most.
  constexpr size_t element = 3 * sizeof(Json);
  // A list or object of its own is an element, what holds its elements, and its first one, each allocated.
  constexpr size_t container = element + 4 * sizeof(void*) + 2 * sizeof(Json::object_t::value_type);
  const auto count = [&](char c) { return static_cast<size_t>(std::count(json.begin(), json.end(), c)); };
  return count(',') * element + count(':') * sizeof(Json::object_t::value_type) +
         (count('[') + count('{')) * container;
}

InferenceAnswer write_answer(const runtime::Session& session, const std::string& model,
                             const InferenceRequest& request, const std::vector<RuntimeValue>& values) {
  Json head = {{"model_name", model}, {"model_version", "1"}};
  if (!request.id.empty()) head["id"] = request.id;
  std::string json = open_object(head) + ",\"outputs\":[";
  std::string binary;
  bool any_binary = false;
  for (const InferenceRequest::Output& wanted : request.outputs) {
    const std::string& name = session.outputs()[wanted.index].name;
    const Tensor& tensor = values[wanted.index].tensor;
    Json output = {{"name", name}, {"datatype", datatype_of(tensor.type())}, {"shape", tensor.shape()}};
    if (json.back() == '}') json += ',';
    if (wanted.binary) {
      const size_t before = binary.size();
      append_bytes(binary, tensor);
      output["parameters"] = {{"binary_data_size", binary.size() - before}};
      json += open_object(output);
      any_binary = true;
    } else {
      json += open_object(output) + ",\"data\":";
      append_elements(json, tensor);
    }
    json += '}';
  }
  json += "]}";
  InferenceAnswer answer;
  answer.body = std::move(json);
  if (any_binary) answer.json_bytes = answer.body.size();
  answer.body += binary;
  return answer;
}

Json model_metadata(const runtime::Session& session, const std::string& model) {
  return {{"name", model},
          {"versions", {"1"}},
          {"platform", "onnx_axrun"},
          {"inputs", ports_json(session.inputs())},
          {"outputs", ports_json(session.outputs())}};
}

void require_servable(const runtime::Session& session) {
  for (const auto* ports : {&session.inputs(), &session.outputs()}) {
    for (const Port& port : *ports) {
      const bool named = port.type == ElementType::undefined || !datatype_of(port.type).empty();
      if (port.kind == ir::ValueKind::tensor && named) continue;
      throw Error(
          Fault::unsupported,
          fmt::format(
              "'{}' cannot be served: the inference protocol carries tensors of the common types only",
              port.name));
    }
  }
}

}  // namespace axrun::serve
