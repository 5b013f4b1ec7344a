#include "tests/search/chained_windows_cases.h"
#include "tests/search/channel_stages.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Monoid;
using ir::Program;
using ir::Scalar;
using ir::TensorRef;
using Epilogue = ChainedWindows::Epilogue;

Program program_of(const ChainedWindows& c) {
  Builder b("chained");
  const ChannelStages stages(b, c.batch);
  const size_t leading = c.batch.size();
  const WindowSteps steps{c.kernel, c.strides, c.pads, c.dilations};
  const Dims result = stages.with({c.filters, steps.length(0, c.height), steps.length(1, c.width)});
  const TensorRef x = b.operand(0, ElementType::f32, stages.with({c.channels, c.height, c.width}), "x");
  TensorRef w, first, second, residual;
  if (c.weights) w = b.operand(1, ElementType::f32, {c.channels, c.kernel[0], c.kernel[1]}, "w");
  const TensorRef u = b.operand(2, ElementType::f32, {c.filters, c.channels}, "u");
  if (c.activated) first = b.operand(3, ElementType::f32, {c.channels}, "first");
  if (c.epilogue == Epilogue::bias || c.epilogue == Epilogue::residual)
    second = b.operand(4, ElementType::f32, {c.filters}, "second");
  if (c.epilogue == Epilogue::residual) residual = b.operand(5, ElementType::f32, result, "z");
  const TensorRef activated = stages.clamped(stages.windows(x, w, steps, c.monoid), first);
  const TensorRef sum = stages.product(activated, u, "sum");
  b.output(c.epilogue == Epilogue::none ? sum : b.map(result, [&](const Indices& i) {
    const Scalar value = sum(i);
    if (c.epilogue == Epilogue::gelu) return value * 0.5 * (erf(value * 0.7071) + 1.0);
    const Scalar shifted = value + second({i[leading]});
    return c.epilogue == Epilogue::residual ? max(shifted + residual(i), 0.0) : shifted;
  }));
  if (c.shared) b.output(activated);
  return b.finish();
}

std::vector<Case> chained_windows_cases() {
  std::vector<Case> cases;
  const auto add = [&](const ChainedWindows& chained, const std::string& kind = "chained windows",
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    const bool c = chained.constant;
    cases.push_back({chained.name,
                     kind,
                     [chained] { return program_of(chained); },
                     sizes,
                     {false, c, c, c, c, false},
                     values});
  };
  add({.name = "ChainedWindows", .channels = 24, .filters = 11, .height = 28, .width = 28});
  add({.name = "ChainedWindowsWithResidual",
       .channels = 24,
       .filters = 16,
       .height = 32,
       .width = 32,
       .epilogue = Epilogue::residual});
  add({.name = "ChainedWindowsWithAStride",
       .channels = 24,
       .filters = 13,
       .height = 57,
       .width = 57,
       .strides = {2, 2},
       .epilogue = Epilogue::gelu});
  add({.name = "ChainedWindowsOfFive",
       .channels = 40,
       .filters = 7,
       .height = 23,
       .width = 19,
       .kernel = {5, 5},
       .pads = {2, 2},
       .epilogue = Epilogue::none});
  add({.name = "ChainedWindowsOnOddLines", .channels = 37, .filters = 5, .height = 13, .width = 37});
  add({.name = "ChainedWindowsDilated",
       .channels = 22,
       .filters = 8,
       .height = 30,
       .width = 26,
       .dilations = {2, 3},
       .pads = {2, 3}});
  add({.name = "ChainedWindowsWithoutPads",
       .channels = 18,
       .filters = 9,
       .height = 33,
       .width = 33,
       .pads = {0, 0}});
  add({.name = "ChainedWindowsWithAStrideDown",
       .channels = 33,
       .filters = 4,
       .height = 33,
       .width = 33,
       .kernel = {3, 2},
       .strides = {2, 1},
       .pads = {1, 0},
       .activated = false});
  add({.name = "ChainedWindowsOfOneLine", .channels = 300, .filters = 6, .height = 1, .width = 60},
      "windows+contraction");
  add({.name = "ChainedWindowsOfTwoLines",
       .channels = 150,
       .filters = 9,
       .height = 2,
       .width = 61,
       .epilogue = Epilogue::residual});
  add({.name = "ChainedWindowsOfManyFilters",
       .channels = 20,
       .filters = 50,
       .height = 30,
       .width = 30,
       .epilogue = Epilogue::none});
  add({.name = "ChainedPools",
       .channels = 24,
       .filters = 9,
       .height = 30,
       .width = 31,
       .kernel = {2, 3},
       .pads = {0, 1},
       .monoid = Monoid::Kind::max,
       .weights = false,
       .activated = false});
  add({.name = "ChainedWindowsOfBatches",
       .batch = {Dim(2)},
       .channels = 20,
       .filters = 8,
       .height = 29,
       .width = 29});
  add({.name = "ChainedWindowsWithWeightsOfTheRun",
       .channels = 20,
       .filters = 8,
       .height = 29,
       .width = 29,
       .constant = false});
  const ir::loop::Size n{"n", 1, 4096, 1};
  add({.name = "ChainedWindowsOfAnyBatch",
       .batch = {Dim::symbol("n")},
       .channels = 20,
       .filters = 8,
       .height = 29,
       .width = 29,
       .epilogue = Epilogue::residual},
      "chained windows", {n}, {{{"n", 1}}, {{"n", 3}}});
  // What is read elsewhere too, small, or as short as planes are, is not chained.
  add({.name = "ChainedWindowsThatAreAsked",
       .channels = 24,
       .filters = 11,
       .height = 28,
       .width = 28,
       .shared = true},
      "windows+gathered");
  add({.name = "ChainedWindowsOfFewChannels", .channels = 8, .filters = 11, .height = 28, .width = 28},
      "windows+gathered");
  add({.name = "ChainedWindowsOfShortLines", .channels = 120, .filters = 5, .height = 16, .width = 16},
      "windows+gathered");
  return cases;
}

}  // namespace axrun::tests
