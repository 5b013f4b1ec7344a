#include "tests/search/chained_product_cases.h"

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

Program program_of(const ChainedProduct& c) {
  Builder b("chained");
  const size_t leading = c.batch.size();
  const auto with = [&](std::initializer_list<Dim> rest) {
    Dims dims = c.batch;
    dims.insert(dims.end(), rest);
    return dims;
  };
  const auto length = [&](size_t d, int64_t extent) {
    return (extent + 2 * c.pads[d] - c.kernel[d]) / c.strides[d] + 1;
  };
  const Dims between = with({c.channels, c.height, c.width}),
             result = with({c.channels, length(0, c.height), length(1, c.width)});
  const TensorRef x = b.operand(0, ElementType::f32, with({c.inputs, c.height, c.width}), "x");
  const TensorRef u = b.operand(1, ElementType::f32, {c.channels, c.inputs}, "u");
  const TensorRef w = b.operand(2, ElementType::f32, {c.channels, c.kernel[0], c.kernel[1]}, "w");
  TensorRef first, second, residual;
  if (c.activated) first = b.operand(3, ElementType::f32, {c.channels}, "first");
  if (c.residual) second = b.operand(4, ElementType::f32, {c.channels}, "second");
  if (c.residual) residual = b.operand(5, ElementType::f32, result, "z");
  const TensorRef product = b.reduce(
      Monoid::Kind::sum, between, {c.inputs},
      [&](const Indices& i, const Indices& r) {
        Indices place(i.begin(), i.end());
        place[leading] = r[0];
        return x(place) * u({i[leading], r[0]});
      },
      "product");
  const TensorRef activated =
      c.activated
          ? b.map(between,
                  [&](const Indices& i) { return min(max(product(i) + first({i[leading]}), 0.0), 6.0); })
          : product;
  const TensorRef windows = b.reduce(
      Monoid::Kind::sum, result, {c.kernel[0], c.kernel[1]},
      [&](const Indices& i, const Indices& k) {
        Indices place(i.begin(), i.end());
        for (size_t d = 0; d < 2; ++d)
          place[leading + 1 + d] = i[leading + 1 + d] * c.strides[d] + k[d] - c.pads[d];
        return activated.padded(place, 0.0) * w({i[leading], k[0], k[1]});
      },
      "windows");
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
  const Dims none;
  add({"ChainedProduct", none, 4, 22, 32, 48});
  add({"ChainedProductWithAStride", none, 3, 20, 37, 48, {3, 3}, {2, 2}, {1, 1}, true, false, true});
  add({"ChainedProductOfFive", none, 2, 36, 30, 32, {5, 5}, {1, 1}, {2, 2}, false});
  add({"ChainedProductWithoutPads", none, 5, 16, 27, 79, {2, 3}, {1, 1}, {0, 0}, true, false, true});
  add({"ChainedProductOfAFewLines", none, 4, 175, 3, 64});
  add({"ChainedProductWithWeightsOfTheRun",
       none,
       3,
       23,
       31,
       48,
       {3, 3},
       {1, 1},
       {1, 1},
       true,
       false,
       false,
       false});
  const ir::loop::Size n{"n", 1, 4096, 1};
  add({"ChainedProductOfAnyBatch", {Dim::symbol("n")}, 3, 23, 31, 48, {3, 3}, {1, 2}, {1, 1}},
      "chained product", {n}, {{{"n", 1}}, {{"n", 2}}});
  // What is read elsewhere too, fits anyway, or has lines that leave lanes idle is not chained.
  add({"ChainedProductThatIsAsked", none, 3, 23, 31, 48, {3, 3}, {1, 1}, {1, 1}, true, true},
      "contraction+windows");
  add({"ChainedProductOfFewChannels", none, 3, 12, 20, 48}, "contraction+windows");
  add({"ChainedProductOfUnevenLines", none, 3, 20, 40, 50}, "contraction+windows");
  return cases;
}

}  // namespace axrun::tests
