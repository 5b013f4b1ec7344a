#pragma once

#include <span>
#include <vector>

#include "runtime/control/graph_operators.h"

namespace axrun::runtime {

/// Scores of the next token for some rows of tokens.
struct NextScores {
  int64_t rows = 0;
  int64_t vocabulary = 0;
  std::vector<float> scores;  ///< row-major
  std::span<float> row(int64_t r) {
    return {scores.data() + r * vocabulary, static_cast<size_t>(vocabulary)};
  }
};

/// The decoder of a language model (attribute `decoder`; `init_decoder` for the first step where there is
/// one), with its past: a body with inputs input_ids, position_ids, attention_mask, past_0, ... and outputs
/// logits, present_0, ...
class Decoder {
 public:
  /// The first step: `ids` [rows, length] with the mask (1 for what counts) of the same shape.
  Decoder(const ir::Node& node, const RunBody& run_body, const std::vector<int64_t>& ids,
          const std::vector<int64_t>& mask, int64_t rows);

  /// Of the step before.
  NextScores scores() const;
  /// Another step: row r goes on from row `from[r]` of the step before, with the token `ids[r]`.
  void step(const std::vector<int64_t>& from, const std::vector<int64_t>& ids);

 private:
  void run(const ir::Graph& body, const std::vector<int64_t>& ids, const std::vector<int64_t>& positions);
  const ir::Node& node_;
  const RunBody& run_body_;
  int64_t rows_;
  std::vector<std::vector<int64_t>> masks_;  ///< a row each
  std::vector<int64_t> next_positions_;
  RuntimeValue logits_;
  std::vector<RuntimeValue> past_;
};

/// What the inputs and attributes of GreedySearch and BeamSearch say of scores, applied in ONNX Runtime's
/// order.
class ScoreRules {
 public:
  /// `penalty`: number of the input repetition_penalty, which vocab_mask and prefix_vocab_mask follow.
  ScoreRules(const ir::Node& node, const std::vector<RuntimeValue>& inputs, size_t penalty, int64_t eos);
  /// first: whether the sequence is the prompt still. batch: of prefix_vocab_mask.
  void apply(std::span<float> scores, const std::vector<int64_t>& sequence, bool first, int64_t batch) const;

 private:
  double repetition_penalty_ = 1;
  int64_t ngram_ = 0;
  int64_t min_length_ = 0;
  int64_t eos_ = 0;
  std::vector<int64_t> vocabulary_mask_;
  std::vector<int64_t> prefix_mask_;
};

/// Input k as one number; `otherwise` where it is left out.
double number_input(const ir::Node& node, const std::vector<RuntimeValue>& inputs, size_t k,
                    double otherwise);
/// The prompt, [rows, length], and which of its tokens count: input `mask_input`, or those that are not
/// padding.
struct Prompt {
  int64_t rows = 0;
  int64_t length = 0;
  std::vector<int64_t> ids, mask;
  std::vector<int64_t> row(int64_t r) const {
    return {ids.begin() + r * length, ids.begin() + (r + 1) * length};
  }
};
Prompt read_prompt(const ir::Node& node, const std::vector<RuntimeValue>& inputs, size_t mask_input,
                   int64_t padding);
ir::Tensor integers_tensor(const std::vector<int64_t>& values, const ir::Shape& shape);

std::vector<RuntimeValue> run_beam_search(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                          const RunBody& run_body);

}  // namespace axrun::runtime
