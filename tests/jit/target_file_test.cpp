#include "jit/target_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "ir/error.h"

namespace axrun::jit {
namespace {

Target base_target() {
  Target target;
  target.name = "base";
  target.features = {"avx", "avx2", "f16c", "fma", "sse", "sse2"};
  derive_vectors(target);
  target.cores = 3;
  target.caches = {{.bytes = 48 << 10, .bytes_per_second = 1.25e11},
                   {.bytes = 2 << 20, .line_bytes = 128, .shared_by = 2, .bytes_per_second = 1e10 / 3}};
  target.memory_bytes_per_second = 1e10;
  target.flops_per_second = 123456789012.25;
  return target;
}

Target parse(const std::string& text) { return parse_target(text, base_target(), "there"); }

/// What the refusal says.
std::string refusal(const std::string& text) {
  try {
    parse(text);
    return "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("there: ")) << what;
    EXPECT_LT(what.size(), 600U);
    return what.substr(7);
  }
}

TEST(TargetFile, RoundTrip) {
  const Target target = base_target();
  EXPECT_EQ(parse_target(print_target(target), Target{}, "there"), target);
  Target odd;
  odd.name = "\"quoted\" \\ ä";
  odd.features = {"sse", "sse2"};
  odd.vector_registers = 8;
  EXPECT_EQ(parse_target(print_target(odd), target, "there"), odd);
}

TEST(TargetFile, NothingIsOverriddenByNothing) { EXPECT_EQ(parse("{}"), base_target()); }

TEST(TargetFile, OverridesFieldByField) {
  Target want = base_target();
  want.cores = 7;
  EXPECT_EQ(parse(R"({"cores": 7})"), want);
  want = base_target();
  want.caches = {{.bytes = 16384}};
  EXPECT_EQ(parse(R"({"caches": [{"bytes": 16384}]})"), want);
  want = base_target();
  want.flops_per_second = 0;
  EXPECT_EQ(parse(R"({"flops_per_second": 0})"), want);
  want = base_target();
  want.vector_bytes = 16;
  EXPECT_EQ(parse(R"({"schema_version": 1, "version": "9.9", "vector_bytes": 16})"), want);
}

TEST(TargetFile, VectorsFollowFeatures) {
  const Target wide =
      parse(R"({"features": ["avx512vl", "avx512dq", "avx512bw", "avx512f", "f16c", "fma", "avx2",
                                             "avx", "sse2", "sse"]})");
  EXPECT_EQ(wide.vector_bytes, 64);
  EXPECT_EQ(wide.vector_registers, 32);
  EXPECT_TRUE(wide.masks);
  EXPECT_EQ(wide.flops_per_second, 0) << "was measured with other vectors";
  EXPECT_TRUE(std::is_sorted(wide.features.begin(), wide.features.end()));
  const Target narrow = parse(R"({"vector_registers": 12, "features": ["sse2", "sse"]})");
  EXPECT_EQ(narrow.vector_bytes, 16);
  EXPECT_EQ(narrow.vector_registers, 12);
  EXPECT_EQ(narrow.fma_ports, 0);
}

TEST(TargetFile, RefusalsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"core": 1})", "no field \"core\""},
      {R"({"cores": "1"})", "cores is \"1\""},
      {R"({"cores": 1.5})", "cores is 1.5"},
      {R"({"cores": 0})", "cores is 0"},
      {R"({"cores": -1})", "cores is -1"},
      {R"({"cores": true})", "cores is true"},
      {R"({"cores": null})", "cores is null"},
      {R"({"cores": 4294967297})", "cores is 4294967297"},
      {R"({"cores": 18446744073709551615})", "cores is 18446744073709551615"},
      {R"({"cores": 1, "cores": 2})", "twice"},
      {R"({"schema_version": 2})", "schema_version is 2"},
      {R"({"vector_bytes": 24})", "vector_bytes is 24"},
      {R"({"vector_bytes": 64})", "vector_bytes is 64"},
      {R"({"vector_registers": 32})", "vector_registers is 32"},
      {R"({"masks": true})", "masks is true"},
      {R"({"masks": 1})", "masks is 1"},
      {R"({"fma_ports": 100})", "fma_ports is 100"},
      {R"({"features": ["sse", "sse2"], "fma_ports": 1})", "fma_ports is 1"},
      {R"({"features": []})", "features: sse2"},
      {R"({"features": ["sse", "sse2", "avx2"]})", "avx2 without avx"},
      {R"({"features": ["sse", "sse2", "sse"]})", "features[2]"},
      {R"({"features": ["sse", "sse2", "mmx"]})", "features[2]"},
      {R"({"features": ["sse", 2]})", "features[1]"},
      {R"({"features": "sse"})", "features is"},
      {R"({"features": ["sse","sse","sse","sse","sse","sse","sse","sse","sse","sse","sse","sse","sse","sse"]})",
       "entries"},
      {R"({"caches": {}})", "caches is"},
      {R"({"caches": [3]})", "caches[0] is 3"},
      {R"({"caches": [{}]})", "caches[0].bytes is missing"},
      {R"({"caches": [{"size": 3}]})", "caches[0]: caches have no field"},
      {R"({"caches": [{"bytes": 1}]})", "caches[0].bytes is 1"},
      {R"({"caches": [{"bytes": 32768}, {"bytes": 32768}]})", "caches[1].bytes"},
      {R"({"caches": [{"bytes": 9223372036854775807}]})", "caches[0].bytes"},
      {R"({"caches": [{"bytes": 32768, "line_bytes": 48}]})", "caches[0].line_bytes is 48"},
      {R"({"caches": [{"bytes": 32768, "shared_by": 0}]})", "caches[0].shared_by is 0"},
      {R"({"caches": [{"bytes": 32768, "bytes_per_second": -1}]})", "caches[0].bytes_per_second is -1"},
      {R"({"caches": [{"bytes": 32768, "bytes": 65536}]})", "twice"},
      {R"({"flops_per_second": 1e300})", "flops_per_second is 1e+300"},
      {R"({"flops_per_second": 1e400})", "JSON"},
      {R"({"memory_bytes_per_second": 12})", "memory_bytes_per_second is 12"},
      {R"({"memory_bytes_per_second": "fast"})", "memory_bytes_per_second is \"fast\""},
      {R"({"name": "a\nb"})", "name is \"a\\nb\""},
      {R"({"name": 3})", "name is 3"},
      {R"([])", "[] is no object"},
      {R"(3)", "3 is no object"},
      {"", "JSON"},
      {"{} {}", "JSON"},
      {"\xEF\xBB", "JSON"},
      {"{\"name\": \"\xFF\"}", "JSON"},
      {R"({"caches": [[[[[[]]]]]]})", "deep"},
  };
  for (const auto& [text, words] : cases) {
    const std::string why = refusal(text);
    EXPECT_NE(why.find(words), std::string::npos) << text << "\n" << why;
  }
  EXPECT_NE(refusal(std::string(100'000, '[')).find("bytes"), std::string::npos);
  EXPECT_NE(refusal(std::string(60'000, '[')).find("deep"), std::string::npos);
  EXPECT_NE(refusal("{\"" + std::string(60'000, 'x') + "\": 1}").find("no field"), std::string::npos);
  EXPECT_NE(refusal("{\"name\": \"" + std::string(60'000, 'x') + "\"}").find("name"), std::string::npos);
}

TEST(TargetFile, EveryPrefixIsRefused) {
  std::string text = print_target(base_target());
  while (text.back() != '}') text.pop_back();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length)).find("JSON"), std::string::npos) << length;
}

/// Whatever is read, it is refused by Error(user) or is a target that is consistent and prints as itself.
TEST(TargetFile, MutatedBytes) {
  constexpr unsigned seed = 20261121;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string valid = print_target(base_target());
  int accepted = 0;
  constexpr int trials = 20'000;
  for (int trial = 0; trial < trials; ++trial) {
    std::string text = valid;
    const size_t changes = 1 + random() % 3;
    for (size_t k = 0; k < changes; ++k) {
      const size_t at = random() % text.size();
      static constexpr std::string_view likely = "0123456789-.eE\"[]{}:, \n\\truefalsn";
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text[at] = likely[random() % likely.size()];
          break;
        case 2:
          text.erase(at, 1 + random() % 20);
          break;
        default:
          text.insert(at, text, random() % text.size(), random() % 40);
      }
      if (text.empty()) text = " ";
    }
    try {
      const Target target = parse_target(text, base_target(), "there");
      ++accepted;
      ASSERT_EQ(inconsistency(target), "") << text;
      ASSERT_EQ(parse_target(print_target(target), Target{}, "there"), target) << text;
    } catch (const Error& error) {
      ASSERT_EQ(error.fault(), Fault::user) << text << error.what();
    }
  }
  // Names and digits may change; most else may not.
  EXPECT_GT(accepted, trials / 100);
  EXPECT_LT(accepted, trials / 2);
}

TEST(TargetFile, Files) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("axrun_target_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << print_target(base_target());
  EXPECT_EQ(read_target_file(path, Target{}), base_target());
  std::ofstream(path) << "{";
  try {
    read_target_file(path, Target{});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read_target_file(path, Target{}), Error);
  EXPECT_THROW(read_target_file(std::filesystem::temp_directory_path(), Target{}), Error);
  EXPECT_THROW(read_target_file("/dev/null", Target{}), Error);
  EXPECT_THROW(read_target_file("/dev/zero", Target{}), Error);
}

}  // namespace
}  // namespace axrun::jit
