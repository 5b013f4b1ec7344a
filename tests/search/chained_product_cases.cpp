#include "tests/search/chained_product_cases.h"

#include "tests/search/channel_stages.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::TensorRef;

Program program_of(const ChainedProduct& c) {
  Builder b("chained");
  const ChannelStages stages(b, c.batch);
  const size_t leading = c.batch.size();
  const WindowSteps steps{c.kernel, c.strides, c.pads};
  const Dims result = stages.with({c.channels, steps.length(0, c.height), steps.length(1, c.width)});
  const TensorRef x = b.operand(0, ElementType::f32, stages.with({c.inputs, c.height, c.width}), "x");
  const TensorRef u = b.operand(1, ElementType::f32, {c.channels, c.inputs}, "u");
  const TensorRef w = b.operand(2, ElementType::f32, {c.channels, c.kernel[0], c.kernel[1]}, "w");
  TensorRef first, second, residual;
  if (c.activated) first = b.operand(3, ElementType::f32, {c.channels}, "first");
  if (c.residual) second = b.operand(4, ElementType::f32, {c.channels}, "second");
  if (c.residual) residual = b.operand(5, ElementType::f32, result, "z");
  const TensorRef activated = stages.clamped(stages.product(x, u, "product"), first);
  const TensorRef windows = stages.windows(activated, w, steps);
  b.output(c.residual ? b.map(result,
                              [&](const Indices& i) {
                                return max(windows(i) + second({i[leading]}) + residual(i), 0.0);
                              })
                      : windows);
  if (c.shared) b.output(activated);
  return b.finish();
}

std::vector<Case> chained_product_cases() {
  std::vector<Case> cases;
  const auto add = [&](const ChainedProduct& chained, const std::string& kind = "chained product",
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    const bool c = chained.constant;
    cases.push_back({chained.name,
                     kind,
                     [chained] { return program_of(chained); },
                     sizes,
                     {false, c, c, c, c, false},
                     values});
  };
  add({.name = "ChainedProduct", .inputs = 4, .channels = 22, .height = 32, .width = 48});
  add({.name = "ChainedProductWithAStride",
       .inputs = 3,
       .channels = 20,
       .height = 37,
       .width = 48,
       .strides = {2, 2},
       .residual = true});
  add({.name = "ChainedProductOfFive",
       .inputs = 2,
       .channels = 36,
       .height = 30,
       .width = 32,
       .kernel = {5, 5},
       .pads = {2, 2},
       .activated = false});
  add({.name = "ChainedProductWithoutPads",
       .inputs = 5,
       .channels = 16,
       .height = 27,
       .width = 79,
       .kernel = {2, 3},
       .pads = {0, 0},
       .residual = true});
  add({.name = "ChainedProductOfAFewLines", .inputs = 4, .channels = 175, .height = 3, .width = 64});
  add({.name = "ChainedProductWithWeightsOfTheRun",
       .inputs = 3,
       .channels = 23,
       .height = 31,
       .width = 48,
       .constant = false});
  const ir::loop::Size n{"n", 1, 4096, 1};
  add({.name = "ChainedProductOfAnyBatch",
       .batch = {Dim::symbol("n")},
       .inputs = 3,
       .channels = 23,
       .height = 31,
       .width = 48,
       .strides = {1, 2}},
      "chained product", {n}, {{{"n", 1}}, {{"n", 2}}});
  // What is read elsewhere too, fits anyway, or has lines that leave lanes idle is not chained.
  add({.name = "ChainedProductThatIsAsked",
       .inputs = 3,
       .channels = 23,
       .height = 31,
       .width = 48,
       .shared = true},
      "contraction+windows");
  add({.name = "ChainedProductOfFewChannels", .inputs = 3, .channels = 12, .height = 20, .width = 48},
      "contraction+windows");
  add({.name = "ChainedProductOfUnevenLines", .inputs = 3, .channels = 20, .height = 40, .width = 50},
      "contraction+windows");
  return cases;
}

}  // namespace axrun::tests
