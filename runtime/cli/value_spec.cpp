#include "runtime/cli/value_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "onnx_import/input_file.h"
#include "runtime/cli/data_values.h"
#include "runtime/cli/npy.h"
#include "runtime/room.h"

namespace axrun::cli {

using ir::ElementType;
using ir::Tensor;
using Source = ValueSpec::Source;

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(Fault::user, fmt::format("'{}': {}", text, why));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<Source> named_source(std::string_view text) {
  if (text == "zeros") return Source::zeros;
  if (text == "ones") return Source::ones;
  if (text == "random") return Source::random;
  return std::nullopt;
}

/// "2x3xf32", "f32".
void parse_declaration(const std::string& text, const std::string& whole, ValueSpec& spec) {
  std::vector<std::string> parts = split(text, 'x');
  spec.type = ir::parse_element_type(parts.back());
  if (!spec.type || *spec.type == ElementType::undefined) {
    refuse(whole,
           fmt::format("'{}' is no element type (f32, f16, i64, u8, bool, string, ...)", parts.back()));
  }
  parts.pop_back();
  for (const std::string& part : parts) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 0) {
      refuse(whole, fmt::format("'{}' is no size", part));
    }
    spec.shape.push_back(size);
  }
  ir::element_count(spec.shape);  // refuses overflows
}

void parse_file(const std::string& name, const std::string& whole, ValueSpec& spec) {
  const size_t archive = name.rfind(".npz:");
  if (archive != std::string::npos) {
    spec.source = Source::npz;
    spec.path = name.substr(0, archive + 4);
    spec.key = name.substr(archive + 5);
    return;
  }
  spec.path = name;
  if (name.ends_with(".npy")) {
    spec.source = Source::npy;
  } else if (name.ends_with(".npz")) {
    spec.source = Source::npz;
  } else if (name.ends_with(".pb")) {
    spec.source = Source::protobuf;
  } else if (spec.type) {
    spec.source = Source::raw;
  } else {
    refuse(whole, "a file that is no .npy, .npz or .pb needs a type and shape: 2x3xf32=@FILE");
  }
}

Tensor raw_tensor(const ValueSpec& spec) {
  const auto file = onnx_import::FileBytes::read(spec.path);
  const ElementType type = *spec.type;
  if (type == ElementType::string) refuse(spec.path, "strings have no raw form");
  const size_t size = ir::size_of(type);
  const auto count = static_cast<size_t>(ir::element_count(spec.shape));
  if (file->bytes().size() / size != count || file->bytes().size() != count * size) {
    throw Error(Fault::user,
                fmt::format("'{}' has {} bytes, but {} {} takes {} elements of {}", spec.path,
                            file->bytes().size(), ir::name_of(type), ir::to_string(spec.shape), count, size));
  }
  Tensor tensor = Tensor::allocate_uninitialized(type, spec.shape);
  if (count > 0) std::memcpy(tensor.data(), file->bytes().data(), file->bytes().size());
  if (type == ElementType::boolean) {
    for (int64_t k = 0; k < tensor.size(); ++k) tensor.as<uint8_t>()[k] = tensor.as<uint8_t>()[k] != 0;
  }
  return tensor;
}

template <class Number>
bool parse_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool set_element(Tensor& tensor, int64_t position, const std::string& text) {
  const ElementType type = tensor.type();
  if (ir::is_float(type)) {
    double value = 0;
    if (!parse_number(text, value)) return false;
    tensor.set_real(position, value);
    return true;
  }
  if (type == ElementType::boolean) {
    if (text != "0" && text != "1" && text != "false" && text != "true") return false;
    tensor.set_int(position, text == "1" || text == "true" ? 1 : 0);
    return true;
  }
  if (type == ElementType::u64) {
    uint64_t value = 0;
    if (!parse_number(text, value)) return false;
    tensor.as<uint64_t>()[position] = value;
    return true;
  }
  int64_t value = 0;
  if (!parse_number(text, value)) return false;
  if (value < ir::integer_min(type) || value > ir::integer_max(type)) return false;
  tensor.set_int(position, value);
  return true;
}

Tensor tensor_of_elements(const ValueSpec& spec, const runtime::Port& port) {
  const auto count = static_cast<size_t>(ir::element_count(spec.shape));
  std::vector<std::string> elements = spec.elements;
  if (count == 0 && elements.size() == 1 && elements[0].empty()) elements.clear();
  const bool fills = elements.size() == 1 && count > 0;
  if (elements.size() != count && !fills) {
    throw Error(Fault::user, fmt::format("{} elements given for shape {}, which has {}", elements.size(),
                                         ir::to_string(spec.shape), count));
  }
  runtime::require_room(port.name, *spec.type, spec.shape);
  if (*spec.type == ElementType::string) {
    if (fills) elements.resize(count, elements[0]);
    return Tensor::from_strings(spec.shape, std::move(elements));
  }
  Tensor tensor = Tensor::allocate(*spec.type, spec.shape);
  for (int64_t k = 0; k < tensor.size(); ++k) {
    const std::string& text = elements[fills ? 0 : static_cast<size_t>(k)];
    if (!set_element(tensor, k, text)) {
      throw Error(Fault::user, fmt::format("'{}' is no {}", text, ir::name_of(*spec.type)));
    }
  }
  return tensor;
}

Tensor filled(const ValueSpec& spec, const runtime::Port& port, const std::optional<ir::Shape>& shape) {
  const ElementType type = spec.type.value_or(port.type);
  if (type == ElementType::undefined || type == ElementType::string || (!spec.type && !shape)) {
    throw Error(Fault::user, fmt::format("'{}': zeros and ones need a type and a shape that the model does "
                                         "not give; write for example 2x3xf32=zeros",
                                         port.name));
  }
  const ir::Shape& filled_shape = spec.type ? spec.shape : *shape;
  runtime::require_room(port.name, type, filled_shape);
  Tensor tensor = Tensor::allocate(type, filled_shape);
  if (spec.source == Source::zeros) return tensor;
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (ir::is_float(type)) {
      tensor.set_real(k, 1);
    } else {
      tensor.set_int(k, 1);
    }
  }
  return tensor;
}

}  // namespace

ValueSpec parse_value_spec(const std::string& text) {
  ValueSpec spec;
  if (text.starts_with("@")) {
    parse_file(text.substr(1), text, spec);
    return spec;
  }
  if (const auto source = named_source(text)) {
    spec.source = *source;
    return spec;
  }
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    refuse(text, "a value is @FILE, TYPE=VALUES such as 2x3xf32=0 or i64=5, zeros, ones or random");
  }
  parse_declaration(text.substr(0, equals), text, spec);
  const std::string content = text.substr(equals + 1);
  if (content.starts_with("@")) {
    parse_file(content.substr(1), text, spec);
  } else if (const auto source = named_source(content); source && *spec.type != ElementType::string) {
    spec.source = *source;
  } else {
    spec.source = Source::elements;
    spec.elements = split(content, ',');
  }
  return spec;
}

std::pair<size_t, std::string> split_port_spec(const std::string& text,
                                               const std::vector<runtime::Port>& ports,
                                               const std::string& flag) {
  std::optional<size_t> best;
  std::string names;
  for (size_t k = 0; k < ports.size(); ++k) {
    const std::string& name = ports[k].name;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    const bool fits = text.size() > name.size() && text[name.size()] == ':' && text.starts_with(name);
    if (fits && (!best || ports[*best].name.size() < name.size())) best = k;
  }
  if (!best) {
    throw Error(Fault::user, fmt::format("{} {}: it starts with none of the model's names ({}) and a colon",
                                         flag, text, names.empty() ? "none" : names));
  }
  return {*best, text.substr(ports[*best].name.size() + 1)};
}

runtime::RuntimeValue value_of(const ValueSpec& spec, const runtime::Port& port,
                               const std::optional<ir::Shape>& shape) {
  runtime::RuntimeValue value;
  switch (spec.source) {
    case Source::npy:
      value = parse_npy(onnx_import::FileBytes::read(spec.path)->bytes(), fmt::format("'{}'", spec.path));
      break;
    case Source::npz:
      value = parse_npz(onnx_import::FileBytes::read(spec.path)->bytes(), spec.key,
                        fmt::format("'{}'", spec.path));
      break;
    case Source::protobuf:
      value = runtime_value_of(onnx_import::read_value_file(spec.path, port.kind));
      break;
    case Source::raw:
      value = raw_tensor(spec);
      break;
    case Source::elements:
      value = tensor_of_elements(spec, port);
      break;
    case Source::zeros:
    case Source::ones:
      value = filled(spec, port, shape);
      break;
    case Source::random:
      throw Error(Fault::user, fmt::format("'{}': random values cannot be expected", port.name));
  }
  const bool stated = spec.type.has_value() && value.kind == ir::ValueKind::tensor;
  if (stated && (value.tensor.type() != *spec.type || value.tensor.shape() != spec.shape)) {
    throw Error(
        Fault::user,
        fmt::format("'{}' holds {} {}, not {} {}", spec.path, ir::name_of(value.tensor.type()),
                    ir::to_string(value.tensor.shape()), ir::name_of(*spec.type), ir::to_string(spec.shape)));
  }
  return value;
}

}  // namespace axrun::cli
