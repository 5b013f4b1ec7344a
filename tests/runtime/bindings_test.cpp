// Sizes that come by chance: one session for all of them answers, bit for bit, what a session of these very
// sizes does, or both refuse. Over the models of ../shared/models with open sizes, where they are there;
// AXRUN_BINDINGS says how many sizes each is run with, AXRUN_SEED which; then large files are taken, too, and
// how plans came to be is printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

const char* const bindings_given = std::getenv("AXRUN_BINDINGS");
int bindings() { return bindings_given != nullptr ? std::max(1, std::atoi(bindings_given)) : 1; }

int64_t draw_size(Random& random) {
  constexpr int64_t sizes[] = {0, 1, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 23, 31, 47, 97};
  return sizes[random.next() % std::size(sizes)];
}

/// What the file's own name for a size says of it: "past_sequence_length + 1".
ir::Dim said_by(const std::string& name) {
  try {
    return name.find('+') == std::string::npos ? ir::Dim::symbol(name) : ir::parse_dim(name);
  } catch (const Error&) {
    return ir::Dim::symbol(name);
  }
}

using Sizes = std::map<std::string, int64_t>;

/// A number for every name; sums of others are these. In half of the draws all names on the first axis are
/// one number, in half those on the second one: files tell sizes apart that have to be equal.
Sizes draw_once(const Session& session, Random& random) {
  std::map<std::string, ir::Dim> drawn;
  Sizes sizes;
  for (const size_t axis : {0, 1}) {
    const int64_t common = draw_size(random);
    const bool is_common = random.next() % 2 == 0;
    for (const Port& port : session.inputs()) {
      std::vector<std::string> names;
      if (is_common && port.dims && axis < port.dims->size()) (*port.dims)[axis].collect_symbols(names);
      for (const std::string& name : names) drawn.emplace(name, common);
    }
  }
  for (const Port& port : session.inputs()) {
    std::vector<std::string> names;
    if (port.kind != ir::ValueKind::tensor || !port.dims) continue;
    for (const ir::Dim& dim : *port.dims) dim.collect_symbols(names);
    for (const std::string& name : names) {
      std::vector<std::string> parts;
      said_by(name).collect_symbols(parts);
      for (const std::string& part : parts)
        if (drawn.count(part) == 0) drawn.emplace(part, draw_size(random));
      sizes[name] = said_by(name).substitute(drawn).constant().value_or(1);
    }
  }
  return sizes;
}

/// Such that thousands of runs come to an end: few elements in every input, unless it has more at sizes of 1.
Sizes draw_sizes(const Session& session, Random& random) {
  constexpr double few = 50000;
  for (;;) {
    Sizes sizes = draw_once(session, random);
    const bool small = std::all_of(session.inputs().begin(), session.inputs().end(), [&](const Port& port) {
      double all = 1, open = 1;
      for (const ir::Dim& dim : port.dims.value_or(ir::Dims())) {
        const auto size =
            static_cast<double>(dim.substitute({sizes.begin(), sizes.end()}).constant().value_or(1));
        all *= size;
        if (!dim.is_constant()) open *= size;
      }
      return open <= 1 || all <= few;
    });
    if (small) return sizes;
  }
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
  Random random(test_seed());
  if (draw_sizes(*open, random).empty()) GTEST_SKIP() << "it has no open size";
  int answered = 0;
  for (int k = 0; k < bindings(); ++k) {
    SessionOptions options = one_thread(Tier::fallback);
    std::string text;
    options.dims = draw_sizes(*open, random);
    for (const auto& [name, size] : options.dims) text += name + "=" + std::to_string(size) + " ";
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
  if (bindings_given == nullptr) return;
  const FormCounts counts = open->form_counts();
  fmt::print("{}: {} of {} answered; forms {}, variants {}, plans of one size {} {}\n", GetParam(), answered,
             bindings(), counts.made, counts.variants, counts.unbound, counts.reason);
}

std::vector<std::string> models() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(models_folder(), none)) {
    const auto file = entry.path() / "model.onnx";
    if (std::filesystem::exists(file) &&
        (bindings_given != nullptr || std::filesystem::file_size(file) <= largest_file))
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
