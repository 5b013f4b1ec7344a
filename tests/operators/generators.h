#pragma once

#include <string_view>
#include <vector>

#include "tests/operators/case.h"

namespace axrun::runtime {

constexpr std::string_view microsoft = "com.microsoft";

/// Draws a node (or a chain that starts with one) of an operator, valid, and mostly of the kind that kernels
/// cover.
struct GeneratorEntry {
  std::string_view domain;
  std::string_view op;
  Case (*draw)(Random& random);
};

// One function per file.
void attention_generators(std::vector<GeneratorEntry>& table);
void block_quantized_generators(std::vector<GeneratorEntry>& table);
void contraction_generators(std::vector<GeneratorEntry>& table);
void convolution_generators(std::vector<GeneratorEntry>& table);
void elementwise_generators(std::vector<GeneratorEntry>& table);
void fourier_generators(std::vector<GeneratorEntry>& table);
void indexing_generators(std::vector<GeneratorEntry>& table);
void movement_generators(std::vector<GeneratorEntry>& table);
void normalization_generators(std::vector<GeneratorEntry>& table);
void quantized_generators(std::vector<GeneratorEntry>& table);
void recurrent_generators(std::vector<GeneratorEntry>& table);
void reduction_generators(std::vector<GeneratorEntry>& table);
void resize_generators(std::vector<GeneratorEntry>& table);
void transformer_generators(std::vector<GeneratorEntry>& table);
void tree_generators(std::vector<GeneratorEntry>& table);

const std::vector<GeneratorEntry>& all_generators();

/// Numbers that round to bytes the same way whatever is lost on the way: their range is 255 times a power of
/// two, and none but its ends is near the middle between two bytes, or near a byte.
ir::Tensor between_bytes(Random& random, const ir::Shape& shape);

/// LSTM, GRU or RNN of these sizes with any of the optional inputs and attributes that kernels cover.
struct RecurrentSizes {
  int64_t length, batch, input, hidden;
};
Case draw_recurrent(Random& random, std::string_view op, const RecurrentSizes& sizes);
/// DynamicQuantizeLSTM, likewise. With one step, kernel and expression agree as other operators do; with
/// more, some states round to other bytes.
Case draw_quantized_lstm(Random& random, const RecurrentSizes& sizes);

}  // namespace axrun::runtime
