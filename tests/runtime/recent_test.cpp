#include "runtime/recent.h"

#include <gtest/gtest.h>

#include <chrono>

namespace axrun {
namespace {

TEST(Recent, AsksOnceWhileWhatIsKnownIsFresh) {
  runtime::Recent<int> figure(std::chrono::hours(1));
  int asked = 0;
  const auto ask = [&] { return ++asked; };
  EXPECT_EQ(figure.get(ask), 1);
  EXPECT_EQ(figure.get(ask), 1);
  EXPECT_EQ(asked, 1);
}

TEST(Recent, AsksAnewWhenWhatIsKnownIsOld) {
  runtime::Recent<int> figure(std::chrono::nanoseconds(0));
  int asked = 0;
  const auto ask = [&] { return ++asked; };
  EXPECT_EQ(figure.get(ask), 1);
  EXPECT_EQ(figure.get(ask), 2);
}

}  // namespace
}  // namespace axrun
