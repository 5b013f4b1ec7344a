// What is kept between sessions, for models with operators of the user's own.
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tests/custom_operators/models.h"

namespace axrun::custom_operators_test {
namespace {

constexpr const char* doubled =
    "program P(x: f32[n, c]) -> (y) { y: f32[n, c] = map (i: n, j: c) { 2:f32 * x[i, j] } }";
constexpr const char* tripled =
    "program P(x: f32[n, c]) -> (y) { y: f32[n, c] = map (i: n, j: c) { 3:f32 * x[i, j] } }";

class Folder {
 public:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / ("custom_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// "hit", "miss" or "none": what the log says of the session's cache.
std::string cache_use(const axrun_operator& made, const std::string& folder, float factor) {
  std::string use;
  const auto hear = [](void* context, int, const char* line) {
    const std::string text = line;
    const size_t at = text.find(" cache=");
    if (text.find("event=model_loaded") == std::string::npos || at == std::string::npos) return;
    *static_cast<std::string*>(context) = text.substr(at + 7, text.find(' ', at + 1) - at - 7);
  };
  EXPECT_EQ(axrun_set_log(AXRUN_LOG_INFO, hear, &use), AXRUN_OK);
  {
    Operators operators;
    operators.add(made);
    ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"64", "64"}}}, {"y"});
    model.node("MyTimes", {"x"}, {"times"});
    model.node("Tanh", {"times"}, {"tanh"});
    model.node("Neg", {"tanh"}, {"y"});
    Loaded loaded(model.bytes(), &operators, {AXRUN_TIER_AUTO, 1, folder});
    EXPECT_EQ(loaded.status(), AXRUN_OK) << loaded.error();
    std::vector<float> x(64 * 64, 0.1F);
    for (int k = 0; k < 3; ++k) {
      const std::vector<Values> results = loaded.run({floats({64, 64}, x)});
      EXPECT_NEAR(results.at(0).floats.at(5), -std::tanh(factor * 0.1F), 1e-5F);
      int done = 0;
      EXPECT_EQ(axrun_optimizer_wait(loaded.session(), 20, &done), AXRUN_OK);
    }
  }
  EXPECT_EQ(axrun_set_log(AXRUN_LOG_OFF, nullptr, nullptr), AXRUN_OK);
  return use;
}

TEST(CustomCache, TextsTellOperatorsApart) {
  const Folder folder;
  EXPECT_EQ(cache_use(with_text("MyTimes", doubled), folder.path(), 2), "miss");
  EXPECT_EQ(cache_use(with_text("MyTimes", doubled), folder.path(), 2), "hit");
  EXPECT_EQ(cache_use(with_text("MyTimes", tripled), folder.path(), 3), "miss");
}

axrun_operator by_function(const char* revision) {
  axrun_operator made = named("MyTimes");
  made.revision = revision;
  made.define = [](void*, axrun_node* node) { return axrun_node_set_text(node, doubled); };
  return made;
}

TEST(CustomCache, FunctionsNeedARevision) {
  const Folder folder;
  EXPECT_EQ(cache_use(by_function(nullptr), folder.path(), 2), "none");
  EXPECT_EQ(cache_use(by_function("1"), folder.path(), 2), "miss");
  EXPECT_EQ(cache_use(by_function("1"), folder.path(), 2), "hit");
  EXPECT_EQ(cache_use(by_function("2"), folder.path(), 2), "miss");
}

}  // namespace
}  // namespace axrun::custom_operators_test
