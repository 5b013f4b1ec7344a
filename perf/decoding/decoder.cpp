#include "perf/decoding/decoder.h"

#include <cstring>
#include <utility>

namespace axrun::perf {
namespace {

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

std::int64_t size_of(const std::string& name, std::int64_t token) {
  const bool is_total = name.find("total") != std::string::npos || name.find('+') != std::string::npos;
  return is_total ? token + 1 : begins(name, "past") ? token : 1;
}

void fill(Tensor& tensor, std::int64_t value) {
  const std::size_t width = static_cast<std::size_t>(bits_of(tensor.type)) / 8;
  for (std::size_t at = 0; width > 0 && at + width <= tensor.bytes.size(); at += width) {
    const auto real = static_cast<float>(value);
    const void* const from = tensor.type == Type::float32 ? static_cast<const void*>(&real) : &value;
    std::memcpy(tensor.bytes.data() + at, from, width);
  }
}

}  // namespace

DecodedModel::DecodedModel(std::vector<InputDeclaration> inputs) : declared(std::move(inputs)) {
  for (const InputDeclaration& input : declared) {
    bool state = false;
    for (const std::string& name : input.dim_names)
      state = state || (begins(name, "past") && name.find('+') == std::string::npos);
    is_state.push_back(state);
  }
}

std::vector<Tensor> DecodedModel::inputs(std::int64_t token) const {
  std::vector<Tensor> values;
  for (std::size_t k = 0; k < declared.size(); ++k) {
    const InputDeclaration& input = declared[k];
    std::vector<std::int64_t> shape = input.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] < 0) shape[d] = size_of(input.dim_names[d], token);
    }
    if (is_state[k] && token > 0) {
      values.push_back({input.name, input.type, std::move(shape), Buffer(), {}});
      continue;
    }
    values.push_back(make_tensor(input.name, input.type, std::move(shape)));
    const bool is_mask = input.name.find("mask") != std::string::npos;
    const bool is_place = input.name.find("position") != std::string::npos;
    fill(values.back(), is_mask ? 1 : is_place ? token : token * 37 % 97);
  }
  return values;
}

}  // namespace axrun::perf
