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
#include "tests/operators/open_cases.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

using ir::Tensor;

/// The ports of the step, over the names of the case.
OpenPorts ports_of(const StepContext& context, OpenCase& open) {
  const auto dims_of = [&](ir::ValueId id) {
    OpenPorts::Dims dims;
    if (id == ir::absent) return dims;
    for (const ir::Dim& dim : *open.fact(id).dims) dims.push_back({open.place_of(dim), 0});
    return dims;
  };
  OpenPorts ports;
  for (const ir::ValueId id : context.input_ids) {
    ports.inputs.push_back(dims_of(id));
    ports.told.push_back(id != ir::absent && open.fact(id).elements.has_value());
  }
  for (const ir::ValueId id : context.output_ids) ports.outputs.push_back(dims_of(id));
  return ports;
}

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

std::unique_ptr<StepUnderTest> step_of(const Case& given) {
  try {
    return std::make_unique<StepUnderTest>(given, 1);
  } catch (const Error&) {
    return nullptr;
  } catch (const ir::NotYetKnown&) {
    return nullptr;
  }
}

/// By what kernels call themselves: how many were made again.
void check_case(const GeneratorEntry& generator, uint64_t seed, std::map<std::string, int>& resized) {
  Random random(seed);
  const Case given = generator.draw(random);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, given.describe()));
  NamedSizes sizes(given, random.chance(50));
  OpenCase open(given, sizes);
  const auto step = open.is_known() && open.is_open() ? step_of(given) : nullptr;
  if (step == nullptr) return;
  std::vector<std::shared_ptr<const ir::Program>> programs;
  StepContext context = step->context();
  context.programs.clear();
  for (const ir::OpenProgram& program : open.programs()) {
    programs.push_back(program.at(open.numbers_at(sizes)));
    context.programs.push_back(programs.back().get());
    context.open_programs.push_back(&program.program());
  }
  const std::shared_ptr<const Kernel> kernel = make_kernel(context);
  if (kernel == nullptr) return;
  const OpenPorts ports = ports_of(context, open);
  const auto pool = ThreadPool::make(1);
  const NamedSizes own = sizes;
  for (int attempt = 0; attempt < 6; ++attempt) {
    sizes = own;
    sizes.change(random);
    const std::vector<int64_t> numbers = open.numbers_at(sizes);
    if (!open.lets_through(numbers)) continue;
    const std::shared_ptr<const Kernel> made = kernel->resized({ports, numbers});
    if (made == nullptr) continue;
    const Case other = at_sizes(given, sizes);
    SCOPED_TRACE(fmt::format("{} as {}", kernel->describe(), other.describe()));
    const auto there = step_of(other);
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
    } else {
      EXPECT_EQ(difference(got, wanted, given.tolerance), "") << anew->describe();
    }
    const std::string text = kernel->describe();
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
