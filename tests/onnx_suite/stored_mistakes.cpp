#include "tests/onnx_suite/stored_mistakes.h"

#include <bit>
#include <cmath>
#include <map>

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using runtime::RuntimeValue;

/// Only the type of `like` matters; its stored shape is [1], the model declares [3, 4].
void declared_like(std::vector<RuntimeValue>& inputs) {
  inputs.at(1) = RuntimeValue(Tensor::allocate(inputs.at(1).tensor.type(), {3, 4}));
}

/// The upper half of the float, where ONNX's Cast rounds to nearest even. Checks first that this is what
/// `got` did.
void truncated(const std::vector<RuntimeValue>& inputs, Tensor& got) {
  const Tensor& x = inputs.at(0).tensor;
  if (x.type() != ElementType::f32 || x.size() != got.size()) return;
  const Tensor rounded = got.clone();
  for (int64_t i = 0; i < x.size(); ++i) {
    const double exact = ir::round_to(ElementType::bf16, x.get_real(i));
    const bool is_right =
        rounded.get_real(i) == exact || (std::isnan(exact) && std::isnan(rounded.get_real(i)));
    const auto bits = std::bit_cast<uint32_t>(x.as<float>()[i]) & 0xFFFF0000u;
    // What is not rounded to nearest stays wrong: it fails the comparison.
    if (is_right && !std::isnan(exact)) got.set_real(i, std::bit_cast<float>(bits));
  }
}

void with_epsilon(ir::Graph& graph) {
  ir::Attribute epsilon;
  epsilon.kind = ir::Attribute::Kind::real;
  epsilon.real = 1e-2;
  graph.nodes.at(0).attributes["epsilon"] = epsilon;
}

const std::map<std::string, StoredMistake>& mistakes() {
  static const char* const shape = "input 'like' is stored with shape [1], the model declares [3, 4]";
  static const std::map<std::string, StoredMistake>& table = *new std::map<std::string, StoredMistake>{
      {"test_cast_FLOAT_to_BFLOAT16",
       {"truncated, where ONNX's Cast rounds to nearest even", nullptr, nullptr, truncated}},
      {"test_castlike_BFLOAT16_to_FLOAT", {shape, nullptr, declared_like}},
      {"test_castlike_BFLOAT16_to_FLOAT_expanded", {shape, nullptr, declared_like}},
      {"test_castlike_FLOAT_to_BFLOAT16", {shape, nullptr, declared_like, truncated}},
      {"test_castlike_FLOAT_to_BFLOAT16_expanded", {shape, nullptr, declared_like, truncated}},
      {"test_adam_multiple",
       {"computed with epsilon 1e-2, which the model's node does not carry (its default is 1e-6)",
        with_epsilon}},
  };
  return table;
}

}  // namespace

const StoredMistake* find_mistake(const std::string& name) {
  const auto found = mistakes().find(name);
  return found == mistakes().end() ? nullptr : &found->second;
}

}  // namespace axrun::tests
