// Elements in JSON: the fewest digits that read back as the same value, and numbers that JSON does not have.
#include "runtime/serve/json_elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

std::string text_of(const Tensor& tensor) {
  std::string json;
  serve::append_elements(json, tensor);
  return json;
}

template <class T>
Tensor tensor_of(ElementType type, const std::vector<T>& values) {
  Tensor tensor = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.as<T>()[k] = values[k];
  return tensor;
}

TEST(JsonElements, FloatsTakeTheFewestDigits) {
  const Tensor floats =
      tensor_of<float>(ElementType::f32, {0.11979016661643982F, 0.1F, 1, -0.0F, 16777216, 1e30F, -2.5e-8F});
  EXPECT_EQ(text_of(floats), "[0.11979017,0.1,1.0,-0.0,16777216.0,1e+30,-2.5e-08]");
  EXPECT_EQ(text_of(tensor_of<double>(ElementType::f64, {0.1, 1.0 / 3, 5e-324})),
            "[0.1,0.3333333333333333,5e-324]");
  Tensor half = Tensor::allocate(ElementType::f16, {2});
  half.set_real(0, 0.1);
  half.set_real(1, 65504);
  EXPECT_EQ(text_of(half), "[0.099975586,65504.0]");
  EXPECT_EQ(text_of(tensor_of<float>(ElementType::f32, {})), "[]");
}

TEST(JsonElements, NumbersThatJsonDoesNotHave) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text_of(tensor_of<float>(ElementType::f32, {infinity, -infinity, std::nanf("")})),
            "[Infinity,-Infinity,NaN]");
}

/// Random finite numbers of a type.
template <class Float, class Bits>
void expect_that_bits_come_back(ElementType type) {
  std::mt19937_64 random(11);
  std::vector<Float> values;
  while (values.size() < 100000) {
    const auto value = std::bit_cast<Float>(static_cast<Bits>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text_of(tensor_of<Float>(type, values)));
  Tensor again = Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  serve::read_elements(json, again, "it");
  for (size_t k = 0; k < values.size(); ++k)
    ASSERT_EQ(std::bit_cast<Bits>(values[k]), std::bit_cast<Bits>(again.as<Float>()[k])) << values[k];
}

TEST(JsonElements, FloatsComeBackAsTheyWent) {
  expect_that_bits_come_back<float, uint32_t>(ElementType::f32);
  expect_that_bits_come_back<double, uint64_t>(ElementType::f64);
}

TEST(JsonElements, IntegersAndTexts) {
  EXPECT_EQ(text_of(tensor_of<int64_t>(ElementType::i64, {INT64_MIN, -1, INT64_MAX})),
            "[-9223372036854775808,-1,9223372036854775807]");
  EXPECT_EQ(text_of(tensor_of<uint64_t>(ElementType::u64, {UINT64_MAX})), "[18446744073709551615]");
  EXPECT_EQ(text_of(Tensor::from_strings({2}, {"\"", "\xff"})), "[\"\\\"\",\"\xef\xbf\xbd\"]");
}

}  // namespace
}  // namespace axrun::tests
