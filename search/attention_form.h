#pragma once

#include <vector>

#include "search/product_form.h"
#include "search/rows_form.h"

namespace axrun::search {

/// Whole attention: products of queries and keys, their softmax row by row (or anything else that is worked
/// out from a row of them), and products of that and values. All three pass over the same batches and the
/// same rows, one for each query, so that it can be computed for a few queries at a time.
struct AttentionForm {
  /// An axis that the three have in common.
  struct Shared {
    int scores = ir::none;          ///< axis of the first sum
    int row = ir::none;             ///< of the rows
    int output = ir::none;          ///< axis of the last sum
    int score_dimension = 0;        ///< of what the first product gives
    int probability_dimension = 0;  ///< of what the rows give
  };
  ProductForm scores, output;
  RowsForm rows;
  std::vector<Shared> batch;  ///< in the order of the rows
  Shared query;
  ir::TensorId score_tensor = ir::none, probability_tensor = ir::none;
};

struct FoundAttention {
  bool found = false;
  AttentionForm form;
};
/// Of consecutive stages that are products, rows, and products.
FoundAttention find_attention(const ir::Program& program, const ProductForm& scores, const RowsForm& rows,
                              const ProductForm& output, Range whole);

}  // namespace axrun::search
