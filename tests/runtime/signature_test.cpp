// Keys of nested plans: what they say, and what is made of any other text.
#include "runtime/plan/signature.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/random.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::Tensor;

TEST(Signatures, SayWhatWasPutIntoTheKey) {
  std::string key;
  append_signature(key, RuntimeValue(Tensor::allocate(ElementType::f32, {2, 0, 3})));
  append_signature(key, RuntimeValue());
  append_signature(key, RuntimeValue::sequence({}));
  append_signature(key, RuntimeValue(Tensor::from_i64({5, -7})), true);
  append_signature(key, RuntimeValue(Tensor::from_strings({1}, {"text"})));
  append_signature(key, RuntimeValue(Tensor::scalar(ElementType::boolean, 1)));
  const auto read = signatures_in(key);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 6U);
  const std::vector<Signature>& all = *read;
  EXPECT_EQ(all[0].fact.type, ElementType::f32);
  EXPECT_EQ(ir::constant_dims(*all[0].fact.dims), ir::Shape({2, 0, 3}));
  EXPECT_FALSE(all[0].fact.constant.defined());
  for (const size_t nothing : {1, 2}) {
    EXPECT_EQ(all[nothing].fact.type, ElementType::undefined);
    EXPECT_FALSE(all[nothing].fact.dims.has_value());
  }
  EXPECT_EQ(all[1].kind, ir::ValueKind::tensor);
  EXPECT_EQ(all[2].kind, ir::ValueKind::sequence);
  EXPECT_EQ(all[3].fact.constant.to_ints(), (std::vector<int64_t>{5, -7}));
  EXPECT_EQ(all[4].fact.type, ElementType::string);
  EXPECT_FALSE(all[4].fact.constant.defined());
  EXPECT_EQ(ir::constant_dims(*all[5].fact.dims), ir::Shape());
}

TEST(Signatures, AreNotMadeOfOtherTexts) {
  std::string key;
  append_signature(key, RuntimeValue(Tensor::allocate(ElementType::f32, {2, 3})));
  append_signature(key, RuntimeValue(Tensor::from_i64({5, -7})), true);
  for (size_t length = 1; length < key.size(); ++length) {
    const auto cut = signatures_in(key.substr(0, length));
    if (cut) {
      EXPECT_EQ(cut->size(), 1U) << length;
    }
  }
  const auto with = [&](size_t at, char byte) {
    std::string other = key;
    other[at] = byte;
    return signatures_in(other);
  };
  EXPECT_FALSE(with(0, '\x09')) << "no kind of value";
  EXPECT_FALSE(with(1, '\x7f')) << "no element type";
  EXPECT_FALSE(with(1, '\0')) << "a tensor of no type";
  EXPECT_FALSE(with(10, '\x80')) << "a negative extent";
  Random random(1);
  for (int k = 0; k < 2000; ++k) {
    std::string text(static_cast<size_t>(random.below(60)), '\0');
    for (char& byte : text) byte = static_cast<char>(random.below(random.below(2) == 0 ? 4 : 256));
    const auto read = signatures_in(text);
    if (!read) continue;
    for (const Signature& one : *read) EXPECT_LE(one.kind, ir::ValueKind::map);
  }
}

}  // namespace
}  // namespace axrun::tests
