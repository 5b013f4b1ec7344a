// Which tokens WhisperBeamSearch allows where logits_processor is 1. Tokens 0 to 5 are text (1 ends it, 2
// starts it), those from 6 on are timestamps.
#include "runtime/control/timestamps.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

constexpr float never = std::numeric_limits<float>::lowest();

ir::Node search() {
  ir::Node node;
  node.op = "WhisperBeamSearch";
  const auto set = [&](const char* name, int64_t value) { node.attributes[name].integer = value; };
  set("eos_token_id", 1);
  set("decoder_start_token_id", 2);
  set("translate_token_id", 3);
  set("no_timestamps_token_id", 4);
  set("beginning_timestamp_token_id", 6);
  return node;
}

/// The tokens that may follow; text is likelier than all timestamps together unless `likely_times`.
std::vector<int64_t> allowed(const std::vector<int64_t>& sequence, bool likely_times = false) {
  std::vector<float> scores(10, -1);
  for (size_t k = 6; k < scores.size(); ++k) scores[k] = likely_times ? -2.0f : -9.0f;
  TimestampRules(search()).apply(scores, sequence);
  std::vector<int64_t> tokens;
  for (size_t k = 0; k < scores.size(); ++k) {
    if (scores[k] > never) tokens.push_back(static_cast<int64_t>(k));
  }
  return tokens;
}

using Tokens = std::vector<int64_t>;

TEST(Timestamps, TextFollowsTheStart) { EXPECT_EQ(allowed({2, 3}), (Tokens{0, 1, 2, 3, 5, 6, 7, 8, 9})); }
TEST(Timestamps, TextFollowsTheFirst) { EXPECT_EQ(allowed({2, 7}), (Tokens{0, 1, 2, 3, 5})); }
TEST(Timestamps, TasksAreNotRepeatedAfterIt) { EXPECT_EQ(allowed({2, 7, 5}), (Tokens{0, 1, 5, 8, 9})); }
TEST(Timestamps, ASecondOneAfterTextIsPaired) {
  // A pair may repeat its time; the text may end.
  EXPECT_EQ(allowed({2, 6, 5, 8}), (Tokens{1, 5, 8, 9}));
}
TEST(Timestamps, TextFollowsAPair) { EXPECT_EQ(allowed({2, 6, 5, 8, 8}), (Tokens{0, 1, 5})); }
TEST(Timestamps, AreForcedWhereTogetherTheyAreLikelier) {
  // Four of e^-2 are more than one of e^-1; two are not.
  EXPECT_EQ(allowed({2, 3}, true), (Tokens{6, 7, 8, 9}));
  EXPECT_EQ(allowed({2, 7, 5}, true), (Tokens{0, 1, 5, 8, 9}));
}
TEST(Timestamps, NeedAFirstOne) {
  ir::Node node = search();
  node.attributes.erase("beginning_timestamp_token_id");
  EXPECT_THROW(TimestampRules{node}, Error);
}

}  // namespace
}  // namespace axrun::runtime
