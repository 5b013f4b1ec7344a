#include "jit/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <map>
#include <set>
#include <thread>
#include <utility>

namespace axrun::tests {
namespace {

TEST(Processors, AreThoseOfTheAffinityMask) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const auto processors = jit::processors_to_use();
  EXPECT_EQ(static_cast<int>(processors.size()), CPU_COUNT(&allowed));
  std::set<int> ids;
  for (const jit::Processor& processor : processors) {
    EXPECT_TRUE(CPU_ISSET(processor.id, &allowed)) << processor.id;
    EXPECT_TRUE(ids.insert(processor.id).second) << processor.id;
  }
}

TEST(Processors, OneOfEachCoreComesBeforeTheSecondOfAny) {
  std::map<std::pair<int, int>, int> turns;
  int last = 0;
  for (const jit::Processor& processor : jit::processors_to_use()) {
    const int turn = processor.core < 0 ? 0 : turns[{processor.package, processor.core}]++;
    EXPECT_GE(turn, last);
    last = turn;
  }
}

TEST(Processors, AThreadStaysWhereItIsBound) {
  std::thread([] {
    const auto processors = jit::processors_to_use();
    const int last = processors.back().id;
    ASSERT_TRUE(jit::bind_this_thread(last));
    EXPECT_EQ(sched_getcpu(), last);
    EXPECT_FALSE(jit::bind_this_thread(-1));
    EXPECT_FALSE(jit::bind_this_thread(1 << 20));
  }).join();
}

}  // namespace
}  // namespace axrun::tests
