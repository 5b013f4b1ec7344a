// axrun cache verify --deep: kernels that are right, and entries that lie with a checksum that is right.
#include "runtime/cli/deep_verify.h"

#include <gtest/gtest.h>

#include "runtime/cache/survey.h"
#include "runtime/cli/options.h"
#include "runtime/session.h"
#include "runtime/warm/library_image.h"
#include "runtime/warm/warm_keys.h"
#include "runtime/warm/warm_start.h"
#include "tests/cache/folder.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using Kernel = LibraryImage::Kernel;

/// A step with `op` of two inputs, of open sizes, and one that any schedule does faster.
ModelMaker two_steps(const std::string& op) {
  ModelMaker m;
  const ir::Dims dims = {ir::Dim::symbol("rows"), 64};
  const ir::ValueId a = m.input("a", ir::ElementType::f32, dims);
  const ir::ValueId b = m.input("b", ir::ElementType::f32, dims);
  m.output(m.node("Trilu", {m.node(op, {a, b})}));
  return m;
}

struct Stored {
  std::string key;  ///< in the cache
  Kernel kernel;
};

class DeepVerify : public testing::Test {
 protected:
  static cache::Settings settings(const cache::TemporaryFolder& folder) {
    cache::Settings settings;
    settings.directory = folder.path();
    return settings;
  }
  static void fill(const cache::TemporaryFolder& folder, const std::string& op) {
    SessionOptions options;
    options.threads = 1;
    options.cache_dir = folder.path().string();
    const auto session = two_steps(op).session(options);
    for (int k = 0; k < 12; ++k) {
      session->run(
          {RuntimeValue(ModelMaker::random({96, 64}, 3)), RuntimeValue(ModelMaker::random({96, 64}, 4))});
      EXPECT_TRUE(session->wait_for_optimizer(120));
    }
  }
  /// The kernel of the step of this operator.
  static Stored kernel(const cache::TemporaryFolder& folder, const std::string& op) {
    Stored found;
    cache::for_entries(settings(folder), cache::Part::code, [&](const cache::StoredEntry& entry) {
      if (!entry.key.starts_with(prefix_of_kernels)) return;
      Stored one{entry.key, {}};
      one.kernel.key = key_in_library(entry.key);
      const auto payload = std::make_shared<const std::string>(entry.payload);
      cache::Reader in(*payload);
      EXPECT_EQ(in.get<uint32_t>(), form_of_entries);
      EXPECT_TRUE(LibraryImage::read(in, one.kernel, payload) && in.finished());
      if (one.kernel.record.ops == op) found = std::move(one);
    });
    EXPECT_FALSE(found.key.empty());
    return found;
  }
  /// With a checksum that is right.
  static void plant(const cache::TemporaryFolder& folder, const std::string& key, const Kernel& kernel) {
    cache::Writer out;
    out.put(form_of_entries);
    LibraryImage::write(out, kernel);
    std::string why;
    const auto store = open_store(folder.path().string(), why);
    ASSERT_NE(store, nullptr) << why;
    ASSERT_EQ(store->put(cache::Part::code, key, out.text()), cache::Stored::stored);
  }
  /// Looks at the folder, in which the entry of this key lies: how, and what the command says then.
  static cli::DeepReport expect_lie(const cache::TemporaryFolder& folder, const std::string& outcome,
                                    int code) {
    const cli::DeepReport report = cli::verify_deeply(settings(folder), false);
    EXPECT_EQ(report.exit_code, code) << report.text;
    int lies = 0;
    for (const auto& entry : report.json["entries"]) {
      if (entry["outcome"] == "right") continue;
      ++lies;
      EXPECT_EQ(entry["outcome"], outcome) << report.text;
      EXPECT_NE(report.text.find(entry["where"].get<std::string>()), std::string::npos);
      EXPECT_FALSE(entry["reason"].get<std::string>().empty());
    }
    EXPECT_EQ(lies, 1) << report.text;
    EXPECT_GT(report.json["entries"].size(), 1U);
    return report;
  }

  const Knobs knobs_{{"AXRUN_OPTIMIZE", "1"}};
  const cache::TemporaryFolder folder_, other_;
};

TEST_F(DeepVerify, WhatTheOptimiserKeepsIsProvedAndTestedAgain) {
  fill(folder_, "Add");
  const cli::DeepReport report = cli::verify_deeply(settings(folder_), false);
  EXPECT_EQ(report.exit_code, 0) << report.text;
  EXPECT_EQ(report.json["worst"], "right") << report.text;
  int kernels = 0, of_models = 0;
  for (const auto& entry : report.json["entries"]) {
    of_models += entry["what"] == "the kernels of a model" ? 1 : 0;
    for (const auto& kernel : entry["kernels"]) {
      ++kernels;
      EXPECT_TRUE(kernel["proof"].get<std::string>().starts_with("proved"));
      EXPECT_TRUE(kernel["gate"].get<std::string>().starts_with("tested"));
    }
  }
  EXPECT_EQ(of_models, 1);
  EXPECT_GT(kernels, 1);
}

TEST_F(DeepVerify, AProgramThatComputesSomethingElseIsRefuted) {
  fill(folder_, "Add");
  fill(other_, "Sub");
  const Stored own = kernel(folder_, "Add"), other = kernel(other_, "Sub");
  ASSERT_NE(other.kernel.code.code, nullptr);
  Kernel lie = own.kernel;
  lie.code = other.kernel.code;
  plant(folder_, own.key, lie);
  expect_lie(folder_, "refuted", cli::exit_refuted);
}

TEST_F(DeepVerify, CodeThatIsNotItsProgramsIsDamage) {
  fill(folder_, "Add");
  fill(other_, "Sub");
  const Stored own = kernel(folder_, "Add"), other = kernel(other_, "Sub");
  ASSERT_NE(other.kernel.code.code, nullptr);
  Kernel lie = own.kernel;
  jit::CodeImage image = own.kernel.code.code->image(), others = other.kernel.code.code->image();
  image.bytes = others.bytes;
  image.entries = others.entries;
  lie.code.code = jit::KernelCode::load(image);
  plant(folder_, own.key, lie);
  expect_lie(folder_, "damaged", cli::exit_model);
}

TEST_F(DeepVerify, AnExpressionUnderTheKeyOfAnotherIsDamage) {
  fill(folder_, "Add");
  fill(other_, "Sub");
  plant(folder_, kernel(folder_, "Add").key, kernel(other_, "Sub").kernel);
  expect_lie(folder_, "damaged", cli::exit_model);
}

TEST_F(DeepVerify, AProgramForFewerSizesIsDamage) {
  fill(folder_, "Add");
  Stored own = kernel(folder_, "Add");
  ASSERT_NE(own.kernel.code.code, nullptr);
  ir::loop::LoopProgram program = own.kernel.code.code->program();
  ASSERT_FALSE(program.sizes.empty());
  program.sizes[0].high = program.sizes[0].low;
  jit::CodeImage image = own.kernel.code.code->image();
  image.program = ir::loop::print(program);
  own.kernel.code.code = jit::KernelCode::load(image);
  plant(folder_, own.key, own.kernel);
  expect_lie(folder_, "damaged", cli::exit_model);
}

TEST_F(DeepVerify, OfOtherProcessorsNothingCanBeSaid) {
  fill(folder_, "Add");
  const Knobs restricted({{"AXRUN_ISA", "sse2"}});
  const cli::DeepReport report = cli::verify_deeply(settings(folder_), false);
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(report.json["worst"], "not checkable") << report.text;
  EXPECT_NE(report.text.find("made for another processor"), std::string::npos) << report.text;
}

}  // namespace
}  // namespace axrun::tests
