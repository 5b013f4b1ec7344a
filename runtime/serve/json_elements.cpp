#include "runtime/serve/json_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/error.h"
#include "runtime/serve/inference_protocol.h"

namespace axrun::serve {

using ir::ElementType;
using ir::Tensor;
using Json = nlohmann::ordered_json;

namespace {

/// Levels of nested arrays of elements: more than any tensor has.
constexpr int deepest_list = 64;
/// Of an element before its comma: any float64 or 64-bit integer.
constexpr size_t longest_number = 32;

[[noreturn]] void refuse_elements(const std::string& text) { throw Error(Fault::user, text); }

/// Elements out of a JSON list, flat or nested.
class Reader {
 public:
  Reader(Tensor& tensor, std::string of) : tensor_(tensor), of_(std::move(of)) {}

  void read(const Json& list) {
    walk(list, 0);
    if (at_ != tensor_.size())
      refuse_elements(fmt::format("{} has {} elements, its shape takes {}", of_, at_, tensor_.size()));
  }

 private:
  void walk(const Json& list, int depth) {
    if (!list.is_array() || depth == deepest_list)
      refuse_elements(fmt::format("'data' of {} is no list of elements", of_));
    for (const Json& one : list) {
      if (one.is_array()) {
        walk(one, depth + 1);
      } else {
        store(one);
      }
    }
  }

  void store(const Json& one) {
    if (at_ == tensor_.size())
      refuse_elements(fmt::format("{} has more elements than its shape takes ({})", of_, tensor_.size()));
    const ElementType type = tensor_.type();
    if (type == ElementType::string) {
      if (!one.is_string()) wrong(one);
      tensor_.strings()[at_++] = one.get<std::string>();
    } else if (type == ElementType::boolean) {
      if (!one.is_boolean()) wrong(one);
      tensor_.set_int(at_++, one.get<bool>() ? 1 : 0);
    } else if (ir::is_float(type)) {
      if (!one.is_number()) wrong(one);
      tensor_.set_real(at_++, one.get<double>());
    } else {
      store_integer(one);
    }
  }

  void store_integer(const Json& one) {
    if (!one.is_number_integer()) wrong(one);
    const ElementType type = tensor_.type();
    if (one.is_number_unsigned()) {
      const auto value = one.get<uint64_t>();
      const bool fits = type == ElementType::u64 || value <= static_cast<uint64_t>(ir::integer_max(type));
      if (!fits) wrong(one);
      tensor_.set_int(at_++, static_cast<int64_t>(value));
      return;
    }
    const auto value = one.get<int64_t>();
    if (value < ir::integer_min(type) || value > ir::integer_max(type)) wrong(one);
    tensor_.set_int(at_++, value);
  }

  [[noreturn]] void wrong(const Json& one) const {
    refuse_elements(fmt::format("element {} of {} is {}, which is no {}", at_, of_, one.dump().substr(0, 40),
                                datatype_of(tensor_.type())));
  }

  Tensor& tensor_;
  std::string of_;
  int64_t at_ = 0;
};

/// The shortest text that reads back as the same value of its type.
template <class Float>
void append_float(std::string& json, Float value) {
  if (!std::isfinite(value)) {
    json += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  char text[longest_number];
  char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  json.append(text, end);
  // A reader that tells integers from reals takes it for a real, and -0 keeps its sign.
  if (std::find_if(static_cast<const char*>(text), static_cast<const char*>(end),
                   [](char c) { return c == '.' || c == 'e'; }) == end)
    json += ".0";
}

template <class Integer>
void append_integer(std::string& json, Integer value) {
  char text[longest_number];
  char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  json.append(text, end);
}

void append_element(std::string& json, const Tensor& tensor, int64_t k) {
  switch (tensor.type()) {
    case ElementType::string:
      json += Json(tensor.strings()[k]).dump(-1, ' ', false, Json::error_handler_t::replace);
      break;
    case ElementType::boolean:
      json += tensor.get_int(k) != 0 ? "true" : "false";
      break;
    case ElementType::u64:
      append_integer(json, tensor.as<uint64_t>()[k]);
      break;
    case ElementType::f64:
      append_float(json, tensor.as<double>()[k]);
      break;
    default:
      if (ir::is_float(tensor.type())) {
        append_float(json, static_cast<float>(tensor.get_real(k)));
      } else {
        append_integer(json, tensor.get_int(k));
      }
  }
}

}  // namespace

void read_elements(const Json& list, Tensor& tensor, const std::string& of) { Reader(tensor, of).read(list); }

void append_elements(std::string& json, const Tensor& tensor) {
  constexpr size_t usual_length = 12;  // of a float32 and its comma
  json.reserve(json.size() + static_cast<size_t>(tensor.size()) * usual_length);
  json += '[';
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (k > 0) json += ',';
    append_element(json, tensor, k);
  }
  json += ']';
}

}  // namespace axrun::serve
