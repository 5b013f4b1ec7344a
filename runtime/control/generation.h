#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/control/graph_operators.h"
#include "runtime/random.h"

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

/// What says how the rows of a search may go on.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  /// Of the step before.
  virtual NextScores scores() const = 0;
  /// Another step: row r goes on from row `from[r]` of the step before, with the token `ids[r]`.
  virtual void step(const std::vector<int64_t>& from, const std::vector<int64_t>& ids) = 0;
};

/// The decoder of a language model (attribute `decoder`; `init_decoder` for the first step where there is
/// one), with its past: a body with inputs input_ids, position_ids, attention_mask, past_0, ... and outputs
/// logits, present_0, ...
class Decoder : public LanguageModel {
 public:
  /// The first step: `ids` [rows, length] with the mask (1 for what counts) of the same shape.
  Decoder(const ir::Node& node, const RunBody& run_body, const std::vector<int64_t>& ids,
          const std::vector<int64_t>& mask, int64_t rows);

  NextScores scores() const override;
  void step(const std::vector<int64_t>& from, const std::vector<int64_t>& ids) override;

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

/// Draws tokens for the operator Sampling: from what temperature, presence_penalty and top_p leave of their
/// distribution. The same seed gives the same tokens; they are not those of ONNX Runtime's generator.
class Sampler {
 public:
  Sampler(const ir::Node& node, const std::vector<RuntimeValue>& inputs);
  /// The next token of row `row`, whose scores become what they are drawn by.
  int64_t choose(std::span<float> scores, int64_t row);

 private:
  static constexpr size_t presence_input = 7, seed_input = 8;
  void filter(std::span<float> scores, int64_t row) const;
  Random random_;
  double temperature_, top_p_;
  float filter_value_;
  double presence_penalty_;
  int64_t fewest_;
  bool from_the_top_;  ///< the first tokens with top_p are kept; otherwise the last without 1 - top_p go
  std::vector<int64_t> presence_;
};

/// Input k as one number; `otherwise` where it is left out.
double number_input(const ir::Node& node, const std::vector<RuntimeValue>& inputs, size_t k,
                    double otherwise);
/// Of the last token of every row of `logits` [rows, length, vocabulary], each `copies` times.
NextScores last_scores(const ir::Node& node, const RuntimeValue& logits, int64_t rows, int64_t copies);
/// Elements `rows` of x along an axis.
RuntimeValue picked(const RuntimeValue& x, int axis, const std::vector<int64_t>& rows);

/// Tokens, [rows, length], and which of them count: input `mask_input`, or those that are not padding.
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

/// Whether the node's model has an encoder, too, whose input is then input 0 of the node.
bool has_encoder(const ir::Node& node);
/// Whether that model is of Whisper's form: its encoder reads features [batch, features, frames], and there
/// is no mask of them.
bool is_whisper(const ir::Node& node);
/// What the sequences of a search begin with: the prompt, or what a decoder behind an encoder begins with.
Prompt read_beginning(const ir::Node& node, const std::vector<RuntimeValue>& inputs, size_t mask_input,
                      int64_t padding);
/// The model after its first step, with `beams` rows for each of `beginning`.
std::unique_ptr<LanguageModel> start_model(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                           const RunBody& run_body, size_t mask_input,
                                           const Prompt& beginning, int64_t beams);

// Of models with an encoder (encoder_decoder.cpp).
Prompt read_decoder_beginning(const ir::Node& node, const std::vector<RuntimeValue>& inputs);
std::unique_ptr<LanguageModel> start_encoder_decoder(const ir::Node& node,
                                                     const std::vector<RuntimeValue>& inputs,
                                                     const RunBody& run_body, size_t mask_input,
                                                     const Prompt& beginning, int64_t beams);
ir::Tensor integers_tensor(const std::vector<int64_t>& values, const ir::Shape& shape);

std::vector<RuntimeValue> run_beam_search(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                          const RunBody& run_body);

}  // namespace axrun::runtime
