#include "tests/search/inverted_residual_cases.h"

#include <functional>

#include "tests/search/channel_stages.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::TensorRef;
using Epilogue = InvertedResidual::Epilogue;
using Shared = InvertedResidual::Shared;

Program program_of(const InvertedResidual& c) {
  Builder b("inverted");
  const ChannelStages stages(b, c.batch);
  const size_t leading = c.batch.size();
  const Dims between = stages.with({c.channels, c.height, c.width});
  const TensorRef x = b.operand(0, ElementType::f32, stages.with({c.inputs, c.height, c.width}), "x");
  const TensorRef u = b.operand(1, ElementType::f32, {c.channels, c.inputs}, "u");
  const TensorRef w = b.operand(2, ElementType::f32, {c.channels, c.kernel[0], c.kernel[1]}, "w");
  const TensorRef v = b.operand(3, ElementType::f32, {c.filters, c.channels}, "v");
  TensorRef first, second, third, shift;
  if (c.activated) first = b.operand(4, ElementType::f32, {c.channels}, "first");
  if (c.activated_again) second = b.operand(5, ElementType::f32, {c.channels}, "second");
  if (c.epilogue != Epilogue::none) third = b.operand(6, ElementType::f32, {c.filters}, "third");
  if (c.shifted) shift = b.operand(7, ElementType::f32, between, "shift");
  const TensorRef product = stages.product(x, u, "product");
  const TensorRef shifted =
      c.shifted ? b.map(between, [&](const Indices& i) { return product(i) + shift(i); }) : product;
  const TensorRef expanded = stages.clamped(shifted, first);
  const TensorRef windows =
      stages.clamped(stages.windows(expanded, w, {c.kernel, c.strides, c.pads}), second);
  const TensorRef sum = stages.product(windows, v, "sum");
  b.output(c.epilogue == Epilogue::none ? sum : b.map(Dims(sum.dims()), [&](const Indices& i) {
    const Scalar biased = sum(i) + third({i[leading]});
    return c.epilogue == Epilogue::residual ? biased + x(i) : biased;
  }));
  if (c.shared == Shared::product) b.output(expanded);
  if (c.shared == Shared::windows) b.output(windows);
  return b.finish();
}

std::vector<Case> inverted_residual_cases() {
  std::vector<Case> cases;
  const auto add = [&](const InvertedResidual& inverted, const std::string& kind = "inverted residual",
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    const bool c = inverted.constant;
    cases.push_back({inverted.name,
                     kind,
                     [inverted] { return program_of(inverted); },
                     sizes,
                     {false, c, c, c, c, c, c, false},
                     values});
  };
  add({.name = "InvertedResidual", .inputs = 4, .channels = 22, .filters = 5, .height = 32, .width = 48});
  add({.name = "InvertedResidualAddedToWhatItReads",
       .inputs = 6,
       .channels = 25,
       .filters = 6,
       .height = 38,
       .width = 35,
       .epilogue = Epilogue::residual});
  add({.name = "InvertedResidualWithAStride",
       .inputs = 3,
       .channels = 45,
       .filters = 7,
       .height = 37,
       .width = 45,
       .strides = {2, 2}});
  add({.name = "InvertedResidualOfFive",
       .inputs = 2,
       .channels = 36,
       .filters = 4,
       .height = 30,
       .width = 33,
       .kernel = {5, 5},
       .pads = {2, 2},
       .activated = false,
       .activated_again = false,
       .epilogue = Epilogue::none});
  add({.name = "InvertedResidualWithoutPads",
       .inputs = 5,
       .channels = 17,
       .filters = 8,
       .height = 27,
       .width = 79,
       .kernel = {2, 3},
       .pads = {0, 0}});
  // Windows reach further out than there are lines.
  add({.name = "InvertedResidualOfAFewLines",
       .inputs = 4,
       .channels = 90,
       .filters = 9,
       .height = 3,
       .width = 128,
       .kernel = {5, 3},
       .pads = {2, 1},
       .activated_again = false});
  add({.name = "InvertedResidualWithWeightsOfTheRun",
       .inputs = 3,
       .channels = 23,
       .filters = 5,
       .height = 31,
       .width = 50,
       .constant = false});
  const ir::loop::Size n{"n", 1, 4096, 1};
  add({.name = "InvertedResidualOfAnyBatch",
       .batch = {Dim::symbol("n")},
       .inputs = 5,
       .channels = 29,
       .filters = 5,
       .height = 31,
       .width = 40,
       .strides = {2, 1},
       .pads = {1, 0},
       .epilogue = Epilogue::bias},
      "inverted residual", {n}, {{{"n", 1}}, {{"n", 3}}});
  // What is read elsewhere too, fits anyway, or is finished with what differs from place to place is not.
  const InvertedResidual plain{.name = "",
                               .inputs = 3,
                               .channels = 23,
                               .filters = 5,
                               .height = 31,
                               .width = 48,
                               .epilogue = Epilogue::none};
  const auto but = [&](const std::string& name, const std::function<void(InvertedResidual&)>& change) {
    InvertedResidual other = plain;
    other.name = "InvertedResidual" + name;
    change(other);
    return other;
  };
  add(but("WhoseProductIsAsked", [](auto& c) { c.shared = Shared::product; }), "contraction+chained windows");
  add(but("WhoseWindowsAreAsked", [](auto& c) { c.shared = Shared::windows; }), "chained product+gathered");
  add(but("OfFewChannels", [](auto& c) { c.channels = 21; }), "contraction+chained windows");
  add(but("WithAShift",
          [](auto& c) {
            c.shifted = true;
            c.epilogue = Epilogue::bias;
          }),
      "chained product+gathered");
  return cases;
}

}  // namespace axrun::tests
