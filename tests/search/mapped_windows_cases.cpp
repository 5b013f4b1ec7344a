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
  return cases;
}

}  // namespace axrun::tests
