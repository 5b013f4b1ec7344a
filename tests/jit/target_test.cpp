#include "jit/target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "ir/error.h"
#include "ir/isa/semantics.h"
#include "jit/calibrate.h"
#include "jit/cpu_features.h"
#include "jit/detect.h"
#include "jit/processor_quota.h"

namespace axrun::jit {
namespace {

/// A machine that need not be this one.
Target avx512_target() {
  Target target;
  target.name = "test";
  target.features = {"avx",      "avx2",     "avx512_vnni", "avx512bw", "avx512dq", "avx512f",
                     "avx512vl", "avx_vnni", "f16c",        "fma",      "sse",      "sse2"};
  derive_vectors(target);
  target.caches = {{.bytes = 32 << 10, .bytes_per_second = 3e11},
                   {.bytes = 1 << 20, .bytes_per_second = 1e11},
                   {.bytes = 32 << 20, .shared_by = 8, .bytes_per_second = 2e10}};
  target.memory_bytes_per_second = 1e10;
  target.flops_per_second = 1.5e11;
  return target;
}

TEST(Detection, ThisMachine) {
  const Target target = detect_target();
  EXPECT_EQ(inconsistency(target), "");
  EXPECT_NO_THROW(require_runnable(target));
  EXPECT_FALSE(target.name.empty());
  EXPECT_TRUE(target.has("sse2"));
  EXPECT_TRUE(std::is_sorted(target.features.begin(), target.features.end()));
  __builtin_cpu_init();  // the compiler's own detection, which asks the operating system too
  EXPECT_EQ(target.has("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(target.has("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(target.vector_bytes == 64,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
  EXPECT_GE(target.cores, 1);
  ASSERT_FALSE(target.caches.empty());
  EXPECT_EQ(target.flops_per_second, 0);
  EXPECT_EQ(target.memory_bytes_per_second, 0);
  for (size_t k = 0; k < target.caches.size(); ++k) {
    EXPECT_GT(target.caches[k].bytes, k == 0 ? 0 : target.caches[k - 1].bytes);
    EXPECT_GE(target.caches[k].shared_by, 1);
    EXPECT_EQ(target.caches[k].bytes_per_second, 0);
  }
  EXPECT_EQ(detect_target(), target);
}

TEST(Features, AreTheOnesOfTheInstructionTables) {
  for (const ir::isa::Row& row : ir::isa::rows())
    for (const ir::isa::Width width : row.widths())
      for (const std::string& feature : row.features(width))
        EXPECT_NE(find_cpu_feature(feature), nullptr) << feature;
  for (const CpuFeature& feature : cpu_features())
    for (const std::string_view needed : feature.needs) {
      ASSERT_NE(find_cpu_feature(needed), nullptr) << needed;
      EXPECT_LE(find_cpu_feature(needed)->level, feature.level);
    }
  EXPECT_EQ(find_cpu_feature("avx3"), nullptr);
  EXPECT_THROW(host_has("avx3"), Error);
}

TEST(Levels, Names) {
  for (const Level level : {Level::sse2, Level::avx2, Level::avx512})
    EXPECT_EQ(level_named(level_name(level)), level);
  EXPECT_THROW(level_named("avx"), Error);
  EXPECT_THROW(level_named(""), Error);
}

TEST(Levels, RestrictedIsASubset) {
  for (const Target& target : {avx512_target(), detect_target()}) {
    for (const Level level : {Level::sse2, Level::avx2, Level::avx512}) {
      const Target lower = restricted(target, level);
      EXPECT_LE(level_of(lower), level);
      EXPECT_EQ(inconsistency(lower), "");
      EXPECT_TRUE(std::includes(target.features.begin(), target.features.end(), lower.features.begin(),
                                lower.features.end()));
      EXPECT_LE(lower.vector_bytes, target.vector_bytes);
      EXPECT_LE(lower.vector_registers, target.vector_registers);
      EXPECT_EQ(lower.caches.size(), target.caches.size());
      EXPECT_EQ(restricted(lower, level), lower);
    }
    EXPECT_EQ(restricted(target, Level::avx512), target);
  }
}

TEST(Levels, WhatTheyOffer) {
  const Target avx2 = restricted(avx512_target(), Level::avx2);
  EXPECT_EQ(avx2.features,
            (std::vector<std::string>{"avx", "avx2", "avx_vnni", "f16c", "fma", "sse", "sse2"}));
  EXPECT_EQ(avx2.vector_bytes, 32);
  EXPECT_EQ(avx2.vector_registers, 16);
  EXPECT_EQ(avx2.lanes(4), 8);
  EXPECT_GT(avx2.fma_ports, 0);
  EXPECT_FALSE(avx2.masks);
  const Target sse2 = restricted(avx512_target(), Level::sse2);
  EXPECT_EQ(sse2.features, (std::vector<std::string>{"sse", "sse2"}));
  EXPECT_EQ(sse2.vector_bytes, 16);
  EXPECT_EQ(sse2.fma_ports, 0);
}

TEST(Levels, WhatWasMeasuredWithOtherVectorsIsForgotten) {
  const Target target = avx512_target();
  const Target avx2 = restricted(target, Level::avx2);
  EXPECT_EQ(avx2.flops_per_second, 0);
  EXPECT_EQ(avx2.caches[0].bytes_per_second, 0);
  Target narrow = target;
  narrow.vector_bytes = 32;
  EXPECT_EQ(restricted(narrow, Level::avx2).flops_per_second, target.flops_per_second);
  narrow.vector_bytes = 16;
  EXPECT_EQ(restricted(narrow, Level::avx2).vector_bytes, 16);
}

TEST(Levels, NeedAllOfTheirFeatures) {
  for (const char* missing : {"avx512bw", "avx512dq", "avx512vl"}) {
    Target target = avx512_target();
    std::erase(target.features, missing);
    std::erase(target.features, "avx512_vnni");
    derive_vectors(target);
    EXPECT_EQ(level_of(target), Level::avx2) << missing;
    EXPECT_EQ(target.vector_bytes, 32);
    EXPECT_EQ(inconsistency(target), "");
  }
}

TEST(Runnable, LackingFeaturesAreNamed) {
  Target target = detect_target();
  for (const CpuFeature& feature : cpu_features()) {
    if (host_has(feature.name)) continue;
    target.features.emplace_back(feature.name);
    try {
      require_runnable(target, "there");
      ADD_FAILURE() << feature.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::user);
      EXPECT_NE(std::string(error.what()).find(std::string(feature.name)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("there"), std::string::npos) << error.what();
    }
    target.features.pop_back();
  }
  target.features.emplace_back("mmx2");
  EXPECT_THROW(require_runnable(target), Error);
}

TEST(Calibration, WhereItReads) {
  const Target target = avx512_target();
  const std::vector<int64_t> parts = measured_bytes(target);
  ASSERT_EQ(parts.size(), target.caches.size() + 1);
  int64_t nearer = 0;
  for (size_t k = 0; k < target.caches.size(); ++k) {
    EXPECT_GT(parts[k], nearer);
    EXPECT_LT(parts[k], target.caches[k].bytes);
    nearer = target.caches[k].bytes;
  }
  EXPECT_GT(parts.back(), 0);
}

TEST(Calibration, AbsurdCachesTakeNoMemory) {
  Target target = avx512_target();
  target.caches = {{.bytes = int64_t{1} << 39}, {.bytes = int64_t{1} << 40}};
  for (const int64_t part : measured_bytes(target)) EXPECT_LE(part, 32 << 20);
  EXPECT_EQ(measured_bytes(target)[1], 0);
}

TEST(Calibration, ThisMachineAtEveryLevel) {
  const Target host = detect_target();
  for (const Level level : {Level::sse2, Level::avx2, Level::avx512}) {
    if (level > level_of(host)) continue;
    const Target before = restricted(host, level);
    Target after = calibrated(before);
    const auto plausible = [](double rate, double least, double most) {
      return std::isfinite(rate) && rate > least && rate < most;
    };
    // No machine that runs this is slower or faster by such factors, whatever else it does at the moment.
    EXPECT_TRUE(plausible(after.flops_per_second, 1e7, 1e13)) << after.flops_per_second;
    EXPECT_TRUE(plausible(after.memory_bytes_per_second, 1e6, 1e13)) << after.memory_bytes_per_second;
    EXPECT_EQ(after.fma_ports > 0, before.has("fma"));
    EXPECT_LE(after.fma_ports, 3);
    const std::vector<int64_t> parts = measured_bytes(before);
    for (size_t k = 0; k < after.caches.size(); ++k) {
      EXPECT_TRUE(parts[k] == 0 || plausible(after.caches[k].bytes_per_second, 1e6, 1e14));
      after.caches[k].bytes_per_second = 0;
    }
    // All else stays.
    after.flops_per_second = after.memory_bytes_per_second = 0;
    after.fma_ports = before.fma_ports;
    EXPECT_EQ(after, before);
  }
}

TEST(Calibration, NotOfAnotherMachine) {
  Target target = avx512_target();
  target.features.insert(target.features.begin(), "avx512_of_tomorrow");
  EXPECT_THROW(calibrated(target), Error);
}

class Quota : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("axrun_quota_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << content;
  }
  double quota() const { return processor_quota(folder_ / "groups", folder_ / "mount"); }

  std::filesystem::path folder_;
};

TEST_F(Quota, NothingLimits) {
  EXPECT_EQ(quota(), HUGE_VAL);
  write("groups", "0::/a\n");
  EXPECT_EQ(quota(), HUGE_VAL);
  write("mount/a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), HUGE_VAL);
  write("groups", "nonsense\n::\n4:\n");
  EXPECT_EQ(quota(), HUGE_VAL);
}

TEST_F(Quota, TheTightestGroupCounts) {
  write("groups", "0::/a/b/c\n");
  write("mount/a/b/c/cpu.max", "400000 100000\n");
  write("mount/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
  write("mount/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(Quota, VersionOne) {
  write("groups", "3:memory:/m\n1:cpu,cpuacct:/g\n0::/\n");
  write("mount/cpu/g/cpu.cfs_quota_us", "-1\n");
  write("mount/cpu/g/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), HUGE_VAL);
  write("mount/cpu/g/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(quota(), 3);
  write("mount/cpu/m/cpu.cfs_quota_us", "1\n");
  EXPECT_EQ(quota(), 3);
}

}  // namespace
}  // namespace axrun::jit
