#include "tests/search/quantized_cases.h"

#include "ir/bounded_scales.h"
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

namespace {

struct ByteConvolution {
  std::string name;
  Dims batch;
  int64_t groups = 1, channels = 1, filters = 1;
  Dims input;
  std::vector<int64_t> kernel, strides, pads;
  enum class Form : uint8_t {
    sum,
    requantized,
    floats,
    fine_floats,
    reals
  };  ///< fine: scales of many digits
  Form form = Form::requantized;
  ElementType x_type = ElementType::u8, w_type = ElementType::i8;
  bool symmetric = false;    ///< nothing is subtracted from the weights
  bool by_channels = false;  ///< scales of floats, one per filter, in place of one
};

using Form = ByteConvolution::Form;

Program program_of(const ByteConvolution& c) {
  Builder b("convolution");
  const size_t leading = c.batch.size(), rank = c.input.size();
  Dims x_dims = c.batch, axes = c.batch, result = c.batch, reduced = {c.channels};
  Dims w_dims = {c.groups * c.filters, c.channels};
  std::vector<std::vector<int>> merge;
  x_dims.emplace_back(c.groups * c.channels);
  axes.insert(axes.end(), {Dim(c.groups), Dim(c.filters)});
  result.emplace_back(c.groups * c.filters);
  for (size_t d = 0; d < leading; ++d) merge.push_back({static_cast<int>(d)});
  merge.push_back({static_cast<int>(leading), static_cast<int>(leading) + 1});
  for (size_t d = 0; d < rank; ++d) {
    x_dims.push_back(c.input[d]);
    reduced.emplace_back(c.kernel[d]);
    w_dims.emplace_back(c.kernel[d]);
    const Dim room = c.input[d] + Dim(2 * entry(c.pads, d, 0) - c.kernel[d]);
    axes.push_back(floor_div(room, Dim(entry(c.strides, d, 1))) + 1);
    result.push_back(axes.back());
    merge.push_back({static_cast<int>(leading + d) + 2});
  }
  const TensorRef x = b.operand(0, c.x_type, x_dims, "x");
  const TensorRef w = b.operand(1, c.w_type, w_dims, "w");
  const bool fine = c.form == Form::fine_floats,
             floats = c.form == Form::floats || c.form == Form::reals || fine;
  TensorRef zero;
  if (!c.symmetric) zero = b.operand(2, c.w_type, {c.groups * c.filters}, "zero");
  const TensorRef bias = b.operand(c.symmetric ? 2 : 3, ElementType::i32, {c.groups * c.filters}, "bias");
  TensorRef scale;
  if (c.by_channels)
    scale = b.operand(c.symmetric ? 3 : 4, ElementType::f32, {c.groups * c.filters}, "scale");
  const auto weight_scale = [&](const Scalar& filter) {
    if (!c.by_channels) return b.literal(ElementType::f32, fine ? 0.00478489650413394 : 0.5);
    return max(min(scale({filter}), ir::largest_scale), ir::least_scale);
  };
  const auto wide = [](const Scalar& value) { return cast(ElementType::i32, value); };
  const auto real = [](const Scalar& value) { return cast(ElementType::f32, value); };
  const TensorRef input = b.map(
      x_dims,
      [&](const Indices& i) {
        const Scalar left = wide(x(i)) - wide(b.integer(117, c.x_type));
        return floats ? real(left) * (fine ? 0.08025900274515152 : 0.25) : left;
      },
      "input");
  const TensorRef weight = b.map(
      w_dims,
      [&](const Indices& i) {
        const Scalar left = c.symmetric ? wide(w(i)) : wide(w(i)) - wide(zero({i[0]}));
        return floats ? real(left) * weight_scale(i[0]) : left;
      },
      "weight");
  const auto term = [&](const Indices& i, const Indices& r) {
    Indices place(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(leading)),
        at = {i[leading] * c.filters + i[leading + 1], r[0]};
    place.push_back(i[leading] * c.channels + r[0]);
    for (size_t d = 0; d < rank; ++d) {
      place.push_back(i[leading + 2 + d] * entry(c.strides, d, 1) + r[d + 1] - entry(c.pads, d, 0));
      at.push_back(r[d + 1]);
    }
    return input.padded(place, 0.0) * weight(at);
  };
  const TensorRef sum = b.reduce_grouped(Monoid::Kind::sum, axes, merge, reduced, term);
  if (c.form == Form::reals) {
    b.output(b.map(
        result, [&](const Indices& i) { return sum(i) + cast(ElementType::f32, bias({i[leading]})) * 0.125; },
        "y"));
    return b.finish();
  }
  if (floats) {
    b.output(b.map(
        result,
        [&](const Indices& i) {
          const Scalar total = max(sum(i) + cast(ElementType::f32, bias({i[leading]})) * 0.125, 0.0);
          return cast_saturate(ElementType::u8, round_even(total * 0.5) + 101.0);
        },
        "y"));
    return b.finish();
  }
  if (c.form == Form::sum) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      result,
      [&](const Indices& i) {
        const Scalar total = cast(ElementType::f32, sum(i) + bias({i[leading]}));
        return cast_saturate(ElementType::u8, round_even(total * 0.0078125) + 101.0);
      },
      "y"));
  return b.finish();
}

std::string kind_of(const ByteConvolution& c) {
  const bool points = c.kernel == std::vector<int64_t>{1, 1} && c.strides.empty();
  return points && c.groups == 1 ? "integer columns" : "gathered words";
}

}  // namespace

std::vector<Case> quantized_cases() {
  std::vector<Case> cases;
  const auto add = [&](const ByteConvolution& c, const std::string& kind = {},
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({c.name,
                     kind.empty() ? kind_of(c) : kind,
                     [c] { return program_of(c); },
                     sizes,
                     {false, true, true, true, true},
                     values});
  };
  const auto by_channels = [](ByteConvolution c) {
    c.by_channels = true;
    return c;
  };
  const auto sym = [](const char* name) { return Dim::symbol(name); };
  add({"BytesConvolvedAtPoints", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}});
  add({"BytesConvolvedAtManyPoints", {}, 1, 6, 25, {13, 30}, {1, 1}, {}, {}, Form::sum});
  add({"BytesConvolvedPadded", {}, 1, 4, 7, {9, 10}, {3, 3}, {}, {1, 1}});
  add({"BytesConvolvedWithAStride", {}, 1, 2, 5, {12, 21}, {3, 3}, {2, 2}, {1, 1}});
  add({"BytesConvolvedInGroups", {}, 3, 4, 6, {5, 6}, {3, 3}, {}, {1, 1}, Form::sum});
  add({"BytesConvolvedInBatches", {2}, 1, 8, 4, {4, 5}, {1, 1}, {}, {}});
  add({"SignedBytesConvolved",
       {},
       1,
       4,
       33,
       {6, 17},
       {2, 3},
       {},
       {0, 1},
       Form::requantized,
       ElementType::i8,
       ElementType::u8});
  add({"FloatsOfBytesConvolvedAtPoints", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::floats});
  add({"FloatsOfBytesConvolvedPadded", {}, 1, 4, 7, {9, 10}, {3, 3}, {}, {1, 1}, Form::floats});
  add({"FloatsOfBytesConvolvedInGroups", {}, 2, 4, 6, {5, 6}, {3, 3}, {2, 1}, {1, 1}, Form::floats});
  add({"FineFloatsOfBytesConvolved", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::fine_floats});
  add({"FloatsOfBytesConvolvedInDepth", {}, 40, 1, 1, {7, 7}, {3, 3}, {}, {1, 1}, Form::floats},
      "map+map+windows");
  add({"BytesConvolvedInDepth", {}, 40, 1, 1, {7, 7}, {3, 3}, {}, {1, 1}}, "windows");
  add({"BytesConvolvedInDepthWithAStride", {}, 5, 1, 1, {21, 37}, {3, 3}, {2, 2}, {1, 1}}, "windows");
  add({"SumsOfBytesConvolvedInDepth", {}, 3, 1, 1, {9, 50}, {5, 5}, {}, {2, 2}, Form::sum}, "windows");
  add(by_channels({"ScaledFiltersOfBytesAtPoints", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::floats}));
  add(by_channels({"ScaledFiltersOfBytesPadded", {}, 1, 4, 7, {9, 10}, {3, 3}, {}, {1, 1}, Form::floats}));
  add(by_channels({"ScaledFiltersOfBytesInGroups", {}, 2, 4, 6, {5, 6}, {3, 3}, {}, {1, 1}, Form::floats}));
  add(by_channels({"ScaledFiltersOfBytesAsFloats", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::reals}));
  const ir::loop::Size h{"h", 3, 64, 1};
  add({"BytesConvolvedOfAnyHeight", {}, 1, 4, 5, {sym("h"), 11}, {3, 3}, {}, {1, 1}}, "", {h},
      {{{"h", 3}}, {{"h", 14}}, {{"h", 33}}});
  add({"BytesConvolvedAtPointsOfAnyHeight", {}, 1, 6, 25, {sym("h"), 11}, {1, 1}, {}, {}}, "", {h},
      {{{"h", 3}}, {{"h", 16}}, {{"h", 33}}});
  add({"BytesConvolvedAtPointsInGroups", {}, 3, 8, 7, {5, 7}, {1, 1}, {}, {}});
  add({"BytesConvolvedAtFewPoints", {}, 1, 22, 33, {2, 2}, {1, 1}, {}, {}});
  add({"SignedBytesConvolvedAtPoints",
       {},
       1,
       14,
       40,
       {5, 10},
       {1, 1},
       {},
       {},
       Form::requantized,
       ElementType::i8,
       ElementType::u8});
  return cases;
}

std::vector<Case> byte_cases() {
  std::vector<Case> cases;
  const auto add = [&](ByteConvolution c, const search::Sizes& sizes = {},
                       const std::vector<SizeValues>& values = {{}}) {
    c.symmetric = true;
    cases.push_back({c.name,
                     "rows+" + kind_of(c),
                     [c] { return program_of(c); },
                     sizes,
                     {false, true, true, true, true},
                     values});
  };
  add({"BytesTimesBytesAtPoints", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::floats});
  add({"BytesTimesBytesOfFineFloats", {}, 1, 20, 25, {13, 30}, {1, 1}, {}, {}, Form::fine_floats});
  add({"BytesTimesBytesPadded", {}, 1, 4, 7, {9, 10}, {3, 3}, {}, {1, 1}, Form::floats});
  add({"BytesTimesBytesWithAStride", {}, 1, 8, 5, {12, 21}, {3, 3}, {2, 2}, {1, 1}, Form::fine_floats});
  add({"BytesTimesBytesInGroups", {}, 3, 4, 6, {5, 6}, {3, 3}, {}, {1, 1}, Form::floats});
  add({"BytesTimesBytesInBatches", {2}, 1, 8, 4, {4, 5}, {1, 1}, {}, {}, Form::floats});
  const auto by_channels = [&](ByteConvolution c) {
    c.by_channels = true;
    add(c);
  };
  by_channels({"BytesTimesScaledBytesAtPoints", {}, 1, 16, 9, {7, 9}, {1, 1}, {}, {}, Form::floats});
  by_channels(
      {"BytesTimesScaledBytesOfFineFloats", {}, 1, 20, 25, {13, 30}, {1, 1}, {}, {}, Form::fine_floats});
  by_channels({"BytesTimesScaledBytesPadded", {}, 1, 4, 7, {9, 10}, {3, 3}, {}, {1, 1}, Form::floats});
  by_channels({"BytesTimesScaledBytesAsFloats", {}, 1, 8, 5, {12, 21}, {3, 3}, {2, 2}, {1, 1}, Form::reals});
  const ir::loop::Size h{"h", 3, 64, 1};
  add({"BytesTimesBytesOfAnyHeight", {}, 1, 4, 5, {Dim::symbol("h"), 11}, {3, 3}, {}, {1, 1}, Form::floats},
      {h}, {{{"h", 3}}, {{"h", 14}}, {{"h", 33}}});
  return cases;
}

}  // namespace axrun::tests
