#include "tests/search/channels_last_cases.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/compose.h"
#include "tests/search/chained_windows_cases.h"
#include "tests/search/convolution_cases.h"
#include "tests/search/inverted_residual_cases.h"
#include "tests/search/window_cases.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::Indices;
using ir::Monoid;
using ir::Program;

namespace {

/// Which values lie channels-last.
enum class Last { both, in, out };

/// A value of [batch..., channels, spatial...], `leading` dims before the channels; forwards: from there to
/// channels-last.
Program transposition(const ir::TensorDecl& plain, size_t leading, bool forwards) {
  Builder b("transposition");
  Dims last = plain.dims;
  std::rotate(last.begin() + static_cast<std::ptrdiff_t>(leading),
              last.begin() + static_cast<std::ptrdiff_t>(leading) + 1, last.end());
  const ir::TensorRef from = b.operand(0, plain.type, forwards ? plain.dims : last, "t");
  b.output(b.map(forwards ? last : plain.dims, [&](Indices i) {
    const auto channels = i.begin() + static_cast<std::ptrdiff_t>(leading);
    if (forwards) {
      std::rotate(channels, i.end() - 1, i.end());
    } else {
      std::rotate(channels, channels + 1, i.end());
    }
    return from(i);
  }));
  return b.finish();
}

/// The expression with operands at `planes` and its output channels-last.
Program laid_out(const Program& program, size_t leading, Last last, const std::vector<size_t>& planes) {
  std::vector<Program> transpositions;
  transpositions.reserve(planes.size() + 1);
  std::vector<ir::Part> parts;
  std::vector<ir::ValueId> outside, operands;
  for (size_t k = 0; k < program.operands.size(); ++k) {
    outside.push_back(static_cast<ir::ValueId>(k));
    operands.push_back(outside.back());
  }
  ir::ValueId next = 100, result = 200;
  for (const size_t k : planes) {
    if (last == Last::out || k >= operands.size() || program.operands[k] == ir::none) continue;
    transpositions.push_back(
        transposition(program.tensors[static_cast<size_t>(program.operands[k])], leading, false));
    parts.push_back({&transpositions.back(), {operands[k]}, {next}});
    operands[k] = next++;
  }
  parts.push_back({&program, operands, {result}});
  if (last != Last::in) {
    transpositions.push_back(
        transposition(program.tensors[static_cast<size_t>(program.outputs[0])], leading, true));
    parts.push_back({&transpositions.back(), {result}, {result + 1}});
    ++result;
  }
  return ir::compose("laid_out", parts, outside, {result});
}

}  // namespace

std::vector<Case> channels_last_cases() {
  const auto sym = [](const char* name) { return Dim::symbol(name); };
  std::vector<Case> cases;
  const auto add = [&](const std::string& kind, Last last, const Windows& windows,
                       const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({windows.name,
                     kind,
                     [=] {
                       return laid_out(program_of(windows), windows.channels.size() - 1, last, {0, 3});
                     },
                     sizes,
                     {false, true, true, false},
                     values});
  };
  constexpr auto sum = Monoid::Kind::sum, largest = Monoid::Kind::max;
  using Finish = Windows::Epilogue;
  const ir::loop::Size n{"n", 1, 64, 1}, h{"h", 2, 4096, 1};
  // Depthwise convolutions: lanes along channels.
  add("map+windows", Last::both,
      {"LastWindowsOfThree", sum, true, {21}, {6, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::clip});
  add("map+windows", Last::both,
      {"LastWindowsOfFive", sum, true, {16}, {7, 11}, {5, 5}, {}, {}, {2, 2}, {2, 2}, Finish::bias_residual});
  add("map+windows", Last::both,
      {"LastWindowsWithAStride", sum, true, {40}, {9, 14}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, Finish::clip});
  add("map+windows", Last::both,
      {"LastWindowsOnOneSide", sum, true, {9}, {5, 8}, {2, 3}, {2, 1}, {}, {0, 2}, {1, 0}, Finish::gelu});
  add("map+windows", Last::both,
      {"LastWindowsDilated",
       sum,
       true,
       {18},
       {9, 9},
       {3, 3},
       {},
       {2, 3},
       {2, 3},
       {2, 3},
       Finish::normalized});
  add("map+windows", Last::both, {"LastWindowsOfALine", sum, true, {20}, {17}, {3}, {}, {}, {1}, {1}});
  add("map+windows", Last::both,
      {"LastWindowsOfAnyBatch",
       sum,
       true,
       {sym("n"), 19},
       {5, 6},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Finish::clip},
      {n}, {{{"n", 1}}, {{"n", 3}}});
  add("map+windows", Last::both,
      {"LastWindowsOfAnyHeight",
       sum,
       true,
       {17},
       {sym("h"), 6},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Finish::clip},
      {h}, {{{"h", 2}}, {{"h", 7}}});
  add("map+windows", Last::in,
      {"WindowsOfLast", sum, true, {20}, {8, 9}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, Finish::clip});
  add("windows+map", Last::out,
      {"WindowsToLast", sum, true, {20}, {8, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::bias_residual});
  // Blocks of channels, for which all lines pass at a time.
  add("map+windows", Last::both,
      {"LastWindowsInBlocks", sum, true, {170}, {5, 14}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::clip});
  add("map+windows", Last::both,
      {"LastWindowsInBlocksForEach",
       sum,
       true,
       {330},
       {9, 14},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Finish::gelu});
  // Pools.
  add("windows", Last::both,
      {"LastLargestOfWindows", largest, false, {24}, {9, 11}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}});
  add("windows", Last::both, {"LastLargestSideBySide", largest, false, {2, 33}, {6, 8}, {2, 2}, {2, 2}});
  add("windows", Last::both,
      {"LastMeanOfWindows", sum, false, {20}, {7, 9}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, Finish::mean});
  // Convolutions: lanes along what comes out, an element of what goes in for all of them.
  const auto convolve = [&](const std::string& kind, Last last, const Convolved& convolved,
                            const search::Sizes& sizes = {}, const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({convolved.name,
                     kind,
                     [=] {
                       return laid_out(program_of(convolved), convolved.batch.size(), last, {0, 3});
                     },
                     sizes,
                     {false, true, true, false},
                     values});
  };
  using End = Convolved::Epilogue;
  constexpr auto clip = End::bias_clip, residual = End::bias_residual;
  convolve("contraction", Last::both,
           {"LastPoints", {}, 1, 12, 20, {5, 6}, {1, 1}, {}, {}, {}, {}, residual});
  convolve("contraction", Last::both,
           {"LastPointsOfAnyBatch", {sym("n")}, 1, 9, 35, {3, 5}, {1, 1}, {}, {}, {}, {}, clip}, {n},
           {{{"n", 1}}, {{"n", 3}}});
  convolve("contraction", Last::in, {"PointsOfLast", {}, 1, 18, 20, {5, 6}, {1, 1}, {}, {}, {}, {}, clip});
  convolve("contraction", Last::out,
           {"PointsToLast", {}, 1, 18, 20, {5, 6}, {1, 1}, {}, {}, {}, {}, residual});
  convolve("pixels", Last::both,
           {"LastPointsApart", {}, 1, 21, 40, {9, 8}, {1, 1}, {2, 2}, {}, {}, {}, clip});
  convolve("pixels", Last::in,
           {"PointsApartOfLast", {}, 1, 21, 40, {9, 8}, {1, 1}, {2, 2}, {}, {}, {}, clip});
  convolve("pixels", Last::both,
           {"LastConvolved", {}, 1, 6, 40, {6, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  convolve("pixels", Last::both,
           {"LastConvolvedWithAStride", {}, 1, 3, 18, {12, 15}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, clip});
  convolve("pixels", Last::both,
           {"LastConvolvedOnOneSide", {}, 1, 5, 12, {6, 9}, {2, 4}, {}, {}, {1, 0}, {0, 2}, End::gelu});
  convolve("pixels", Last::both, {"LastConvolvedWithoutPads", {}, 1, 7, 24, {7, 9}, {3, 3}});
  convolve(
      "pixels", Last::both,
      {"LastConvolvedDilated", {}, 1, 4, 20, {9, 9}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}, End::normalized});
  convolve("pixels", Last::both,
           {"LastConvolvedInGroups", {}, 2, 5, 20, {5, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  convolve("pixels", Last::both,
           {"LastConvolvedOfAnyBatch", {sym("n")}, 1, 6, 20, {5, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
           {n}, {{{"n", 1}}, {{"n", 3}}});
  convolve(
      "pixels", Last::both,
      {"LastConvolvedOfAnyHeight", {}, 1, 6, 20, {sym("h"), 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual},
      {h}, {{{"h", 2}}, {{"h", 9}}});
  convolve("pixels", Last::both,
           {"LastConvolvedInPieces", {}, 1, 64, 200, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  convolve("pixels", Last::both,
           {"LastConvolvedDeeply", {}, 1, 260, 64, {3, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  convolve("pixels", Last::in,
           {"ConvolvedOfLast", {}, 1, 6, 20, {6, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, residual});
  convolve("pixels", Last::in,
           {"ConvolvedOfLastDeeply", {}, 1, 260, 64, {3, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip});
  convolve("pixels", Last::out,
           {"ConvolvedToLast", {}, 1, 3, 18, {12, 13}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, residual});
  convolve("pixels", Last::out,
           {"ConvolvedToLastOfAnyBatch", {sym("n")}, 1, 6, 24, {5, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, clip},
           {n}, {{{"n", 1}}, {{"n", 3}}});
  // Chains.
  const ChainedWindows chained{
      .name = "LastChainedWindows", .channels = 24, .filters = 11, .height = 28, .width = 28};
  cases.push_back({chained.name,
                   "map+windows+pixels",
                   [=] { return laid_out(program_of(chained), 0, Last::both, {0}); },
                   {},
                   {false, true, true, true, true}});
  const InvertedResidual inverted{
      .name = "LastInvertedResidual", .inputs = 4, .channels = 22, .filters = 5, .height = 32, .width = 48};
  cases.push_back({inverted.name,
                   "contraction+map+windows+pixels",
                   [=] { return laid_out(program_of(inverted), 0, Last::both, {0}); },
                   {},
                   {false, true, true, true, true, true, true}});
  ChainedWindows to_last = chained;
  to_last.name = "ChainedWindowsToLast";
  cases.push_back({to_last.name,
                   "chained windows",
                   [=] { return laid_out(program_of(to_last), 0, Last::out, {0}); },
                   {},
                   {false, true, true, true, true}});
  InvertedResidual added = inverted;
  added.name = "LastInvertedResidualAdded";
  added.batch = {sym("n")};
  added.channels = 40;
  added.filters = added.inputs = 10;
  added.height = added.width = 6;
  added.strides = {1, 1};
  added.epilogue = InvertedResidual::Epilogue::residual;
  cases.push_back({added.name,
                   "contraction+map+windows+pixels",
                   [=] { return laid_out(program_of(added), 1, Last::both, {0}); },
                   {n},
                   {false, true, true, true, true, true, true},
                   {{{"n", 1}}, {{"n", 3}}}});
  return cases;
}

}  // namespace axrun::tests
