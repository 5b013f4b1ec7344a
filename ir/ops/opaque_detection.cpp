#include <algorithm>
#include <array>
#include <numeric>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"

namespace axrun::ir {
namespace {

struct Box {
  double low_y, low_x, high_y, high_x;
  double area() const { return (high_y - low_y) * (high_x - low_x); }
};

Box box_at(const Tensor& boxes, int64_t position, bool center_format) {
  std::array<double, 4> v{};
  for (size_t k = 0; k < 4; ++k) v[k] = boxes.get_real(position + static_cast<int64_t>(k));
  if (center_format) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

/// Whether intersection / union is above the threshold; empty boxes overlap nothing.
bool overlap(const Box& a, const Box& b, double threshold) {
  const double height = std::min(a.high_y, b.high_y) - std::max(a.low_y, b.low_y);
  const double width = std::min(a.high_x, b.high_x) - std::max(a.low_x, b.low_x);
  if (!(height > 0) || !(width > 0)) return false;
  const double intersection = height * width;
  const double whole = a.area() + b.area() - intersection;
  return a.area() > 0 && b.area() > 0 && whole > 0 && intersection / whole > threshold;
}

const Tensor* present(const Tensors& arguments, size_t k) {
  return k < arguments.size() && arguments[k].defined() && arguments[k].size() > 0 ? &arguments[k] : nullptr;
}

}  // namespace

Tensors non_max_suppression_function(const Stage& stage, const Tensors& arguments) {
  const Tensor& boxes = arguments.at(0);
  const Tensor& scores = arguments.at(1);
  const bool center_format = payload_of<SuppressionParameters>(stage).center_format;
  const Tensor* most = present(arguments, 2);
  const Tensor* overlap_threshold = present(arguments, 3);
  const Tensor* score_threshold = present(arguments, 4);
  const int64_t most_per_class = most != nullptr ? std::max<int64_t>(most->get_int(0), 0) : 0;
  const double highest_overlap = overlap_threshold != nullptr ? overlap_threshold->get_real(0) : 0;
  if (!(highest_overlap >= 0 && highest_overlap <= 1)) {
    throw Error(Fault::user, "NonMaxSuppression: iou_threshold is outside 0..1");
  }
  const int64_t batches = scores.shape()[0];
  const int64_t classes = scores.shape()[1];
  const int64_t count = scores.shape()[2];

  std::vector<int64_t> selected;
  std::vector<int64_t> candidates;
  std::vector<Box> kept;
  for (int64_t n = 0; n < batches && most_per_class > 0; ++n) {
    for (int64_t c = 0; c < classes; ++c) {
      const int64_t row = (n * classes + c) * count;
      candidates.clear();
      for (int64_t k = 0; k < count; ++k) {
        // A NaN score is a candidate only where no threshold is given, and comes last.
        if (score_threshold == nullptr || scores.get_real(row + k) > score_threshold->get_real(0)) {
          candidates.push_back(k);
        }
      }
      std::stable_sort(candidates.begin(), candidates.end(), [&](int64_t a, int64_t b) {
        const double left = scores.get_real(row + a);
        const double right = scores.get_real(row + b);
        if (left != left || right != right) return left == left && right != right;
        return left > right;
      });
      kept.clear();
      for (int64_t k : candidates) {
        if (static_cast<int64_t>(kept.size()) >= most_per_class) break;
        const Box box = box_at(boxes, (n * count + k) * 4, center_format);
        const bool hidden = std::any_of(
            kept.begin(), kept.end(), [&](const Box& other) { return overlap(box, other, highest_overlap); });
        if (hidden) continue;
        kept.push_back(box);
        selected.insert(selected.end(), {n, c, k});
      }
    }
  }
  return {Tensor::from_i64(selected).reshaped({static_cast<int64_t>(selected.size()) / 3, 3})};
}

}  // namespace axrun::ir
