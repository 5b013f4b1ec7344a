// Strings: conversion, comparison, concatenation, splitting, look-up and normalisation.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/unicode.h"

namespace axrun::ir {
namespace {

/// The shortest digits that read back as the same number: f64 for f64, f32 for every narrower type.
std::string text_of(ElementType type, double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char buffer[64];
  const auto end = type == ElementType::f64
                       ? std::to_chars(buffer, buffer + sizeof buffer, value)
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return {buffer, end.ptr};
}

std::string text_at(const Tensor& x, int64_t position, ElementType type) {
  if (is_float(type)) return text_of(type, round_to(type, x.get_real(position)));
  if (type == ElementType::u64) return std::to_string(static_cast<uint64_t>(x.get_int(position)));
  return std::to_string(x.get_int(position));
}

[[noreturn]] void refuse_text(const std::string& text, ElementType type) {
  throw Error(Fault::user, "Cast: '" + text + "' is no number of type " + std::string(name_of(type)));
}

/// Without the white space around it and a plus sign in front.
std::string_view trimmed(const std::string& text) {
  constexpr std::string_view blank = " \t\n\v\f\r";
  const std::string_view view(text);
  const size_t first = view.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  std::string_view inner = view.substr(first, view.find_last_not_of(blank) - first + 1);
  if (inner.size() > 1 && inner[0] == '+' && inner[1] != '-') inner.remove_prefix(1);
  return inner;
}

template <typename Number>
Number parse(const std::string& text, ElementType type) {
  const std::string_view view = trimmed(text);
  Number value{};
  const auto end = std::from_chars(view.data(), view.data() + view.size(), value);
  if constexpr (std::is_floating_point_v<Number>) {
    // Out of range: too large is infinite, too small is zero.
    if (end.ec == std::errc::result_out_of_range && end.ptr == view.data() + view.size()) {
      return static_cast<Number>(std::strtod(std::string(view).c_str(), nullptr));
    }
  }
  if (view.empty() || end.ec != std::errc() || end.ptr != view.data() + view.size()) refuse_text(text, type);
  return value;
}

void set_from_text(Tensor& result, int64_t position, const std::string& text) {
  const ElementType type = result.type();
  if (is_float(type)) {
    // Digits are rounded once, to the type that holds the result.
    const double value =
        type == ElementType::f64 ? parse<double>(text, type) : static_cast<double>(parse<float>(text, type));
    result.set_real(position, value);
  } else if (type == ElementType::u64) {
    result.set_int(position, static_cast<int64_t>(parse<uint64_t>(text, type)));
  } else if (type == ElementType::boolean) {
    const std::string lower = to_lower_case(trimmed(text));
    const bool is_word = lower == "true" || lower == "false";
    result.set_int(position, is_word ? lower == "true" : parse<double>(text, type) != 0);
  } else {
    const auto value = parse<int64_t>(text, type);
    if (wrap_to(type, value) != value) refuse_text(text, type);
    result.set_int(position, value);
  }
}

void check_same_shape(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape()) throw Error(Fault::user, "two string tensors differ in shape");
}

template <typename Rule>
Tensor map_strings(const Tensor& x, Rule rule) {
  std::vector<std::string> strings;
  strings.reserve(static_cast<size_t>(x.size()));
  for (int64_t k = 0; k < x.size(); ++k) strings.push_back(rule(k));
  return Tensor::from_strings(x.shape(), std::move(strings));
}

}  // namespace

Tensors cast_string_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& conversion = payload_of<TextConversion>(stage);
  if (conversion.to == ElementType::string) {
    return {map_strings(x, [&](int64_t k) { return text_at(x, k, conversion.from); })};
  }
  Tensor result = Tensor::allocate(conversion.to, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) set_from_text(result, k, x.strings()[k]);
  return {result};
}

Tensors equal_strings_function(const Stage&, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const Tensor& y = arguments.at(1);
  check_same_shape(x, y);
  Tensor result = Tensor::allocate(ElementType::boolean, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) result.set_int(k, x.strings()[k] == y.strings()[k]);
  return {result};
}

Tensors concatenate_strings_function(const Stage&, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const Tensor& y = arguments.at(1);
  check_same_shape(x, y);
  return {map_strings(x, [&](int64_t k) { return x.strings()[k] + y.strings()[k]; })};
}

namespace {

std::vector<std::string> split_at_blanks(const std::string& text, int64_t most_splits) {
  constexpr const char* blank = " \t\n\v\f\r";
  std::vector<std::string> parts;
  size_t at = text.find_first_not_of(blank);
  while (at != std::string::npos) {
    if (most_splits >= 0 && static_cast<int64_t>(parts.size()) == most_splits) {
      parts.push_back(text.substr(at, text.find_last_not_of(blank) + 1 - at));
      break;
    }
    const size_t end = text.find_first_of(blank, at);
    parts.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? end : text.find_first_not_of(blank, end);
  }
  return parts;
}

std::vector<std::string> split_at(const std::string& text, const StringSplitParameters& parameters) {
  if (parameters.delimiter.empty()) return split_at_blanks(text, parameters.most_splits);
  std::vector<std::string> parts;
  size_t at = 0;
  while (parameters.most_splits < 0 || static_cast<int64_t>(parts.size()) < parameters.most_splits) {
    const size_t end = text.find(parameters.delimiter, at);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(at, end - at));
    at = end + parameters.delimiter.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

}  // namespace

Tensors split_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<StringSplitParameters>(stage);
  std::vector<std::vector<std::string>> parts;
  size_t most = 0;
  Tensor counts = Tensor::allocate(ElementType::i64, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) {
    parts.push_back(split_at(x.strings()[k], parameters));
    most = std::max(most, parts.back().size());
    counts.set_int(k, static_cast<int64_t>(parts.back().size()));
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<int64_t>(most));
  element_count(shape);  // refuses what padding would make absurdly large
  std::vector<std::string> padded;
  for (auto& row : parts) {
    row.resize(most);
    for (std::string& piece : row) padded.push_back(std::move(piece));
  }
  return {Tensor::from_strings(shape, std::move(padded)), counts};
}

Tensors find_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& table = payload_of<StringTable>(stage);
  Tensor result = Tensor::allocate(ElementType::i64, x.shape());
  for (int64_t k = 0; k < x.size(); ++k) {
    const auto found = table.position_of.find(x.strings()[k]);
    result.set_int(k, found == table.position_of.end() ? -1 : found->second);
  }
  return {result};
}

Tensors choose_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& table = payload_of<StringTable>(stage);
  const auto size = static_cast<int64_t>(table.strings.size());
  return {map_strings(x, [&](int64_t k) {
    const int64_t position = x.get_int(k);
    return position >= 0 && position < size ? table.strings[static_cast<size_t>(position)] : table.otherwise;
  })};
}

Tensors normalize_strings_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& x = arguments.at(0);
  const auto& parameters = payload_of<NormalizerParameters>(stage);
  std::unordered_set<std::string> stop_words;
  for (const std::string& word : parameters.stop_words) {
    stop_words.insert(parameters.case_sensitive ? word : to_lower_case(word));
  }
  std::vector<std::string> kept;
  for (int64_t k = 0; k < x.size(); ++k) {
    const std::string& text = x.strings()[k];
    if (stop_words.count(parameters.case_sensitive ? text : to_lower_case(text)) != 0) continue;
    switch (parameters.change) {
      case NormalizerParameters::Case::unchanged:
        kept.push_back(text);
        break;
      case NormalizerParameters::Case::lower:
        kept.push_back(to_lower_case(text));
        break;
      case NormalizerParameters::Case::upper:
        kept.push_back(to_upper_case(text));
        break;
    }
  }
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  return {Tensor::from_strings(x.rank() == 2 ? Shape{1, count} : Shape{count}, std::move(kept))};
}

}  // namespace axrun::ir
