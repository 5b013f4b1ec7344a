#include "tests/search/convolution_cases.h"

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
using Epilogue = Convolved::Epilogue;

Program program_of(const Convolved& c) {
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
    const int64_t reach = (c.kernel[d] - 1) * entry(c.dilations, d, 1) + 1;
    const Dim room = c.input[d] + Dim(entry(c.pads, d, 0) + entry(c.pads_end, d, 0) - reach);
    axes.push_back(floor_div(room, Dim(entry(c.strides, d, 1))) + 1);
    result.push_back(axes.back());
    merge.push_back({static_cast<int>(leading + d) + 2});
  }
  const TensorRef x = b.operand(0, ElementType::f32, x_dims, "x");
  const TensorRef w = b.operand(1, ElementType::f32, w_dims, "w");
  TensorRef bias, residual;
  if (c.epilogue != Epilogue::none && c.epilogue != Epilogue::gelu)
    bias = b.operand(2, ElementType::f32, {c.groups * c.filters}, "bias");
  if (c.epilogue == Epilogue::bias_residual) residual = b.operand(3, ElementType::f32, result, "z");
  const auto term = [&](const Indices& i, const Indices& r) {
    const Scalar filter = i[leading] * c.filters + i[leading + 1];
    Indices place(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(leading)), weight = {filter, r[0]};
    place.push_back(i[leading] * c.channels + r[0]);
    for (size_t d = 0; d < rank; ++d) {
      place.push_back(i[leading + 2 + d] * entry(c.strides, d, 1) + r[d + 1] * entry(c.dilations, d, 1) -
                      entry(c.pads, d, 0));
      weight.push_back(r[d + 1]);
    }
    return x.padded(place, 0.0) * w(weight);
  };
  const TensorRef sum = b.reduce_grouped(Monoid::Kind::sum, axes, merge, reduced, term);
  if (c.epilogue == Epilogue::none) {
    b.output(sum);
    return b.finish();
  }
  b.output(b.map(
      result,
      [&](const Indices& i) {
        const Scalar value = sum(i);
        if (c.epilogue == Epilogue::bias_clip) return min(max(value + bias({i[leading]}), -4.0), 6.0);
        if (c.epilogue == Epilogue::bias_residual) return value + bias({i[leading]}) + residual(i);
        if (c.epilogue == Epilogue::normalized) return (value - 1.0) / sqrt(abs(bias({i[leading]})) + 1.0);
        return value * 0.5 * (erf(value * 0.7071) + 1.0);
      },
      "y"));
  return b.finish();
}

std::vector<Convolved> convolved_across() {
  constexpr auto clip = Epilogue::bias_clip, residual = Epilogue::bias_residual;
  return {
      {"ConvolvedAcross", {}, 1, 40, 64, {5, 14}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
      {"ConvolvedAcrossFewPoints", {}, 1, 8, 128, {3, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
      {"ConvolvedAcrossWithAStride", {2}, 1, 8, 128, {5, 6}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, residual},
      {"ConvolvedAcrossInGroups",
       {},
       2,
       24,
       40,
       {7, 7},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Epilogue::normalized},
      {"ConvolvedAcrossInPartsOfLines", {}, 1, 96, 80, {2, 29}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual},
      {"ConvolvedAcrossDeeply", {}, 1, 400, 24, {5, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
      {"ConvolvedAcrossInPieces", {}, 1, 24, 256, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual},
      {"ConvolvedAcrossRaggedGroups", {}, 1, 96, 32, {5, 14}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::none},
      {"ConvolvedAcrossWithManyTaps", {}, 1, 24, 32, {4, 14}, {5, 5}, {}, {}, {2, 2}, {2, 2}, residual},
      {"ConvolvedAcrossDilated", {}, 1, 96, 36, {3, 14}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}, Epilogue::gelu},
      {"ConvolvedAcrossByTwos", {}, 1, 64, 64, {9, 27}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, clip},
      {"ConvolvedAcrossByThrees", {}, 1, 40, 64, {11, 21}, {4, 5}, {3, 3}, {}, {1, 2}, {2, 1}, residual},
      {"ConvolvedAcrossByTwosDilated", {}, 1, 48, 64, {9, 18}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}, clip},
      {"ConvolvedAcrossByTwosInLines", {}, 1, 48, 64, {7, 28}, {3, 3}, {1, 2}, {2, 1}, {2, 0}, {2, 1}, clip},
  };
}

std::vector<Case> convolution_cases() {
  const auto sym = [](const char* name) { return Dim::symbol(name); };
  std::vector<Case> cases;
  const auto add = [&](const std::string& kind, const Convolved& convolved, const search::Sizes& sizes = {},
                       const std::vector<SizeValues>& values = {{}}) {
    const bool c = convolved.constant;
    cases.push_back({convolved.name,
                     kind,
                     [convolved] { return program_of(convolved); },
                     sizes,
                     {false, c, c, false},
                     values});
  };
  constexpr auto none = Epilogue::none, clip = Epilogue::bias_clip, residual = Epilogue::bias_residual;
  add("gathered", {"ConvolvedSevenBySeven", {}, 1, 6, 17, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  add("gathered",
      {"ConvolvedThirteenByThirteen", {}, 1, 5, 30, {13, 13}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  add("gathered",
      {"ConvolvedWithAStride", {}, 1, 3, 8, {28, 28}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, Epilogue::gelu});
  add("gathered", {"ConvolvedWithALongStride", {}, 1, 2, 5, {23, 40}, {7, 7}, {2, 3}, {}, {3, 2}, {2, 3}});
  add("gathered", {"ConvolvedPointsApart", {}, 1, 9, 13, {14, 14}, {1, 1}, {2, 2}, {}, {}, {}, clip});
  add("gathered", {"ConvolvedDilated", {}, 1, 4, 12, {15, 17}, {3, 3}, {}, {2, 4}, {2, 4}, {2, 4}, residual});
  add("gathered", {"ConvolvedOnOneSide", {}, 1, 3, 6, {9, 20}, {2, 4}, {}, {}, {1, 0}, {0, 2}, none});
  add("gathered", {"ConvolvedInGroups", {}, 3, 4, 7, {10, 12}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  add("gathered",
      {"ConvolvedSolid", {}, 1, 2, 6, {5, 6, 9}, {3, 3, 3}, {1, 2, 1}, {}, {1, 1, 1}, {1, 0, 1}, clip});
  add("gathered", {"ConvolvedWithManyTaps", {}, 1, 2, 4, {6, 24}, {1, 11}, {}, {}, {0, 5}, {0, 5}});
  add("gathered", {"ConvolvedDeep", {}, 1, 150, 5, {6, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  add("gathered", {"ConvolvedDeepUnevenly", {}, 1, 211, 9, {5, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  add("gathered", {"ConvolvedOnAWidePlane", {}, 1, 8, 8, {6, 200}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  add("gathered",
      {"ConvolvedWithWeightsOfTheRun", {}, 1, 4, 6, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}, none, false});
  // Lines that are computed one by one; those of strides are gathered in phases.
  add("gathered",
      {"ConvolvedWideWithAStride", {}, 1, 3, 9, {21, 70}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, clip});
  add("gathered",
      {"ConvolvedFiveByFive", {}, 1, 2, 6, {15, 67}, {5, 5}, {2, 2}, {}, {2, 2}, {1, 2}, residual});
  add("gathered", {"ConvolvedWithinAWidePlane", {}, 1, 3, 5, {12, 68}, {3, 3}, {2, 2}, {}, {}, {}, clip});
  add("gathered", {"ConvolvedByThrees", {}, 2, 2, 4, {13, 100}, {4, 4}, {3, 3}, {}, {1, 2}, {1, 0}});
  add("gathered", {"ConvolvedToFewChannels", {}, 1, 6, 3, {9, 50}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  add("gathered", {"ConvolvedDeepAndWide", {}, 1, 930, 4, {2, 34}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  // Last tiles of several lines together, with sums that wait, too.
  add("gathered",
      {"ConvolvedWithNarrowEnds", {}, 1, 2, 8, {10, 56}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  add("gathered",
      {"ConvolvedDeepWithNarrowEnds", {}, 1, 930, 4, {4, 32}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  const ir::loop::Size n{"n", 1, 4096, 1}, h{"h", 3, 4096, 1}, w{"w", 3, 4096, 1};
  add("gathered", {"ConvolvedOfAnyBatch", {sym("n")}, 1, 3, 8, {9, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
      {n}, {{{"n", 1}}, {{"n", 3}}});
  add("gathered",
      {"ConvolvedOfAnyHeight", {}, 1, 3, 8, {sym("h"), 12}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual}, {h},
      {{{"h", 3}}, {{"h", 14}}, {{"h", 33}}});
  const std::vector<SizeValues> some_planes = {
      {{"h", 3}, {"w", 4}}, {{"h", 3}, {"w", 16}}, {{"h", 9}, {"w", 37}}, {{"h", 4}, {"w", 86}}};
  add("contraction",
      {"ConvolvedOfAnyPlane", {}, 1, 3, 8, {sym("h"), sym("w")}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
      {h, w}, some_planes);
  // Panels are shared by taps: apart, read without guards, beside a stride that shares nothing.
  add("contraction",
      {"ConvolvedApartOfAnyPlane",
       {},
       1,
       3,
       8,
       {sym("h"), sym("w")},
       {3, 3},
       {},
       {2, 2},
       {2, 2},
       {2, 2},
       clip},
      {h, w}, some_planes);
  add("contraction",
      {"ConvolvedWithinAnyPlane", {}, 1, 3, 70, {sym("h"), sym("w")}, {3, 3}, {}, {}, {}, {}, none, false},
      {h, w}, some_planes);
  add("contraction",
      {"ConvolvedOnOneSideOfAnyPlane",
       {},
       1,
       3,
       8,
       {sym("h"), sym("w")},
       {2, 4},
       {},
       {},
       {0, 3},
       {1, 0},
       residual},
      {h, w}, some_planes);
  add("contraction",
      {"ConvolvedByTwosOfAnyPlane",
       {},
       1,
       3,
       8,
       {sym("h"), sym("w")},
       {3, 3},
       {2, 2},
       {},
       {1, 1},
       {1, 1},
       clip},
      {h, w}, some_planes);
  add("contraction", {"ConvolvedPoints", {}, 1, 9, 13, {6, 11}, {1, 1}, {}, {}, {}, {}, clip});
  add("gathered",
      {"ConvolvedWithAStrideAcross", {}, 1, 3, 5, {14, 18}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, clip});
  constexpr auto normalized = Epilogue::normalized;
  add("gathered", {"ConvolvedNormalized", {}, 1, 5, 11, {9, 12}, {3, 3}, {}, {}, {1, 1}, {1, 1}, normalized});
  add("contraction",
      {"ConvolvedPointsNormalized", {}, 1, 8, 20, {10, 10}, {1, 1}, {}, {}, {}, {}, normalized});
  add("contraction", {"ConvolvedPointsInGroups", {}, 2, 12, 9, {6, 6}, {1, 1}, {}, {}, {}, {}, residual});
  // Channels are columns where there are few points.
  add("contraction", {"ConvolvedFewPoints", {}, 1, 20, 40, {3, 3}, {1, 1}, {}, {}, {}, {}, residual});
  add("contraction",
      {"ConvolvedFewPointsInGroups", {}, 2, 8, 34, {7, 7}, {1, 1}, {}, {}, {}, {}, normalized});
  add("contraction", {"ConvolvedFewDeepPoints", {}, 1, 1100, 48, {7, 7}, {1, 1}, {}, {}, {}, {}, residual});
  // And where they are added up over many channels, however many points there are.
  add("contraction", {"ConvolvedDeepPoints", {}, 1, 130, 64, {4, 15}, {1, 1}, {}, {}, {}, {}, clip});
  add("contraction",
      {"ConvolvedDeepPointsOfAnyHeight", {}, 1, 600, 32, {sym("h"), 5}, {1, 1}, {}, {}, {}, {}, residual},
      {h}, {{{"h", 3}}, {{"h", 5}}});
  // Points apart, and few: the same without taps that share what is gathered.
  add("gathered", {"ConvolvedToFewPointsApart", {}, 1, 70, 128, {5, 5}, {1, 1}, {2, 2}, {}, {}, {}, none});
  add("gathered",
      {"ConvolvedToFewPointsInBatches", {2}, 1, 70, 128, {5, 6}, {1, 1}, {2, 2}, {}, {}, {}, residual});
  add("gathered",
      {"ConvolvedToFewPointsInGroups", {}, 2, 70, 128, {5, 5}, {1, 1}, {2, 2}, {}, {}, {}, normalized});
  add("gathered",
      {"ConvolvedToFewPointsOfAnyBatch", {sym("n")}, 1, 70, 128, {5, 5}, {1, 1}, {2, 2}, {}, {}, {}, clip},
      {n}, {{{"n", 1}}, {{"n", 3}}});
  for (const Convolved& across : convolved_across()) add("gathered", across);
  add("gathered",
      {"ConvolvedAcrossOfAnyBatch", {sym("n")}, 1, 8, 128, {3, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip}, {n},
      {{{"n", 1}}, {{"n", 3}}});
  add("gathered",
      {"ConvolvedAcrossOfAnyHeight", {}, 1, 4, 48, {sym("h"), 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual},
      {h}, {{{"h", 3}}, {{"h", 7}}, {{"h", 20}}});
  add("contraction", {"ConvolvedLineOfAnyLength", {}, 1, 6, 9, {sym("w")}, {5}, {}, {}, {2}, {2}, residual},
      {w}, {{{"w", 3}}, {{"w", 31}}, {{"w", 103}}});
  add("contraction", {"ConvolvedLine", {}, 1, 6, 9, {37}, {5}, {}, {}, {2}, {2}, residual});
  return cases;
}

}  // namespace axrun::tests
