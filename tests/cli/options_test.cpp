#include "runtime/cli/options.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "runtime/cli/help.h"
#include "runtime/cli/streams.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"

namespace axrun::tests {
namespace {

using cli::Options;

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "axrun");
  return cli::parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, TheModelMayStandAnywhere) {
  EXPECT_EQ(parse({}).model, "");
  EXPECT_EQ(parse({"m.onnx"}).model, "m.onnx");
  EXPECT_EQ(parse({"--threads", "2", "m.onnx"}).model, "m.onnx");
  EXPECT_EQ(parse({"--input", "x:ones", "m.onnx"}).model, "m.onnx");
  EXPECT_EQ(parse({"--input", "x:ones", "--input", "y:ones", "m.onnx"}).inputs.size(), 2U);
  EXPECT_EQ(parse({"--profile", "m.onnx"}).model, "m.onnx");
  EXPECT_EQ(parse({"--json", "m.onnx"}).model, "m.onnx");
}

TEST(Options, ShapesAndDims) {
  const Options options = parse({"--shape", "a:b:1x3x224", "--shape", "s:", "--dim", "n=m=4", "m.onnx"});
  EXPECT_EQ(options.shapes.at("a:b"), (ir::Shape{1, 3, 224}));
  EXPECT_EQ(options.shapes.at("s"), ir::Shape{});
  EXPECT_EQ(options.dims.at("n=m"), 4);
}

TEST(Options, ProfileTakesOnlyWhatCannotBeTheModel) {
  EXPECT_EQ(parse({"--profile", "json", "m.onnx"}).profile_target, "json");
  EXPECT_EQ(parse({"--profile", "p.json", "m.onnx"}).profile_target, "p.json");
  EXPECT_EQ(parse({"--profile=p.txt", "m.onnx"}).profile_target, "p.txt");
  EXPECT_EQ(parse({"m.onnx", "--profile"}).profile_target, "text");
  EXPECT_TRUE(parse({"m.onnx", "--profile"}).profiling());
  EXPECT_TRUE(parse({"m.onnx", "--trace", "t"}).profiling());
  EXPECT_FALSE(parse({"m.onnx"}).profiling());
}

TEST(Options, Commands) {
  EXPECT_EQ(parse({"inspect", "m.onnx", "--json"}).command, Options::Command::inspect);
  EXPECT_EQ(parse({"inspect", "m.onnx"}).model, "m.onnx");
  EXPECT_EQ(parse({"knobs"}).command, Options::Command::knobs);
  EXPECT_EQ(parse({"target"}).command, Options::Command::target);
  EXPECT_FALSE(parse({"target", "--json"}).calibrate);
  EXPECT_TRUE(parse({"target", "--calibrate"}).calibrate);
  EXPECT_EQ(parse({"--version"}).command, Options::Command::version);
  EXPECT_EQ(parse({"--help"}).command, Options::Command::help);
  EXPECT_EQ(parse({"inspect", "--help"}).command, Options::Command::help);
}

TEST(Options, NumericClasses) {
  EXPECT_EQ(parse({"m.onnx"}).numeric_class, "reassoc");
  EXPECT_FALSE(parse({"m.onnx"}).deterministic);
  EXPECT_EQ(parse({"m.onnx", "--fp", "bilinear"}).numeric_class, "bilinear");
  EXPECT_FALSE(parse({"m.onnx", "--fp", "bilinear"}).deterministic);
  EXPECT_TRUE(parse({"m.onnx", "--fp", "strict"}).deterministic);
  EXPECT_EQ(parse({"m.onnx", "--deterministic"}).numeric_class, "strict");
  EXPECT_TRUE(parse({"m.onnx", "--deterministic", "--fp", "strict"}).deterministic);
  EXPECT_EQ(parse({"optimize", "m.onnx", "--fp", "bilinear"}).numeric_class, "bilinear");
  EXPECT_THROW(parse({"m.onnx", "--fp", "fast"}), Error);
  EXPECT_THROW(parse({"m.onnx", "--fp"}), Error);
  EXPECT_THROW(parse({"m.onnx", "--deterministic", "--fp", "bilinear"}), Error);
  EXPECT_THROW(parse({"m.onnx", "--deterministic", "--fp", "reassoc"}), Error);
}

TEST(Options, MistakesAreRefused) {
  const std::vector<std::vector<const char*>> mistakes = {
      {"--thread", "1"},    {"a.onnx", "b.onnx"},
      {"--threads", "0"},   {"--threads", "many"},
      {"--threads"},        {"--runs", "0"},
      {"--runs", "-1"},     {"--runs", "1", "--seconds", "1"},
      {"--seconds", "nan"}, {"--seconds", "inf"},
      {"--tier", "fast"},   {"--shape", "x"},
      {"--shape", "x:1x"},  {"--shape", "x:1xx2"},
      {"--shape", "x:-1"},  {"--dim", "n"},
      {"--dim", "n=x"},     {"--dim", "n=99999999999999999999"},
      {"--seed", "-1"},     {"--tolerance", "-1"},
      {"--timeout", "0"},   {"--mode", "fast"},
      {"--streams", "2"},   {"--mode", "throughput", "--streams", "0"},
      {"inspect"},          {"inspect", "m.onnx", "--runs", "1"}};
  for (const auto& arguments : mistakes) {
    EXPECT_THROW(parse(arguments), Error) << arguments.front() << ' ' << arguments.back();
  }
}

TEST(Options, ModesSpreadRunsOverTheProcessors) {
  const int processors = runtime::available_processors();
  const auto spread = [](std::vector<const char*> arguments) { return cli::spread_of(parse(arguments)); };
  EXPECT_EQ(spread({"m.onnx"}).streams, 1);
  EXPECT_EQ(spread({"m.onnx"}).threads, 0);
  EXPECT_EQ(spread({"--mode", "throughput"}).streams, processors);
  EXPECT_EQ(spread({"--mode", "throughput"}).threads, 1);
  EXPECT_EQ(spread({"--mode", "throughput", "--threads", "64"}).streams, std::max(1, processors / 64));
  EXPECT_EQ(spread({"--mode", "throughput", "--streams", "5"}).streams, 5);
  EXPECT_EQ(spread({"--pin", "--threads", "1"}).processors.size(), 1U);
  EXPECT_THROW(spread({"--pin", "--threads", "2"}), Error);
  EXPECT_THROW(spread({"--pin", "--mode", "throughput", "--streams", "4096"}), Error);
  EXPECT_THROW(spread({"--mode", "throughput", "--profile"}), Error);
}

TEST(Options, HelpNamesEveryOption) {
  const std::string help = cli::help_text;
  const auto names = cli::known_options();
  EXPECT_GT(names.size(), 20U);
  for (const std::string& name : names) EXPECT_NE(help.find(name), std::string::npos) << name;
}

TEST(Knobs, MistakesAreFound) {
  setenv("AXRUN_ISA", "sse9", 1);
  setenv("AXRUN_THREADS", "0", 1);
  setenv("AXRUN_NOTHING", "1", 1);
  EXPECT_EQ(runtime::knob_mistakes().size(), 2U);
  EXPECT_EQ(runtime::unknown_knobs(), std::vector<std::string>{"AXRUN_NOTHING"});
  setenv("AXRUN_ISA", "sse2", 1);
  setenv("AXRUN_THREADS", "3", 1);
  unsetenv("AXRUN_NOTHING");
  EXPECT_TRUE(runtime::knob_mistakes().empty());
  EXPECT_TRUE(runtime::unknown_knobs().empty());
  EXPECT_STREQ(runtime::knob_value(runtime::KnobName::threads), "3");
  unsetenv("AXRUN_ISA");
  unsetenv("AXRUN_THREADS");
  EXPECT_EQ(runtime::knob_value(runtime::KnobName::isa), nullptr);
}

TEST(Knobs, ListsAreOfKnownWords) {
  setenv("AXRUN_ABLATE", "fusion,schedules", 1);
  EXPECT_TRUE(runtime::knob_mistakes().empty());
  EXPECT_TRUE(runtime::knob_lists(runtime::KnobName::ablate, "schedules"));
  EXPECT_FALSE(runtime::knob_lists(runtime::KnobName::ablate, "layouts"));
  EXPECT_FALSE(runtime::knob_lists(runtime::KnobName::ablate, "fus"));
  setenv("AXRUN_ABLATE", "fusion,fission", 1);
  ASSERT_EQ(runtime::knob_mistakes().size(), 1U);
  EXPECT_EQ(runtime::knob_mistakes()[0],
            "AXRUN_ABLATE=fusion,fission: it takes some of fusion,layouts,algebra,schedules,measurement");
  unsetenv("AXRUN_ABLATE");
}

}  // namespace
}  // namespace axrun::tests
