#include "tests/operators/generators.h"

namespace axrun::runtime {

const std::vector<GeneratorEntry>& all_generators() {
  static const std::vector<GeneratorEntry> table = [] {
    std::vector<GeneratorEntry> rows;
    attention_generators(rows);
    block_quantized_generators(rows);
    contraction_generators(rows);
    convolution_generators(rows);
    elementwise_generators(rows);
    fourier_generators(rows);
    indexing_generators(rows);
    movement_generators(rows);
    normalization_generators(rows);
    quantized_generators(rows);
    recurrent_generators(rows);
    reduction_generators(rows);
    resize_generators(rows);
    transformer_generators(rows);
    tree_generators(rows);
    return rows;
  }();
  return table;
}

}  // namespace axrun::runtime
