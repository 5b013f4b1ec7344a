#include "runtime/onnxruntime_ep/examined_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/onnxruntime_ep/refusals.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/knobs.h"

namespace axrun::ort {
namespace {

using Bytes = std::vector<char>;

WrittenModel part_with(const std::string& bytes, const Bytes& constant) {
  WrittenModel part;
  part.bytes = bytes;
  part.options.memory_files.emplace("constant 0",
                                    onnx_import::MemoryFile{constant.data(), constant.size(), nullptr});
  return part;
}

class ExaminedPartsTest : public testing::Test {
 protected:
  ExaminedPartsTest() { session_.cache_dir = folder_.path().string(); }
  bool has(const WrittenModel& part) const { return ExaminedParts(session_).has(part); }
  void add(const WrittenModel& part) { ExaminedParts(session_).add(part); }

  const ::axrun::tests::Knobs knobs_{{"AXRUN_CACHE", "on"}, {"AXRUN_OPTIMIZE", "on"}};
  cache::TemporaryFolder folder_;
  runtime::SessionOptions session_;
};

TEST_F(ExaminedPartsTest, AreKnownToSessionsThatCome) {
  const Bytes small(64, 'a');
  EXPECT_FALSE(has(part_with("model", small)));
  add(part_with("model", small));
  EXPECT_TRUE(has(part_with("model", small)));
  EXPECT_FALSE(has(part_with("other", small)));
}

TEST_F(ExaminedPartsTest, AreToldApartByWhatDefinitionsLookAt) {
  const Bytes small(64, 'a'), longer(65, 'a'), other(64, 'b');
  add(part_with("model", small));
  EXPECT_FALSE(has(part_with("model", longer)));
  EXPECT_FALSE(has(part_with("model", other)));
  WrittenModel renamed = part_with("model", small);
  renamed.options.memory_files.emplace("constant 1", onnx_import::MemoryFile{});
  EXPECT_FALSE(has(renamed));
}

TEST_F(ExaminedPartsTest, WeightsDoNotTellThemApart) {
  const Bytes weights(looked_at_bytes + 1, 'a'), others(looked_at_bytes + 1, 'b');
  const Bytes last(looked_at_bytes, 'a'), changed(looked_at_bytes, 'b'), more(looked_at_bytes + 2, 'a');
  add(part_with("model", weights));
  EXPECT_TRUE(has(part_with("model", others)));
  EXPECT_FALSE(has(part_with("model", more)));
  add(part_with("model", last));
  EXPECT_FALSE(has(part_with("model", changed)));
}

TEST_F(ExaminedPartsTest, NothingIsKeptWithoutACache) {
  const Bytes small(64, 'a');
  add(part_with("model", small));
  session_.use_cache = false;
  EXPECT_FALSE(has(part_with("model", small)));
  add(part_with("other", small));
  session_.use_cache = true;
  EXPECT_TRUE(has(part_with("model", small)));
  EXPECT_FALSE(has(part_with("other", small)));
  session_.optimize = false;
  EXPECT_FALSE(has(part_with("model", small)));
}

}  // namespace
}  // namespace axrun::ort
