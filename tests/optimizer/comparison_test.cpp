#include "runtime/optimizer/comparison.h"

#include <gtest/gtest.h>

#include "ir/tensor.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

Tensor integers(ElementType type, int64_t value) {
  Tensor made = Tensor::allocate(type, {1000});
  for (int64_t k = 0; k < made.size(); ++k) made.set_int(k, value);
  return made;
}

/// Numbers between two steps of a quantization go up in one kernel and down in the other.
TEST(Comparison, FewRoundedResultsMayBeAStepApart) {
  for (const ElementType type : {ElementType::u8, ElementType::i8, ElementType::u16, ElementType::i16}) {
    const Tensor present = integers(type, 47);
    Tensor other = integers(type, 47);
    for (int64_t k = 0; k < 10; ++k) other.set_int(100 * k, k % 2 == 0 ? 46 : 48);
    EXPECT_EQ(runtime::difference_of(present, other, 0, true), "");
    EXPECT_NE(runtime::difference_of(present, other, 0, false), "") << "of integers alone";
    other.set_int(1, 48);
    EXPECT_NE(runtime::difference_of(present, other, 0, true), "");
    other = integers(type, 47);
    other.set_int(7, 49);
    EXPECT_EQ(runtime::difference_of(present, other, 2, true),
              "output 2 element 7 is 49, with the present kernel 47");
  }
}

/// Those of more bits may be indices.
TEST(Comparison, IndicesAreTheSame) {
  for (const ElementType type : {ElementType::i32, ElementType::i64}) {
    const Tensor present = integers(type, 47);
    Tensor other = integers(type, 47);
    EXPECT_EQ(runtime::difference_of(present, other, 0, true), "");
    other.set_int(999, 48);
    EXPECT_NE(runtime::difference_of(present, other, 0, true), "");
  }
}

}  // namespace
}  // namespace axrun::tests
