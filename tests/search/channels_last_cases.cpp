#include "tests/search/channels_last_cases.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/compose.h"
#include "tests/search/convolution_cases.h"
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
  const auto add = [&](const std::string& kind, Last last, const Windows& windows, const search::Sizes& sizes = {},
                       const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({windows.name,
                     kind,
                     [=] { return laid_out(program_of(windows), windows.channels.size() - 1, last, {0, 3}); },
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
      {"LastWindowsDilated", sum, true, {18}, {9, 9}, {3, 3}, {}, {2, 3}, {2, 3}, {2, 3}, Finish::normalized});
  add("map+windows", Last::both, {"LastWindowsOfALine", sum, true, {20}, {17}, {3}, {}, {}, {1}, {1}});
  add("map+windows", Last::both,
      {"LastWindowsOfAnyBatch", sum, true, {sym("n"), 19}, {5, 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::clip},
      {n}, {{{"n", 1}}, {{"n", 3}}});
  add("map+windows", Last::both,
      {"LastWindowsOfAnyHeight", sum, true, {17}, {sym("h"), 6}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::clip},
      {h}, {{{"h", 2}}, {{"h", 7}}});
  add("map+windows", Last::in,
      {"WindowsOfLast", sum, true, {20}, {8, 9}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}, Finish::clip});
  add("windows+map", Last::out,
      {"WindowsToLast", sum, true, {20}, {8, 9}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Finish::bias_residual});
  // Pools.
  add("windows", Last::both,
      {"LastLargestOfWindows", largest, false, {24}, {9, 11}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}});
  add("windows", Last::both, {"LastLargestSideBySide", largest, false, {2, 33}, {6, 8}, {2, 2}, {2, 2}});
  add("windows", Last::both,
      {"LastMeanOfWindows", sum, false, {20}, {7, 9}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, Finish::mean});
  return cases;
}

}  // namespace axrun::tests
