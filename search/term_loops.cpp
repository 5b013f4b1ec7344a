#include "search/term_loops.h"

#include <string>

namespace axrun::search {

using ir::Dim;
using ir::loop::LoopKind;

namespace {

class Loops {
 public:
  Loops(LoopWriter& writer, const ir::Stage& sum, ir::Dims& point, const Unrolling& unrolling,
        const Dim& first, const std::function<void()>& body)
      : w_(writer), sum_(sum), point_(point), unrolling_(unrolling), first_(first), body_(body) {}

  /// Over reduce axes [k, ...).
  void write(const Dim& steps, size_t k) {
    if (k == sum_.reduce_axes.size()) return body_();
    const Dim extent = k == 0 ? steps : sum_.reduce_axes[k].extent;
    const std::string name = "p" + std::to_string(k);
    const auto next = [&](const Dim& p) {
      point_[sum_.axes.size() + k] = k == 0 ? first_ + p : p;
      write(steps, k + 1);
    };
    if (k >= unrolling_.first) return w_.loop(LoopKind::unrolled, name, extent, next);
    if (k + 1 < unrolling_.first || unrolling_.by == 1)
      return w_.loop(LoopKind::sequential, name, extent, next);
    const Dim by(unrolling_.by);
    const bool whole = floor_mod(extent, by) == Dim(0);
    w_.loop(LoopKind::sequential, name, ceil_div(extent, by), [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "u", whole ? by : min(by, extent - by * p),
              [&](const Dim& u) { next(by * p + u); });
    });
  }

 private:
  LoopWriter& w_;
  const ir::Stage& sum_;
  ir::Dims& point_;
  const Unrolling unrolling_;
  const Dim first_;
  const std::function<void()>& body_;
};

}  // namespace

Unrolling unrolling_of(const ir::Stage& sum, int64_t most, int64_t enough) {
  Unrolling unrolling{sum.reduce_axes.size(), 1};
  int64_t unrolled = 1;
  while (unrolling.first > 1) {
    const int64_t steps = sum.reduce_axes[unrolling.first - 1].extent.value();
    if (unrolled * steps > most) break;
    unrolled *= steps;
    --unrolling.first;
  }
  if (unrolled < enough) unrolling.by = enough / unrolled;
  return unrolling;
}

void term_loops(LoopWriter& writer, const ir::Stage& sum, ir::Dims& point, const Unrolling& unrolling,
                const Dim& first, const Dim& steps, const std::function<void()>& body) {
  Loops(writer, sum, point, unrolling, first, body).write(steps, 0);
}

}  // namespace axrun::search
