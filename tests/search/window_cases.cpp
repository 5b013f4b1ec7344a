#include "tests/search/window_cases.h"

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
using Epilogue = Windows::Epilogue;

namespace {

double outside(const Windows& windows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (windows.outside) return *windows.outside;
  return windows.monoid == Monoid::Kind::sum ? 0 : windows.monoid == Monoid::Kind::min ? infinity : -infinity;
}

/// How many taps of a window lie inside, as averages count.
Scalar taps_inside(Builder& b, const Windows& windows, const Indices& point) {
  Scalar count = b.integer(1);
  for (size_t d = 0; d < windows.input.size(); ++d) {
    const Scalar start =
        point[windows.channels.size() + d] * entry(windows.strides, d, 1) - entry(windows.pads, d, 0);
    count = count * (min(start + windows.kernel[d], b.extent(windows.input[d])) - max(start, 0));
  }
  return count;
}

}  // namespace

Program program_of(const Windows& windows) {
  Builder b("windows");
  const size_t leading = windows.channels.size(), rank = windows.input.size();
  Dims x_dims = windows.channels, result = windows.channels, taps, w_dims = {windows.channels.back()};
  for (size_t d = 0; d < rank; ++d) {
    x_dims.push_back(windows.input[d]);
    taps.push_back(windows.kernel[d]);
    w_dims.push_back(windows.kernel[d]);
    const int64_t reach = (windows.kernel[d] - 1) * entry(windows.dilations, d, 1) + 1;
    const Dim room =
        windows.input[d] + Dim(entry(windows.pads, d, 0) + entry(windows.pads_end, d, 0) - reach);
    result.push_back(floor_div(room, Dim(entry(windows.strides, d, 1))) + 1);
  }
  const TensorRef x = b.operand(0, ElementType::f32, x_dims, "x");
  TensorRef w, bias, residual;
  if (windows.weights) w = b.operand(1, ElementType::f32, w_dims, "w");
  if (windows.epilogue == Epilogue::bias_residual || windows.epilogue == Epilogue::normalized)
    bias = b.operand(2, ElementType::f32, {windows.channels.back()}, "bias");
  if (windows.epilogue == Epilogue::bias_residual) residual = b.operand(3, ElementType::f32, result, "z");
  const auto term = [&](const Indices& i, const Indices& k) {
    Indices place(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(leading));
    for (size_t d = 0; d < rank; ++d) {
      place.push_back(i[leading + d] * entry(windows.strides, d, 1) + k[d] * entry(windows.dilations, d, 1) -
                      entry(windows.pads, d, 0));
    }
    const Scalar read = x.padded(place, outside(windows));
    if (!windows.weights) return read;
    Indices tap = {i[leading - 1]};
    tap.insert(tap.end(), k.begin(), k.end());
    return read * w(tap);
  };
  const TensorRef reduced = b.reduce(windows.monoid, result, taps, term, "reduced");
  if (windows.epilogue == Epilogue::none) {
    b.output(reduced);
    return b.finish();
  }
  b.output(b.map(
      result,
      [&](const Indices& i) {
        const Scalar value = reduced(i);
        switch (windows.epilogue) {
          case Epilogue::clip:
            return min(max(value, -4.0), 6.0);
          case Epilogue::bias_residual:
            return max(value + bias({i[leading - 1]}) + residual(i), 0.0);
          case Epilogue::normalized:
            return (value - 1.0) / sqrt(abs(bias({i[leading - 1]})) + 1.0);
          case Epilogue::gelu:
            return value * 0.5 * (erf(value * 0.7071) + 1.0);
          default:
            return value / cast(ElementType::f32, taps_inside(b, windows, i));
        }
      },
      "y"));
  return b.finish();
}

std::vector<Case> window_cases() {
  const auto sym = [](const char* name) { return Dim::symbol(name); };
  constexpr auto sum = Monoid::Kind::sum, largest = Monoid::Kind::max, least = Monoid::Kind::min;
  std::vector<Case> cases;
  const auto add = [&](const Windows& windows, const search::Sizes& sizes = {},
                       const std::vector<SizeValues>& values = {{}}) {
    cases.push_back({windows.name,
                     "windows",
                     [windows] { return program_of(windows); },
                     sizes,
                     {false, true, true, false},
                     values});
  };
  add({"WindowsOfThree", sum, true, {5}, {12, 21}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::clip});
  add({"WindowsOfSevenOnAShortPlane", sum, true, {3}, {3, 3}, {7, 7}, {}, {}, {3, 3}, {3, 3}});
  add({"WindowsWithAStride", sum, true, {3}, {14, 23}, {5, 3}, {2, 2}, {}, {2, 1}, {1, 1}, Epilogue::gelu});
  add({"WindowsWithALongStride", sum, true, {2}, {9, 40}, {2, 4}, {3, 3}, {}, {0, 2}, {}});
  add({"WindowsThatAreDilated",
       sum,
       true,
       {2},
       {13, 17},
       {3, 3},
       {},
       {4, 2},
       {4, 2},
       {4, 2},
       Epilogue::bias_residual});
  add({"WindowsWithoutPads", sum, true, {2, 3}, {6, 34}, {3, 2}, {}, {}, {}, {}, Epilogue::normalized});
  add({"WindowsOfALine", sum, true, {7}, {50}, {5}, {}, {}, {4}, {0}});
  add({"WindowsOfASolid", sum, true, {2}, {5, 6, 9}, {3, 2, 3}, {1, 2, 1}, {}, {1, 0, 1}, {1, 1, 1}});
  add({"WindowsOfManyTaps", sum, true, {2}, {9, 24}, {13, 13}, {}, {}, {6, 6}, {6, 6}});
  add({"WindowsOnAWidePlane", sum, true, {1}, {7, 150}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  add({"LargestOfWindows", largest, false, {3}, {11, 19}, {3, 3}, {2, 2}, {}, {1, 1}, {0, 0}});
  add({"LargestOfManyTaps", largest, false, {3}, {6, 6}, {13, 13}, {}, {}, {6, 6}, {6, 6}});
  add({"LargestOfWindowsSideBySide", largest, false, {4}, {8, 20}, {2, 2}, {2, 2}});
  add({"LargestInTwoPasses", largest, false, {3}, {13, 22}, {5, 5}, {1, 1}, {}, {2, 2}, {2, 2}});
  add({"SumsInTwoPasses", sum, false, {2}, {20, 75}, {6, 5}, {2, 2}, {1, 2}, {3, 4}, {2, 3}, Epilogue::clip});
  add({"SumsInTwoPassesWithoutPads", sum, false, {2}, {9, 37}, {5, 4}});
  add({"LeastOfWindows", least, false, {2}, {5, 18}, {2, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::clip});
  add({"MeanOfWindows", sum, false, {2}, {10, 19}, {3, 3}, {2, 1}, {}, {1, 1}, {1, 1}, Epilogue::mean});
  // Planes so small that lanes run across them.
  add({"PlanesOfThree", sum, true, {20}, {3, 3}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::clip});
  add({"PlanesUnderLargeWindows",
       sum,
       true,
       {33},
       {4, 6},
       {7, 5},
       {},
       {},
       {3, 2},
       {3, 2},
       Epilogue::normalized});
  add({"PlanesWithAStride",
       sum,
       true,
       {2, 17},
       {7, 7},
       {5, 5},
       {2, 2},
       {},
       {2, 2},
       {2, 2},
       Epilogue::bias_residual});
  add({"PlanesThatAreDilated", sum, true, {16}, {5, 6}, {3, 3}, {}, {2, 2}, {2, 2}, {2, 2}, Epilogue::gelu});
  add({"PlanesWithoutPads", sum, true, {24}, {6, 6}, {4, 3}});
  add({"PlanesOfPools", largest, false, {40}, {6, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}});
  add({"PlanesOfMeans", sum, false, {20}, {5, 5}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::mean});
  // Pads that are not what changes nothing.
  add({"PlanesOfPoolsAmongZeros",
       largest,
       false,
       {40},
       {6, 5},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Epilogue::none,
       0});
  add({"PoolsOfManyTapsAmongZeros",
       largest,
       false,
       {2},
       {13, 21},
       {5, 5},
       {},
       {},
       {2, 2},
       {2, 2},
       Epilogue::none,
       0});
  add({"PlanesAmongOnes", sum, true, {20}, {4, 4}, {3, 3}, {}, {}, {1, 1}, {1, 1}, Epilogue::clip, 1});
  add({"MorePlanesThanThereAre", largest, false, {2}, {5, 7, 5}, {1, 4, 5}, {}, {}, {2, 1, 1}, {2, 1, 1}});
  const ir::loop::Size n{"n", 1, 4096, 1}, h{"h", 2, 4096, 1}, w{"w", 2, 4096, 1};
  add({"WindowsOfAnyBatch", sum, true, {sym("n"), 3}, {6, 20}, {3, 3}, {}, {}, {1, 1}, {1, 1}}, {n},
      {{{"n", 1}}, {{"n", 4}}});
  add({"WindowsOfAnyPlane",
       sum,
       true,
       {2},
       {sym("h"), sym("w")},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Epilogue::clip},
      {h, w}, {{{"h", 2}, {"w", 2}}, {{"h", 9}, {"w", 37}}, {{"h", 16}, {"w", 48}}});
  add({"LargestOfWindowsOfAnyPlane",
       largest,
       false,
       {2},
       {sym("h"), sym("w")},
       {3, 3},
       {2, 2},
       {},
       {1, 1},
       {1, 1}},
      {h, w}, {{{"h", 2}, {"w", 3}}, {{"h", 11}, {"w", 40}}});
  add({"LargestInTwoPassesOfAnyHeight", largest, false, {2}, {sym("h"), 24}, {7, 7}, {}, {}, {3, 3}, {3, 3}},
      {h}, {{{"h", 2}}, {{"h", 19}}});
  add({"WindowsOfAnyHeight", sum, true, {3}, {sym("h"), 24}, {5, 5}, {}, {}, {2, 2}, {2, 2}}, {h},
      {{{"h", 2}}, {{"h", 13}}});
  add({"PlanesOfAnyNumber",
       sum,
       true,
       {sym("n"), sym("c")},
       {3, 4},
       {3, 3},
       {},
       {},
       {1, 1},
       {1, 1},
       Epilogue::clip},
      {n, {"c", 1, 4096, 1}}, {{{"n", 1}, {"c", 1}}, {{"n", 2}, {"c", 16}}, {{"n", 3}, {"c", 21}}});
  return cases;
}

}  // namespace axrun::tests
