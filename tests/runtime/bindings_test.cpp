// Sizes that come by chance: one session for all of them answers, bit for bit, what a session of these very
// sizes does, or both refuse. Over the models of ../shared/models with open sizes, where they are there;
// AXRUN_BINDINGS says how many sizes each is run with, AXRUN_SEED which.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "ir/error.h"
#include "runtime/random.h"
#include "runtime/session.h"
#include "tests/kernels/seed.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using Values = std::vector<RuntimeValue>;

constexpr uintmax_t largest_file = uintmax_t{3} << 20;

std::filesystem::path models_folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path() / "shared" /
         "models";
}

int bindings() {
  const char* given = std::getenv("AXRUN_BINDINGS");
  return given != nullptr ? std::max(1, std::atoi(given)) : 1;
}

std::vector<std::string> open_sizes(const Session& session) {
  std::vector<std::string> names;
  for (const Port& port : session.inputs()) {
    if (port.kind != ir::ValueKind::tensor || !port.dims) continue;
    for (const ir::Dim& dim : *port.dims) dim.collect_symbols(names);
  }
  const std::set<std::string> once(names.begin(), names.end());
  return {once.begin(), once.end()};
}

int64_t draw_size(Random& random) {
  constexpr int64_t sizes[] = {0, 1, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 23, 31, 32, 47};
  return sizes[random.next() % std::size(sizes)];
}

/// The outputs; nothing where they are refused, with the reason.
std::optional<Values> answer(Session& session, const Values& inputs, std::string& reason) {
  try {
    return session.run(inputs);
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

bool same(const RuntimeValue& a, const RuntimeValue& b) {
  if (a.kind != ir::ValueKind::tensor || a.type == ir::ElementType::string) return true;
  if (a.tensor.type() != b.tensor.type() || a.tensor.shape() != b.tensor.shape()) return false;
  return a.tensor.bytes() == 0 || std::memcmp(a.tensor.data(), b.tensor.data(), a.tensor.bytes()) == 0;
}

class Bindings : public testing::TestWithParam<std::string> {};

TEST_P(Bindings, AnswerAsSessionsOfTheseSizes) {
  const std::string path = (models_folder() / GetParam() / "model.onnx").string();
  std::unique_ptr<Session> open;
  try {
    open = Session::load(path, one_thread(Tier::fallback));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const std::vector<std::string> names = open_sizes(*open);
  if (names.empty()) GTEST_SKIP() << "it has no open size";
  Random random(test_seed());
  int answered = 0;
  for (int k = 0; k < bindings(); ++k) {
    SessionOptions options = one_thread(Tier::fallback);
    std::string text;
    for (const std::string& name : names) {
      options.dims[name] = draw_size(random);
      text += name + "=" + std::to_string(options.dims[name]) + " ";
    }
    SCOPED_TRACE(text);
    std::unique_ptr<Session> fixed;
    Values inputs;
    try {
      fixed = Session::load(path, options);
      inputs = make_inputs(*fixed, options, random.next(), 0, nullptr);
    } catch (const Error&) {
      continue;  // no such model, or no inputs that mean something to it
    }
    std::string reason, other_reason;
    const auto got = answer(*open, inputs, reason);
    const auto wanted = answer(*fixed, inputs, other_reason);
    // Lengths and indices into nothing are wrong, whichever they are: not everybody comes to look at them.
    const bool has_nothing = std::any_of(options.dims.begin(), options.dims.end(),
                                         [](const auto& size) { return size.second == 0; });
    if (has_nothing && got.has_value() != wanted.has_value()) continue;
    ASSERT_EQ(got.has_value(), wanted.has_value()) << reason << other_reason;
    if (!got) continue;
    ++answered;
    for (size_t o = 0; o < got->size(); ++o)
      EXPECT_TRUE(same((*got)[o], (*wanted)[o])) << "output '" << open->outputs()[o].name << "'";
  }
  RecordProperty("answered", answered);
}

std::vector<std::string> models() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), none)) {
    const auto file = entry.path() / "model.onnx";
    if (std::filesystem::exists(file) && std::filesystem::file_size(file) <= largest_file)
      found.push_back(entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bindings);
INSTANTIATE_TEST_SUITE_P(SharedModels, Bindings, testing::ValuesIn(models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace axrun::tests
