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
  const std::string mode = context.string("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = context.integers("pads");
  for (size_t d = 0; d < rank; ++d) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const int64_t reach = window.dilations[d] * (kernel[d] - 1) + 1;
      const int64_t total =
          std::max<int64_t>(0, (window.out[d] - 1) * window.strides[d] + reach - window.in[d]);
      window.pads_begin[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (mode != "VALID" && d < pads.size()) {
      window.pads_begin[d] = pads[d];
    }
  }
  return window;
}

}  // namespace axrun::runtime
