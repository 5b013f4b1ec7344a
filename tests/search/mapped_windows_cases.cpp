#include "tests/search/mapped_windows_cases.h"

#include "tests/search/channel_stages.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::TensorRef;

Program program_of(const MappedWindows& c) {
  Builder b("mapped");
  const ChannelStages stages(b, c.batch);
  const Dims plane = stages.with({c.channels, c.height, c.width});
  const Dims taps = {c.channels, c.kernel[0], c.kernel[1]};
  const TensorRef x = b.operand(0, c.bytes ? ElementType::u8 : ElementType::f32, plane, "x");
  const TensorRef w = b.operand(1, c.bytes ? ElementType::i8 : ElementType::f32, taps, "w");
  TensorRef bias;
  if (c.clamped) bias = b.operand(2, ElementType::f32, {c.channels}, "bias");
  const TensorRef mapped = b.map(
      plane,
      [&](const Indices& i) {
        if (!c.bytes) return x(i) * min(max(x(i) * 0.25 + 0.5, 0.0), 1.0);
        return cast(ElementType::f32, cast(ElementType::i32, x(i)) - 117) * 0.25;
      },
      "mapped");
  TensorRef weights = w;
  if (c.bytes)
    weights = b.map(
        taps, [&](const Indices& i) { return cast(ElementType::f32, w(i)) * 0.5; }, "weights");
  b.output(stages.clamped(stages.windows(mapped, weights, {c.kernel, c.strides, c.pads}), bias));
  if (c.shared) b.output(mapped);
  return b.finish();
}

namespace {

/// Where a map of rank 0 stands among the stages.
enum class ScalarMap { first, before_prepared, in_epilogue_too };

/// A scalar that is worked out, and windows that multiply every tap by it.
Program scaled_windows(const Dims& input, int64_t taps, ScalarMap where) {
  Builder b("scaled");
  const TensorRef x = b.operand(0, ElementType::f32, input, "x");
  const TensorRef s = b.operand(1, ElementType::f32, {}, "s");
  const TensorRef w = b.operand(2, ElementType::f32, {taps}, "w");
  // Too long to be written into what reads it.
  const TensorRef scale = b.map(
      {}, [&](const Indices&) { return tanh(erf(s({})) + 0.5); }, "scale");
  TensorRef weights = w;
  if (where == ScalarMap::before_prepared)
    weights = b.map(
        {taps}, [&](const Indices& i) { return tanh(erf(w(i)) + 0.5); }, "weights");
  Dims result = input;
  result.back() = result.back() - (taps - 1);
  const TensorRef sums = b.sum(result, {taps}, [&](const Indices& i, const Indices& r) {
    Indices at = i;
    at.back() = at.back() + r[0];
    return x(at) * weights(r) * scale({});
  });
  const auto finished = [&](const Indices& i) {
    return where == ScalarMap::in_epilogue_too ? max(sums(i) + scale({}), 0.0) : max(sums(i), 0.0);
  };
  b.output(b.map(result, finished, "finished"));
  return b.finish();
}

}  // namespace

std::vector<Case> mapped_windows_cases() {
  std::vector<Case> cases;
  const auto add = [&](const MappedWindows& mapped, const std::string& kind = "mapped windows",
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({mapped.name,
                     kind,
                     [mapped] { return program_of(mapped); },
                     sizes,
                     {false, mapped.constant, mapped.constant},
                     values});
  };
  add({.name = "MappedWindows", .channels = 16, .height = 40, .width = 41});
  add({.name = "MappedWindowsWithAStride", .channels = 8, .height = 57, .width = 57, .strides = {2, 2}});
  add({.name = "MappedWindowsOfFloatsWithAStride",
       .channels = 14,
       .height = 50,
       .width = 52,
       .strides = {2, 2},
       .pads = {0, 0},
       .bytes = false});
  add({.name = "MappedWindowsOfFive",
       .batch = {2},
       .channels = 6,
       .height = 36,
       .width = 63,
       .kernel = {5, 5},
       .strides = {1, 2},
       .pads = {2, 2},
       .clamped = false});
  add({.name = "MappedWindowsActivated", .channels = 13, .height = 50, .width = 41, .bytes = false});
  add({.name = "MappedWindowsWithWeightsOfTheRun",
       .channels = 14,
       .height = 43,
       .width = 46,
       .bytes = false,
       .constant = false});
  const ir::loop::Size n{"n", 1, 64, 1};
  add({.name = "MappedWindowsOfAnyBatch",
       .batch = {Dim::symbol("n")},
       .channels = 5,
       .height = 24,
       .width = 26},
      "mapped windows", {n}, {{{"n", 1}}, {{"n", 2}}});
  // What is a result, too, lies in memory.
  add({.name = "MappedWindowsOfAResult",
       .channels = 16,
       .height = 40,
       .width = 41,
       .bytes = false,
       .shared = true},
      "map+windows");
  // A map of rank 0 has no plane that windows could move over.
  const auto add_scaled = [&](const std::string& name, const Dims& input, ScalarMap where,
                              const std::string& kind, bool constant) {
    cases.push_back(
        {name, kind, [=] { return scaled_windows(input, 3, where); }, {}, {false, false, constant}});
  };
  add_scaled("WindowsTimesAScalar", {576}, ScalarMap::first, "map+windows", true);
  add_scaled("WindowsOfManyLinesTimesAScalar", {4, 128, 130}, ScalarMap::first, "map+windows", true);
  add_scaled("WindowsTimesAScalarAndPreparedTaps", {3, 600}, ScalarMap::before_prepared, "map+map+windows",
             true);
  add_scaled("WindowsPlusAScalar", {2, 300}, ScalarMap::in_epilogue_too, "map+windows", false);
  return cases;
}

}  // namespace axrun::tests
