#pragma once

#include "search/attention_form.h"
#include "search/loop_writer.h"

namespace axrun::search {

/// Which stages of the rows are a softmax: exp(x - max x) / sum of exp(x - max x), where x is worked out from
/// scores.
struct SoftmaxForm {
  bool found = false;
  const RowsForm::Member *maximum = nullptr, *power = nullptr, *total = nullptr;
};
SoftmaxForm find_softmax(const ir::Program& program, const RowsForm& rows);

/// The softmax of rows whose scores come in parts, one after another. Probabilities are those among the
/// scores so far: never more than 1 in sum, so that sums of products with them stay within their values'
/// range. What has been added up before is rescaled to that.
///
///   m: the maximum so far, at least the lowest finite float, so that a row of -inf alone gives no NaN yet
///   l: the sum of exp(x - m); at least 1 where anything but -inf has come
///   a part:  e = exp(m before - m), w = max(l before, 1) * e / max(l, 1), probabilities exp(x - m) / max(l,
///   1) at last: times max(l, 1) / l, which is 1, or NaN where nothing but -inf has come, as in the
///   definition
class OnlineSoftmax {
 public:
  /// rows: at most so many at a time, in the part of the rows that is decided; here: those that exist.
  OnlineSoftmax(PieceContext& context, const RowsForm& form, const SoftmaxForm& softmax, const ir::Dim& rows,
                ir::Dim here);
  /// Before the first part.
  void start();
  /// One part, whose scores the stages read where the caller has put them; probability: of a row of the part
  /// and a column of the stages, where it goes, which may be in the score's place.
  using Place = std::function<ir::loop::Access(const ir::Dim& row, const ir::Dim& column)>;
  void part(const AxisPart& columns, int64_t lanes, const Place& probability);
  /// What sums are to be multiplied by before the part is added to them, and at last. Of a row of the part.
  int rescaling(const ir::Dim& row);
  int correction(const ir::Dim& row);

 private:
  ir::Dims point_of(const RowsForm::Member& member, const ir::Dim& row, const ir::Dim& column) const;
  int at_least_one(const ir::Dim& row);
  int of_row(int buffer, const ir::Dim& row) { return w_.load({buffer, {row}}); }

  PieceContext& context_;
  const RowsForm& form_;
  const SoftmaxForm& softmax_;
  LoopWriter& w_;
  const ir::Dim rows_, here_;
  int maximum_ = ir::none, total_ = ir::none, rescaling_ = ir::none;
};

}  // namespace axrun::search
