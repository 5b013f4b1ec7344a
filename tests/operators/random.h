#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "ir/tensor.h"

namespace axrun::runtime {

/// Draws for one case; a seed gives the same case everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return integer(0, 99) < percent; }
  double real(double low = -1, double high = 1) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<int64_t>(choices.size()) - 1)];
  }

  ir::Shape shape(int least_rank, int most_rank, int64_t most_extent = 6, int64_t least_extent = 1) {
    ir::Shape shape(static_cast<size_t>(integer(least_rank, most_rank)));
    for (int64_t& extent : shape) extent = integer(least_extent, most_extent);
    return shape;
  }
  std::vector<int64_t> permutation(int64_t count) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
    for (size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<size_t>(integer(0, static_cast<int64_t>(k) - 1))]);
    return order;
  }

  /// Floats are uniform in [low, high], integers uniform in the integers of that range, booleans even.
  ir::Tensor tensor(ir::ElementType type, const ir::Shape& shape, double low = -1, double high = 1) {
    ir::Tensor tensor = ir::Tensor::allocate(type, shape);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (ir::is_float(type)) {
        tensor.set_real(i, real(low, high));
      } else if (type == ir::ElementType::boolean) {
        tensor.set_int(i, integer(0, 1));
      } else {
        tensor.set_int(i, integer(static_cast<int64_t>(low), static_cast<int64_t>(high)));
      }
    }
    return tensor;
  }
  ir::Tensor floats(const ir::Shape& shape, double low = -1, double high = 1) {
    return tensor(ir::ElementType::f32, shape, low, high);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace axrun::runtime
