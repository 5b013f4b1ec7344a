#include "perf/host/options.h"

#include <gtest/gtest.h>

namespace axrun::perf {
namespace {

Options parse(std::vector<std::string> arguments) {
  std::vector<char*> argv = {nullptr};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_options(static_cast<int>(argv.size()), argv.data(), {{"library", "PATH", "help"}});
}

TEST(HostOptions, EveryFlagIsRead) {
  const Options options =
      parse({"--library", "lib.so", "m.onnx", "--data", "d", "--shape", "a:0:2x3", "--dim", "n=7",
             "--threads", "2", "--runs", "5", "--sweep", "--save", "s", "--seed", "9", "--serve", "--json"});
  EXPECT_EQ(options.model, "m.onnx");
  EXPECT_EQ(options.engine.at("library"), "lib.so");
  EXPECT_EQ(options.data, "d");
  EXPECT_EQ(options.choices.shapes.at("a:0"), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(options.choices.dims.at("n"), 7);
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.runs, 5);
  EXPECT_TRUE(options.sweep);
  EXPECT_EQ(options.save, "s");
  EXPECT_EQ(options.seed, 9u);
  EXPECT_TRUE(options.serve);
}

TEST(HostOptions, AnyMistakeIsTheUsersFault) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"m", "n"},
      {"m", "--unknown"},
      {"m", "--threads"},
      {"m", "--threads", "0"},
      {"m", "--threads", "2x"},
      {"m", "--threads", "99999999999"},
      {"m", "--runs", "-1"},
      {"m", "--seconds", "nan"},
      {"m", "--seconds", "inf"},
      {"m", "--shape", "x"},
      {"m", "--shape", ":1x2"},
      {"m", "--shape", "x:1xx2"},
      {"m", "--shape", "x:1x-2"},
      {"m", "--dim", "n"},
      {"m", "--dim", "n="},
  };
  for (const auto& arguments : mistakes) {
    try {
      parse(arguments);
      ADD_FAILURE() << testing::PrintToString(arguments);
    } catch (const HostError& error) {
      EXPECT_EQ(error.exit_code, HostError::user);
    }
  }
}

}  // namespace
}  // namespace axrun::perf
