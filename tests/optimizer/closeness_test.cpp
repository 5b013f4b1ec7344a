#include "runtime/optimizer/closeness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace axrun::tests {
namespace {

using namespace runtime;

TEST(Closeness, TheLargestFiniteMagnitude) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, -3, infinity, -infinity, NAN, 2.5f, -0.0f};
  EXPECT_EQ(largest_finite(values.data(), 7), 3.0f);
  EXPECT_EQ(largest_finite(values.data() + 2, 3), 0.0f);
  EXPECT_EQ(largest_finite(values.data(), 0), 0.0f);
}

TEST(Closeness, FindsEveryNumberThatIsApart) {
  std::vector<float> one(5000, 2.0f), other(5000, 2.0625f);
  const auto first = [&](int64_t begin) {
    return first_apart(one.data(), other.data(), begin, 5000, 0.0625);
  };
  EXPECT_EQ(first(0), 5000);
  for (const size_t at : {0, 1023, 1024, 4999}) {
    for (const float wrong : {2.125f, -2.0f, NAN, std::numeric_limits<float>::infinity()}) {
      other[at] = wrong;
      EXPECT_EQ(first(0), static_cast<int64_t>(at));
      EXPECT_EQ(first(static_cast<int64_t>(at)), static_cast<int64_t>(at));
      EXPECT_EQ(first(static_cast<int64_t>(at) + 1), 5000);
      other[at] = 2.0625f;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
