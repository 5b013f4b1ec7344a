// The cheapest path of DynamicTimeWarping.
#include <algorithm>
#include <limits>

#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

enum class Step : uint8_t { both, down, right };

/// What each element's cheapest path came from. A diagonal step must be cheaper than both others, a step down
/// likewise; ties go to the right.
std::vector<Step> cheapest_steps(const float* costs, size_t rows, size_t columns) {
  constexpr float unreachable = std::numeric_limits<float>::infinity();
  std::vector<Step> steps(rows * columns);
  std::vector<float> above(columns + 1, unreachable), own(columns + 1, unreachable);
  above[0] = 0;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const float both = above[c], down = above[c + 1], right = own[c];
      Step step = Step::right;
      if (both < down && both < right) {
        step = Step::both;
      } else if (down < both && down < right) {
        step = Step::down;
      }
      const float before = step == Step::both ? both : step == Step::down ? down : right;
      own[c + 1] = before + costs[r * columns + c];
      steps[r * columns + c] = step;
    }
    std::swap(above, own);
    own[0] = unreachable;
  }
  return steps;
}

}  // namespace

Tensors cheapest_path_function(const Stage&, const Tensors& arguments) {
  const Shape& shape = arguments[0].shape();
  const auto rows = static_cast<size_t>(shape[shape.size() - 2]), columns = static_cast<size_t>(shape.back());
  std::vector<std::pair<size_t, size_t>> path;  // backwards, counted from 1
  if (rows > 0 && columns > 0) {
    const std::vector<Step> steps = cheapest_steps(arguments[0].as<float>(), rows, columns);
    for (size_t r = rows, c = columns; r > 0 && c > 0;) {
      path.emplace_back(r, c);
      const Step step = steps[(r - 1) * columns + c - 1];
      if (step != Step::right) --r;
      if (step != Step::down) --c;
    }
  }
  const auto length = static_cast<int64_t>(path.size());
  Tensor result = Tensor::allocate(ElementType::i32, {2, length});
  for (int64_t k = 0; k < length; ++k) {
    const auto& [row, column] = path[static_cast<size_t>(length - 1 - k)];
    result.set_int(k, static_cast<int64_t>(row) - 1);
    result.set_int(length + k, static_cast<int64_t>(column) - 1);
  }
  return {result};
}

}  // namespace axrun::ir
