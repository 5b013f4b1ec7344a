#pragma once

#include "search/piece.h"
#include "search/pixels_form.h"

namespace axrun::search {

/// What a group of lines of PixelsForm reads, in the cache with what pads it, in the order of the operand.
/// Without pads it is read where it lies.
class PaddedLines {
 public:
  PaddedLines(PieceContext& context, const PixelsForm& form);

  /// Bytes for so many lines of the result; 0 where nothing is copied.
  static int64_t bytes(const PixelsForm& form, int64_t lines);

  /// Copies what `here` lines from `first` on read, at a point of the sum as far as its outer axes go, into a
  /// buffer of the block at hand, which has room for `most`.
  void write(const ir::Dims& point, const ir::Dim& first, const ir::Dim& here, int64_t most);
  /// What the terms at a point of the sum read, whose line is that many lines after the first one.
  int value(const ir::Dims& point, const ir::Dim& first, const ir::Dim& line) const;

 private:
  static bool copies(const PixelsForm& form) { return form.down.guarded || form.along.guarded; }
  static int64_t pitch(int64_t channels);
  static int64_t places(const PixelsForm& form);
  void fill(size_t dimension, ir::Dims& source, ir::Dims& target);
  void places_of_line(size_t dimension, ir::Dims& source, ir::Dims& target);
  ir::loop::LoopKind kind(size_t dimension) const;
  bool joins_channels() const;
  void copy(const ir::Dims& source, const ir::Dims& target);

  PieceContext& context_;
  const PixelsForm& form_;
  const ir::Stage& sum_;
  const ir::Expr& load_;
  LoopWriter& w_;
  ir::Dims point_;  ///< of the sum, at what is copied
  ir::Dim first_line_, lines_read_;
  int buffer_ = ir::none;
};

}  // namespace axrun::search
