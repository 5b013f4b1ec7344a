#include "runtime/onnxruntime_ep/provider_options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ir/error.h"

namespace axrun::ort {
namespace {

const std::string prefix = "ep.axrunexecutionprovider.";

ProviderOptions read(const std::string& key, const std::string& value) {
  return read_options({{prefix + key, value}});
}

std::string refusal(const std::string& key, const std::string& value) {
  try {
    read(key, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    return error.what();
  }
  return "";
}

TEST(ProviderOptions, WhatNobodySetIsAsSessionsHaveIt) {
  const ProviderOptions options =
      read_options({{"session.disable_cpu_ep_fallback", "1"}, {"ep.other.cache", "no"}});
  EXPECT_TRUE(options.session.use_cache);
  EXPECT_TRUE(options.session.optimize);
  EXPECT_EQ(options.session.threads, 0);
  EXPECT_FALSE(options.verify);
  EXPECT_EQ(options.budget_seconds, 0);
}

TEST(ProviderOptions, EveryKeySetsWhatItSays) {
  EXPECT_EQ(read("budget", "2.5").budget_seconds, 2.5);
  EXPECT_FALSE(read("cache", "off").session.use_cache);
  EXPECT_EQ(read("cache_dir", "/tmp/x").session.cache_dir, "/tmp/x");
  EXPECT_TRUE(read("deterministic", "on").session.deterministic);
  EXPECT_TRUE(read("fp", "strict").session.deterministic);
  EXPECT_FALSE(read("fp", "reassoc").session.deterministic);
  EXPECT_FALSE(read("fp", "reassoc").session.bilinear);
  EXPECT_TRUE(read("fp", "bilinear").session.bilinear);
  EXPECT_EQ(read("log_level", "off").log_level, log_fatal);
  EXPECT_EQ(read("log_level", "verbose").log_level, log_verbose);
  EXPECT_FALSE(read("optimize", "0").session.optimize);
  EXPECT_EQ(read("optimizer_priority", "assured").session.optimizer_priority,
            runtime::OptimizerPriority::assured);
  EXPECT_EQ(read("optimizer_priority", "idle").session.optimizer_priority, runtime::OptimizerPriority::idle);
  EXPECT_EQ(read("optimizer_priority", "normal").session.optimizer_priority,
            runtime::OptimizerPriority::normal);
  EXPECT_EQ(read("optimizer_share", "0.25").session.optimizer_share, 0.25);
  EXPECT_EQ(read("optimizer_threads", "2").session.optimizer_threads, 2);
  EXPECT_EQ(read("threads", "3").session.threads, 3);
  EXPECT_TRUE(read("verify", "on").verify);
  EXPECT_EQ(read("verify", "0.01").tolerance, 0.01);
  EXPECT_TRUE(read("verify", "0.01").verify);
  // The test knows all of them.
  EXPECT_EQ(option_keys().size(), 12u);
}

TEST(ProviderOptions, TheSessionsThreadCountCountsUnlessThereIsOneOfOurs) {
  EXPECT_EQ(read_options({{"session.intra_op_num_threads", "5"}}).session.threads, 5);
  EXPECT_EQ(read_options({{prefix + "threads", "2"}, {"session.intra_op_num_threads", "5"}}).session.threads,
            2);
  EXPECT_EQ(read_options({{"session.intra_op_num_threads", "many"}}).session.threads, 0);
}

TEST(ProviderOptions, MistakesAreNamedWithWhatThereIs) {
  EXPECT_NE(refusal("cachedir", "/tmp").find("there is no option 'cachedir'"), std::string::npos);
  EXPECT_NE(refusal("cachedir", "/tmp").find("cache_dir = DIR"), std::string::npos);
  EXPECT_NE(refusal("threads", "-1").find("'threads' cannot be '-1': it takes N"), std::string::npos);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"budget", "soon"},
                                                        {"budget", "-1"},
                                                        {"budget", "nan"},
                                                        {"cache", "maybe"},
                                                        {"cache_dir", ""},
                                                        {"fp", "fast"},
                                                        {"log_level", "3"},
                                                        {"optimizer_priority", "high"},
                                                        {"optimizer_share", "0"},
                                                        {"optimizer_share", "2"},
                                                        {"optimizer_threads", "-1"},
                                                        {"optimize", "yes"},
                                                        {"deterministic", "2"},
                                                        {"threads", "3x"},
                                                        {"threads", "99999999999"},
                                                        {"verify", "2"}}) {
    EXPECT_NE(refusal(key, value).find("cannot be"), std::string::npos) << key << " = " << value;
  }
}

TEST(ProviderOptions, TheReadmeHasEveryKey) {
  std::ifstream file(AXRUN_SOURCE_DIR "/runtime/onnxruntime_ep/README.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const OptionKey& key : option_keys()) {
    EXPECT_NE(text.str().find("\n| `" + std::string(key.name) + "` | "), std::string::npos) << key.name;
  }
}

TEST(ProviderOptions, AllMistakesAreNamedAtOnce) {
  try {
    read_options({{prefix + "no", "1"}, {prefix + "budget", "x"}});
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'no'"), std::string::npos);
    EXPECT_NE(text.find("'budget'"), std::string::npos);
  }
}

}  // namespace
}  // namespace axrun::ort
