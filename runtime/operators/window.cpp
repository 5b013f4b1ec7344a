#include "runtime/operators/window.h"

#include <algorithm>

namespace axrun::runtime {

WindowForm::WindowForm(const StepContext& context, const std::vector<int64_t>& kernel) {
  const auto list = [&](const char* name, int64_t otherwise) {
    const std::vector<int64_t> given = context.integers(name);
    Extents values;
    for (size_t d = 0; d < kernel.size(); ++d) values.push_back(given.empty() ? otherwise : given[d]);
    return values;
  };
  for (const int64_t extent : kernel) kernel_.push_back(extent);
  strides_ = list("strides", 1);
  dilations_ = list("dilations", 1);
  for (const int64_t pad : context.integers("pads")) pads_.push_back(pad);
  const std::string mode = context.string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER") {
    padding_ = Padding::same_upper;
  } else if (mode == "SAME_LOWER") {
    padding_ = Padding::same_lower;
  } else if (mode != "VALID" && !pads_.empty()) {
    padding_ = Padding::given;
  }
}

WindowForm WindowForm::transposed(const StepContext& context, const std::vector<int64_t>& kernel) {
  WindowForm form(context, kernel);
  form.fits_result_ =
      !context.integers("output_shape").empty() || context.string("auto_pad", "NOTSET") != "NOTSET";
  for (const int64_t extra : context.integers("output_padding")) form.extra_.push_back(extra);
  return form;
}

void WindowForm::complete(SlidingWindow& window) const {
  window.kernel = kernel_;
  window.strides = strides_;
  window.dilations = dilations_;
  const bool is_upper = padding_ == Padding::same_upper,
             is_same = is_upper || padding_ == Padding::same_lower;
  for (size_t d = 0; d < rank(); ++d) {
    const int64_t reach = dilations_[d] * (kernel_[d] - 1) + 1;
    int64_t begin = 0, end = 0;
    if (fits_result_) {
      const int64_t whole = strides_[d] * (window.in[d] - 1) + (extra_.empty() ? 0 : extra_[d]) + reach;
      const int64_t total = std::max<int64_t>(0, whole - window.out[d]);
      begin = is_upper ? total / 2 : total - total / 2;
      end = total - begin;
    } else if (is_same) {
      const int64_t total = std::max<int64_t>(0, (window.out[d] - 1) * strides_[d] + reach - window.in[d]);
      begin = is_upper ? total / 2 : total - total / 2;
      end = total - begin;
    } else if (padding_ == Padding::given) {
      begin = pads_[d];
      end = pads_[rank() + d];
    }
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(end);
  }
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
