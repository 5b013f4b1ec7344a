#include "runtime/free_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

#include "ir/error_place.h"

namespace axrun::runtime {
namespace {

constexpr int64_t image_side = 224;
constexpr int64_t image_channels = 3;
constexpr int64_t other_size = 16;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_batch(const Port& port, const std::string& name, size_t axis) {
  const std::string lower = lower_case(name);
  if (contains(lower, "batch") || lower == "n" || lower == "b" || lower == "bs") return true;
  const ir::Dims& dims = *port.dims;
  if (name != fmt::format("{}_dim_{}", port.name, axis)) return false;
  // Nameless: the first of several, or the middle one of a recurrent state [layers, batch, width].
  const bool state = dims.size() == 3 && axis == 1 && dims[0].is_constant() && dims[2].is_constant();
  return (axis == 0 && dims.size() >= 2) || state;
}

/// True when some other dimension of a picture, [batch, channels, height, width] or [batch, height, width,
/// channels], counts colours.
bool is_image_side(const Port& port, size_t axis) {
  const ir::Dims& dims = *port.dims;
  if (dims.size() != 4) return false;
  const auto counts_colours = [&](size_t at) {
    const auto size = dims[at].constant();
    return size && (*size == 1 || *size == 3 || *size == 4);
  };
  const bool all_open =
      std::none_of(dims.begin() + 1, dims.end(), [](const ir::Dim& dim) { return dim.is_constant(); });
  if (axis >= 2 && (counts_colours(1) || all_open)) return true;
  return (axis == 1 || axis == 2) && counts_colours(3);
}

int64_t standard_size(const Port& port, size_t axis) {
  if (is_image_side(port, axis)) return image_side;
  return port.dims->size() == 4 && axis == 1 ? image_channels : other_size;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "past_sequence_length + 1" as exporters name dimensions: the sum, where every part is known.
std::optional<int64_t> sum_of_parts(std::string_view name, const Sizes& sizes) {
  if (!contains(name, "+")) return std::nullopt;
  int64_t sum = 0;
  for (std::string_view rest = name;;) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    const std::string_view part = trimmed(rest.substr(0, plus));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) {
      const auto known = sizes.find(std::string(part));
      if (known == sizes.end()) return std::nullopt;
      number = known->second;
    }
    if (__builtin_add_overflow(sum, number, &sum)) return std::nullopt;
    if (plus == rest.size()) return sum;
    rest.remove_prefix(plus + 1);
  }
}

/// A total length is what came before plus what comes now.
std::optional<int64_t> total_length(std::string_view name, const Sizes& sizes) {
  if (!contains(lower_case(name), "total")) return std::nullopt;
  std::optional<int64_t> past, present;
  for (const auto& [other, size] : sizes) {
    const std::string lower = lower_case(other);
    if (contains(lower, "total") || !contains(lower, "seq")) continue;
    (contains(lower, "past") ? past : present) = size;
  }
  int64_t sum = 0;
  if (!past || !present || __builtin_add_overflow(*past, *present, &sum)) return std::nullopt;
  return sum;
}

}  // namespace

Sizes choose_free_sizes(const std::vector<Port>& inputs, const Sizes& given, int64_t free_size) {
  Sizes sizes = given;
  std::vector<std::string> derived;  // names that may follow from others
  std::map<std::string, int64_t> otherwise;
  for (const Port& port : inputs) {
    for (size_t axis = 0; port.dims && axis < port.dims->size(); ++axis) {
      std::vector<std::string> names;
      (*port.dims)[axis].collect_symbols(names);
      for (const std::string& name : names) {
        if (sizes.count(name) > 0 || otherwise.count(name) > 0) continue;
        const int64_t size = is_batch(port, name, axis) ? 1
                             : free_size > 0            ? free_size
                                                        : standard_size(port, axis);
        if (contains(name, "+") || contains(lower_case(name), "total")) {
          derived.push_back(name);
          otherwise[name] = size;
        } else {
          sizes[name] = size;
        }
      }
    }
  }
  for (const std::string& name : derived) {
    std::optional<int64_t> size = sum_of_parts(name, sizes);
    if (!size) size = total_length(name, sizes);
    sizes[name] = size.value_or(otherwise[name]);
  }
  return sizes;
}

ir::Shape shape_under(const Port& port, const Sizes& sizes) {
  if (!port.dims) return {1};
  std::map<std::string, ir::Dim> known;
  for (const auto& [name, size] : sizes) known.emplace(name, ir::Dim(size));
  ir::Shape shape;
  for (const ir::Dim& dim : *port.dims) {
    const auto size = dim.substitute(known).constant();
    if (!size || *size < 0) {
      throw PlacedError(Fault::user,
                        fmt::format("input '{}' has shape {}: no size is known for {}", port.name,
                                    ir::to_string(*port.dims), dim.to_string()),
                        ErrorPlace::of_input(port.name));
    }
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace axrun::runtime
