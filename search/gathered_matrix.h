#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "search/gathered_form.h"
#include "search/gathered_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// What the right side of a gathered product gives for a group of lines, in the cache: [k..., columns], or
/// [k..., lines, columns of a line] where lines are computed one by one. Axes
/// whose taps share it (`is_shared`) are not among k; those that move by strides are there with a row for
/// each phase: every second place, and those between. Or places lie in order (GatheredPlan::in_order).
class GatheredMatrix {
 public:
  /// even: all groups have as many lines.
  GatheredMatrix(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan, bool even);

  /// Columns from one line to the next, and how many of a group are computed: whole vectors.
  int64_t pitch() const { return pitch_; }
  int64_t columns_computed() const { return columns_computed_; }

  /// In the block at hand.
  void allocate();
  /// Fills it for the group that begins with `first_line`, at a point of the sum as far as its outer axes go:
  /// `steps` of the first axis of the sum, from `first` on. Columns beyond those of the group are 0.
  void gather(const ir::Dims& point, const ir::Dim& first_line, const ir::Dim& first, const ir::Dim& steps);
  /// What the terms at a point of the sum read; the first axis of the sum was gathered from `first` on.
  ir::loop::Access at(const ir::Dims& point, const ir::Dim& first, const ir::Dim& line,
                      const ir::Dim& column) const;

 private:
  using Body = std::function<void()>;

  bool is_shared(size_t k) const { return search::is_shared(form_, plan_, k); }
  ir::Dim& reduce_coordinate(size_t k);
  int64_t phases(size_t k) const { return search::phases(form_, plan_, k); }
  void loops(const ir::Dim& steps, size_t k, size_t end, const Body& body);
  void move_to_line(const ir::Dim& first, const ir::Dim& line, const Reach& reach);
  void gather_line(const ir::Dim& line);
  int gathered_axis(bool lines) const;
  void clear(const ir::Dim& line, const ir::Dim& from, int64_t count);
  /// A place of a line that was gathered, of the row for a point of the sum.
  ir::loop::Access gathered(const ir::Dims& point, const ir::Dim& first, const ir::Dim& line,
                            const ir::Dim& place) const;

  PieceContext& context_;
  const GatheredForm& form_;
  const ir::Stage& sum_;
  const GatheredPlan& plan_;
  LoopWriter& w_;
  const bool even_;
  const int64_t width_;
  int64_t pitch_ = 1, columns_computed_ = 1;
  int64_t columns_ = 1;  ///< of the matrix
  ir::Dims point_;       ///< of the sum, at what is gathered
  std::vector<int64_t> phase_;
  ir::Dim first_;
  int buffer_ = ir::none;
};

}  // namespace axrun::search
