#include "tests/search/chained_windows_cases.h"

#include <limits>

#include "ir/builder.h"

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
  const size_t leading = c.batch.size();
  const auto with = [&](std::initializer_list<Dim> rest) {
    Dims dims = c.batch;
    dims.insert(dims.end(), rest);
    return dims;
  };
  const auto length = [&](size_t d, int64_t extent) {
    return (extent + 2 * c.pads[d] - (c.kernel[d] - 1) * c.dilations[d] - 1) / c.strides[d] + 1;
  };
  const int64_t lines = length(0, c.height), width = length(1, c.width);
  const double outside = c.monoid == Monoid::Kind::sum ? 0 : -std::numeric_limits<double>::infinity();
  const Dims between = with({c.channels, lines, width}), result = with({c.filters, lines, width});
  const TensorRef x = b.operand(0, ElementType::f32, with({c.channels, c.height, c.width}), "x");
  TensorRef w, first, second, residual;
  if (c.weights) w = b.operand(1, ElementType::f32, {c.channels, c.kernel[0], c.kernel[1]}, "w");
  const TensorRef u = b.operand(2, ElementType::f32, {c.filters, c.channels}, "u");
  if (c.activated) first = b.operand(3, ElementType::f32, {c.channels}, "first");
  if (c.epilogue == Epilogue::bias || c.epilogue == Epilogue::residual)
    second = b.operand(4, ElementType::f32, {c.filters}, "second");
  if (c.epilogue == Epilogue::residual) residual = b.operand(5, ElementType::f32, result, "z");
  const TensorRef windows = b.reduce(
      c.monoid, between, {c.kernel[0], c.kernel[1]},
      [&](const Indices& i, const Indices& k) {
        Indices place(i.begin(), i.end());
        for (size_t d = 0; d < 2; ++d)
          place[leading + 1 + d] = i[leading + 1 + d] * c.strides[d] + k[d] * c.dilations[d] - c.pads[d];
        const Scalar read = x.padded(place, outside);
        return c.weights ? read * w({i[leading], k[0], k[1]}) : read;
      },
      "windows");
  const TensorRef activated =
      c.activated
          ? b.map(between,
                  [&](const Indices& i) { return min(max(windows(i) + first({i[leading]}), 0.0), 6.0); })
          : windows;
  const TensorRef sum = b.reduce(
      Monoid::Kind::sum, result, {c.channels},
      [&](const Indices& i, const Indices& r) {
        Indices place(i.begin(), i.end());
        place[leading] = r[0];
        return activated(place) * u({i[leading], r[0]});
      },
      "sum");
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
  const auto sum = Monoid::Kind::sum, largest = Monoid::Kind::max;
  const Dims none;
  add({"ChainedWindows", none, 24, 11, 28, 28});
  add({"ChainedWindowsWithResidual",
       none,
       24,
       16,
       32,
       32,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::residual});
  add({"ChainedWindowsWithAStride",
       none,
       24,
       13,
       57,
       57,
       {3, 3},
       {2, 2},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::gelu});
  add({"ChainedWindowsOfFive",
       none,
       40,
       7,
       23,
       19,
       {5, 5},
       {1, 1},
       {1, 1},
       {2, 2},
       sum,
       true,
       true,
       false,
       Epilogue::none});
  add({"ChainedWindowsOnOddLines", none, 37, 5, 13, 37, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
  add({"ChainedWindowsDilated", none, 22, 8, 30, 26, {3, 3}, {1, 1}, {2, 3}, {2, 3}});
  add({"ChainedWindowsWithoutPads", none, 18, 9, 33, 33, {3, 3}, {1, 1}, {1, 1}, {0, 0}});
  add({"ChainedWindowsWithAStrideDown",
       none,
       33,
       4,
       33,
       33,
       {3, 2},
       {2, 1},
       {1, 1},
       {1, 0},
       sum,
       true,
       false});
  add({"ChainedWindowsOfOneLine", none, 300, 6, 1, 60}, "windows+contraction");
  add({"ChainedWindowsOfTwoLines",
       none,
       150,
       9,
       2,
       61,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::residual});
  add({"ChainedWindowsOfManyFilters",
       none,
       20,
       50,
       30,
       30,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::none});
  add({"ChainedPools", none, 24, 9, 30, 31, {2, 3}, {1, 1}, {1, 1}, {0, 1}, largest, false, false});
  add({"ChainedWindowsOfBatches", {Dim(2)}, 20, 8, 29, 29});
  add({"ChainedWindowsWithWeightsOfTheRun",
       none,
       20,
       8,
       29,
       29,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::bias,
       false});
  const ir::loop::Size n{"n", 1, 4096, 1};
  add({"ChainedWindowsOfAnyBatch",
       {Dim::symbol("n")},
       20,
       8,
       29,
       29,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       false,
       Epilogue::residual},
      "chained windows", {n}, {{{"n", 1}}, {{"n", 3}}});
  // What is read elsewhere too, small, or as short as planes are, is not chained.
  add({"ChainedWindowsThatAreAsked",
       none,
       24,
       11,
       28,
       28,
       {3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       sum,
       true,
       true,
       true},
      "windows+gathered");
  add({"ChainedWindowsOfFewChannels", none, 8, 11, 28, 28}, "windows+gathered");
  add({"ChainedWindowsOfShortLines", none, 120, 5, 16, 16}, "windows+gathered");
  return cases;
}

}  // namespace axrun::tests
