// Kernels that are made again for other sizes (Kernel::resized): whatever the operator, they give what
// kernels give that are made for these sizes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "ir/builder.h"
#include "ir/error.h"
#include "runtime/parallel.h"
#include "tests/kernels/seed.h"
#include "tests/operators/open_step.h"

namespace axrun::runtime {
namespace {

using ir::Tensor;

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].defined(), wanted[k].defined());
    if (!got[k].defined()) continue;
    ASSERT_EQ(got[k].type(), wanted[k].type());
    ASSERT_EQ(got[k].shape(), wanted[k].shape());
    if (got[k].bytes() == 0) continue;
    ASSERT_EQ(std::memcmp(got[k].data(), wanted[k].data(), got[k].bytes()), 0) << "result " << k;
  }
}

/// Results, or what is wrong with the data.
std::vector<Tensor> results_of(const StepUnderTest& step, const Kernel& kernel, ThreadPool& pool,
                               std::string& error) {
  try {
    return step.run(kernel, pool);
  } catch (const Error& refusal) {
    error = refusal.what();
    return {};
  }
}

/// By what kernels call themselves: how many were made again.
void check_case(const GeneratorEntry& generator, uint64_t seed, std::map<std::string, int>& resized) {
  const auto step = OpenStep::draw(generator, seed);
  if (step == nullptr || step->kernel() == nullptr) return;
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, step->given().describe()));
  const auto pool = ThreadPool::make(1);
  const std::string text = step->kernel()->describe();
  for (int attempt = 0; attempt < 6; ++attempt) {
    const auto sizes = step->change();
    if (!sizes) continue;
    const std::shared_ptr<const Kernel> made = step->kernel()->resized({step->ports(), sizes->numbers});
    if (made == nullptr) continue;
    SCOPED_TRACE(fmt::format("{} as {}", text, sizes->other.describe()));
    const auto there = step_of(sizes->other);
    ASSERT_NE(there, nullptr);
    const auto anew = make_kernel(there->context());
    ASSERT_NE(anew, nullptr) << "no factory makes it for these sizes";
    std::string error, wanted_error;
    const std::vector<Tensor> got = results_of(*there, *made, *pool, error);
    const std::vector<Tensor> wanted = results_of(*there, *anew, *pool, wanted_error);
    ASSERT_EQ(error, wanted_error);
    if (made->describe() == anew->describe()) {
      ASSERT_NO_FATAL_FAILURE(expect_same(got, wanted));
      EXPECT_EQ(made->in_place(), anew->in_place());
      EXPECT_EQ(made->scratch_bytes(), anew->scratch_bytes());
    } else {
      EXPECT_EQ(difference(got, wanted, step->given().tolerance), "") << anew->describe();
    }
    ++resized[text.substr(0, text.find(' '))];
  }
}

class ResizedKernels : public testing::TestWithParam<GeneratorEntry> {};

TEST_P(ResizedKernels, GiveWhatKernelsOfTheseSizesGive) {
  std::map<std::string, int> resized;
  for (uint64_t k = 0; k < 25; ++k)
    ASSERT_NO_FATAL_FAILURE(check_case(GetParam(), test_seed() + k * 0x9e3779b97f4a7c15ULL, resized));
}

INSTANTIATE_TEST_SUITE_P(Operators, ResizedKernels, testing::ValuesIn(drawn_generators()),
                         [](const testing::TestParamInfo<GeneratorEntry>& info) {
                           return name_of(info.param, info.index);
                         });

TEST(ResizedKernelsOf, EveryKindAreTried) {
  std::map<std::string, int> resized;
  for (const GeneratorEntry& generator : drawn_generators()) {
    for (uint64_t k = 0; k < 12; ++k)
      ASSERT_NO_FATAL_FAILURE(check_case(generator, test_seed() + k * 0x9e3779b97f4a7c15ULL, resized));
  }
  for (const char* kind :
       {"map", "gemm", "copy", "concat", "gather", "softmax", "log", "layer", "rms", "reduce"})
    EXPECT_GT(resized[kind], 0) << kind;
}

/// x + n, for x of n elements: what a size says is no constant of the kernel.
TEST(ResizedMaps, AreNoneWhereASizeIsAValue) {
  const ir::Dim n = ir::Dim::symbol("n");
  ir::Builder b("longer");
  const ir::TensorRef x = b.operand(0, ir::ElementType::i64, {n});
  b.output(b.map({n}, [&](const ir::Indices& i) { return x(i) + b.extent(n); }));
  ir::SizeProgram sizes({"n"});
  const ir::OpenProgram open(std::make_shared<const ir::Program>(b.finish()), sizes);
  std::vector<int64_t> numbers = {5};
  sizes.run(numbers);
  const auto program = open.at(numbers);
  ir::Node node;
  node.op = "Longer";
  node.inputs = {0};
  node.outputs = {1};
  PackCache packs;
  const StepPort port{true, ir::ElementType::i64, {5}, nullptr};
  const StepContext context{node,   {&node}, {program.get()}, {0}, {port},           {1},
                            {port}, 1,       packs,           {},  {&open.program()}};
  const auto kernel = make_kernel(context);
  ASSERT_EQ(kernel->describe(), "map Longer (1 instructions)");
  const OpenPorts ports{{{{0, 0}}}, {{{0, 0}}}, {}};
  EXPECT_EQ(kernel->resized({ports, {9}}), nullptr);
}

}  // namespace
}  // namespace axrun::runtime
