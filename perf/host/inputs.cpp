#include "perf/host/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "perf/host/tensor_file.h"

namespace axrun::perf {
namespace {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators"): the same numbers
/// everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

template <class Number, class Draw>
void fill(Tensor& tensor, Draw draw) {
  for (std::size_t offset = 0; offset < tensor.bytes.size(); offset += sizeof(Number)) {
    const auto value = static_cast<Number>(draw());
    std::memcpy(tensor.bytes.data() + offset, &value, sizeof value);
  }
}

void fill(Tensor& tensor, Random& random) {
  const auto bit = [&] { return random.next() >> 63; };
  switch (tensor.type) {
    case Type::float32:
      return fill<float>(tensor, [&] { return static_cast<float>(random.next() >> 40) * 0x1p-24f; });
    case Type::float64:
      return fill<double>(tensor, [&] { return random.uniform(); });
    // The exponent of [0.5, 1) and random mantissa bits.
    case Type::float16:
      return fill<std::uint16_t>(tensor, [&] { return 0x3800 | random.next() >> 54; });
    case Type::bfloat16:
      return fill<std::uint16_t>(tensor, [&] { return 0x3f00 | random.next() >> 57; });
    case Type::uint8:
    case Type::int8:
    case Type::boolean:
      return fill<std::uint8_t>(tensor, bit);
    case Type::uint16:
    case Type::int16:
      return fill<std::uint16_t>(tensor, bit);
    case Type::uint32:
    case Type::int32:
      return fill<std::uint32_t>(tensor, bit);
    case Type::uint64:
    case Type::int64:
      return fill<std::uint64_t>(tensor, bit);
    case Type::string:
      tensor.strings.assign(tensor.strings.size(), "a");
      return;
    default:
      throw HostError(HostError::user, "input '" + tensor.name + "': no values are made up for type " +
                                           std::string(name_of(tensor.type)));
  }
}

std::vector<std::int64_t> choose_shape(const InputDeclaration& input, const ShapeChoices& choices) {
  std::vector<std::int64_t> shape = input.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto dim = choices.dims.find(input.dim_names[axis]);
    if (shape[axis] < 0) shape[axis] = dim == choices.dims.end() ? 1 : dim->second;
  }
  const auto chosen = choices.shapes.find(input.name);
  if (chosen == choices.shapes.end()) return shape;
  bool fits = chosen->second.size() == shape.size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    fits = input.shape[axis] < 0 || input.shape[axis] == chosen->second[axis];
  }
  if (!fits)
    throw HostError(HostError::user, "--shape does not fit the declared shape of input '" + input.name + "'");
  return chosen->second;
}

void check_names(const std::vector<InputDeclaration>& declared, const ShapeChoices& choices) {
  for (const auto& [name, shape] : choices.shapes) {
    const auto same = [&name = name](const InputDeclaration& input) { return input.name == name; };
    if (std::none_of(declared.begin(), declared.end(), same)) {
      throw HostError(HostError::user, "--shape names '" + name + "', which is no input of the model");
    }
  }
  for (const auto& [name, size] : choices.dims) {
    const auto has = [&name = name](const InputDeclaration& input) {
      return std::find(input.dim_names.begin(), input.dim_names.end(), name) != input.dim_names.end();
    };
    if (std::none_of(declared.begin(), declared.end(), has)) {
      throw HostError(HostError::user, "--dim names '" + name + "', which is no dim of an input");
    }
  }
}

}  // namespace

std::vector<Tensor> read_inputs(const std::string& folder, const std::vector<InputDeclaration>& declared) {
  std::vector<std::optional<Tensor>> found(declared.size());
  for (std::size_t k = 0;; ++k) {
    const std::string path = folder + "/input_" + std::to_string(k) + ".pb";
    if (access(path.c_str(), F_OK) != 0) break;
    Tensor tensor = read_tensor_file(path);
    std::size_t index = k;
    if (!tensor.name.empty()) {
      const auto same = [&](const InputDeclaration& input) { return input.name == tensor.name; };
      index =
          static_cast<std::size_t>(std::find_if(declared.begin(), declared.end(), same) - declared.begin());
    }
    if (index >= declared.size()) {
      throw HostError(HostError::user, "'" + path + "' belongs to no input of the model");
    }
    tensor.name = declared[index].name;
    found[index] = std::move(tensor);
  }
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < declared.size(); ++k) {
    if (!found[k]) {
      throw HostError(HostError::user, "'" + folder + "' has no value for input '" + declared[k].name + "'");
    }
    inputs.push_back(std::move(*found[k]));
  }
  return inputs;
}

std::vector<Tensor> make_up_inputs(const std::vector<InputDeclaration>& declared, const ShapeChoices& choices,
                                   std::uint64_t seed) {
  check_names(declared, choices);
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const InputDeclaration& input : declared) {
    inputs.push_back(make_tensor(input.name, input.type, choose_shape(input, choices)));
    fill(inputs.back(), random);
  }
  return inputs;
}

}  // namespace axrun::perf
