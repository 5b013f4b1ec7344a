#include "runtime/operators/window.h"

#include <algorithm>

namespace axrun::runtime {

SlidingWindow sliding_window(const StepContext& context, const ir::Shape& x, const ir::Shape& y,
                             const std::vector<int64_t>& kernel) {
  SlidingWindow window;
  window.in.assign(x.begin() + 2, x.end());
  window.out.assign(y.begin() + 2, y.end());
  window.kernel = kernel;
  const size_t rank = window.in.size();
  const auto list = [&](const char* name, int64_t otherwise) {
    std::vector<int64_t> values = context.integers(name);
    if (values.empty()) values.assign(rank, otherwise);
    return values;
  };
  window.strides = list("strides", 1);
  window.dilations = list("dilations", 1);
  window.pads_begin.assign(rank, 0);
  window.pads_end.assign(rank, 0);
  const std::string mode = context.string("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = context.integers("pads");
  for (size_t d = 0; d < rank; ++d) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t reach = window.dilations[d] * (kernel[d] - 1) + 1;
      const int64_t total =
          std::max<int64_t>(0, (window.out[d] - 1) * window.strides[d] + reach - window.in[d]);
      window.pads_begin[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_end[d] = total - window.pads_begin[d];
    } else if (mode != "VALID" && !pads.empty()) {
      window.pads_begin[d] = pads[d];
      window.pads_end[d] = pads[rank + d];
    }
  }
  return window;
}

std::vector<Reach> reaches(const SlidingWindow& window, size_t d) {
  const int64_t step = window.dilations[d], taps = window.kernel[d];
  // Taps of a window that begins here, from one place on and before another.
  const auto first_tap = [&](int64_t begin, int64_t from) {
    return begin >= from ? 0 : std::min(taps, (from - begin + step - 1) / step);
  };
  std::vector<Reach> found;
  for (int64_t place = 0; place < window.out[d]; ++place) {
    const int64_t begin = place * window.strides[d] - window.pads_begin[d];
    const int64_t inside = first_tap(begin, 0), outside = first_tap(begin, window.in[d]);
    const int64_t padded =
        first_tap(begin, window.in[d] + window.pads_end[d]) - first_tap(begin, -window.pads_begin[d]);
    const int64_t end = outside <= inside ? 0 : begin + (outside - 1) * step + 1;
    found.push_back({outside <= inside ? 0 : begin + inside * step, end, step, padded});
  }
  return found;
}

std::vector<std::vector<Reach>> reaches_of_dims(const SlidingWindow& window, size_t count) {
  std::vector<std::vector<Reach>> found(count - window.rank(), std::vector<Reach>(1));
  for (size_t d = 0; d < window.rank(); ++d) found.push_back(reaches(window, d));
  return found;
}

}  // namespace axrun::runtime
