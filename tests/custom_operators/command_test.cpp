// axrun --operators, with library/operators.c.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/custom_operators/models.h"

namespace axrun::custom_operators_test {
namespace {

class CustomCommand : public testing::Test {
 protected:
  CustomCommand() {
    ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"y"});
    model.node("Neg", {"x"}, {"minus"});
    model.node("MyClip", {"minus"}, {"y"});
    std::ofstream(path_, std::ios::binary) << model.bytes();
  }
  ~CustomCommand() override { std::filesystem::remove(path_); }

  struct End {
    int code;
    std::string text;  ///< of both streams
  };
  End command(const std::string& arguments) const {
    const std::string line = std::string(AXRUN_COMMAND) + " " + arguments + " 2>&1 </dev/null";
    FILE* const pipe = popen(line.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string text;
    std::array<char, 4096> piece;
    while (const size_t got = fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
    return {WEXITSTATUS(pclose(pipe)), text};
  }
  std::string model() const { return path_.string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("custom_" + std::to_string(getpid()) + ".onnx");
};

const std::string library = std::string(" --operators ") + AXRUN_OPERATORS_LIBRARY;

TEST_F(CustomCommand, RunsTheModel) {
  const End end = command(model() + " --input x:1x2xf32=3,-9 --expect y:1x2xf32=0,6 --runs 2" + library);
  EXPECT_EQ(end.code, 0) << end.text;
}

TEST_F(CustomCommand, ExplainsAndInspectsIt) {
  const End explained = command("explain " + model() + " --dim n=3 --budget 1" + library);
  EXPECT_EQ(explained.code, 0) << explained.text;
  EXPECT_NE(explained.text.find("Neg+MyClip"), std::string::npos) << explained.text;
  const End inspected = command("inspect " + model() + library);
  EXPECT_EQ(inspected.code, 0) << inspected.text;
  EXPECT_EQ(inspected.text.find("refused"), std::string::npos) << inspected.text;
  EXPECT_NE(inspected.text.find("y: f32 [n, 2]"), std::string::npos) << inspected.text;
}

TEST_F(CustomCommand, SaysWhatIsMissing) {
  const End alone = command(model());
  EXPECT_EQ(alone.code, 2) << alone.text;
  EXPECT_NE(alone.text.find("MyClip"), std::string::npos) << alone.text;
  EXPECT_NE(alone.text.find("--operators"), std::string::npos) << alone.text;
  const End nowhere = command(model() + " --operators /nowhere/operators.so");
  EXPECT_EQ(nowhere.code, 1) << nowhere.text;
  EXPECT_NE(nowhere.text.find("/nowhere/operators.so"), std::string::npos) << nowhere.text;
}

}  // namespace
}  // namespace axrun::custom_operators_test
