#include "verify/bound_axes.h"

#include <algorithm>
#include <functional>

#include "verify/row_major.h"

namespace axrun::verify {

using ir::Shape;

void set_consecutive_axes(BoundBody& body, size_t begin, const Shape& extents, int64_t first, int count) {
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
    Lanes* lanes = body.axis(begin + d);
    if (lanes == nullptr) continue;
    lanes->uniform = false;
    lanes->certain = true;
    int64_t coordinate = first / stride % extents[d];
    int64_t left = stride - first % stride;
    lanes->consecutive = stride == 1 && coordinate + count <= extents[d];
    for (int k = 0; k < count;) {
      const int end = static_cast<int>(std::min<int64_t>(count, k + left));
      std::fill(lanes->value.begin() + k, lanes->value.begin() + end, static_cast<double>(coordinate));
      k = end;
      left = stride;
      if (++coordinate == extents[d]) coordinate = 0;
    }
  }
}

void set_axes(BoundBody& body, size_t begin, const Shape& extents, const int64_t* positions, int points,
              int repeat) {
  const auto follows = [](int64_t a, int64_t b) { return b == a + 1; };
  if (repeat == 1 &&
      std::adjacent_find(positions, positions + points, std::not_fn(follows)) == positions + points)
    return set_consecutive_axes(body, begin, extents, positions[0], points);
  Shape point(extents.size());
  std::vector<double*> to(extents.size(), nullptr);
  for (size_t d = 0; d < extents.size(); ++d) {
    Lanes* lanes = body.axis(begin + d);
    if (lanes == nullptr) continue;
    lanes->uniform = false;
    lanes->certain = true;
    lanes->consecutive = false;
    to[d] = lanes->value.data();
  }
  for (int k = 0; k < points; ++k) {
    if (k > 0 && positions[k] == positions[k - 1] + 1) {
      advance(extents, point);
    } else {
      decode(positions[k], extents, point);
    }
    for (size_t d = 0; d < extents.size(); ++d) {
      if (to[d] != nullptr) std::fill_n(to[d] + k * repeat, repeat, static_cast<double>(point[d]));
    }
  }
}

void set_uniform_axes(BoundBody& body, size_t begin, const Shape& extents, int64_t position) {
  Shape point(extents.size());
  decode(position, extents, point);
  for (size_t d = 0; d < extents.size(); ++d) {
    if (Lanes* lanes = body.axis(begin + d))
      lanes->set_uniform(Interval::exactly(static_cast<double>(point[d])));
  }
}

}  // namespace axrun::verify
