#pragma once

#include <vector>

#include "search/attention_form.h"
#include "search/contraction_plan.h"
#include "search/online_softmax.h"
#include "search/rows.h"

namespace axrun::search {

/// Every decision about attention; the writer only reads it.
struct AttentionPlan {
  ContractionPlan scores, output;
  RowsPlan rows;
  /// Batch by batch and block by block. Otherwise each of the three passes over everything, because their
  /// results are small.
  bool together = true;
  /// Queries at a time: their scores stay in the cache. A multiple of the tiles' rows. 0: all.
  int64_t block = 0;
  /// Keys at a time, a multiple of the tiles' columns: the scores of a block come in parts, and what has been
  /// added up is rescaled whenever a part has a higher one (OnlineSoftmax). 0: all at once.
  int64_t keys = 0;
  int64_t value_lanes = 16;  ///< of vector loops along the values
  SoftmaxForm softmax;       ///< where keys come in parts
  bool spread = false;       ///< the outermost loop, over batches or else blocks, is spread over workers
  size_t first_batch = 0;    ///< the one of the batch axes that is the outermost loop
};
/// All keys at once, or in parts; the one that is expected to take less time first.
std::vector<AttentionPlan> attention_plans(const PieceContext& context, const AttentionForm& form);

/// Writes, batch by batch and block by block of queries, the scores, what becomes of their rows, and the
/// products with the values.
void write_attention(PieceContext& context, const AttentionForm& form, const AttentionPlan& plan);

}  // namespace axrun::search
