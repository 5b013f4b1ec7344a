// Models of an encoder and a decoder for GreedySearch and BeamSearch (model_type 1, as T5; of BeamSearch also
// 2, as Whisper) and for WhisperBeamSearch (ONNX Runtime's ContribOperators.md and its converters say what
// their bodies look like).
#include <fmt/format.h>

#include <string_view>

#include "ir/error.h"
#include "runtime/control/generation.h"

namespace axrun::runtime {
namespace {

using Values = std::vector<RuntimeValue>;

[[noreturn]] void fail_with(const ir::Node& node, const std::string& text) {
  throw Error(Fault::model, fmt::format("{} '{}': {}", node.op, node.name, text));
}

/// The encoder runs once, with a row for each prompt. Its body:
///   encoder_input_ids, encoder_attention_mask (not Whisper's), decoder_input_ids
///   -> logits, encoder_hidden_states, states of the decoder's layers over its own tokens, states of its
///      layers over the encoder's; or, without decoder_input_ids, the latter only.
/// The decoder runs for every further token (without decoder_input_ids for the first one, too):
///   input_ids, encoder_input_ids (where it is declared, not Whisper's), encoder_attention_mask (not
///   Whisper's), encoder_hidden_states (where it is declared), both kinds of states -> logits, states over
///   its own tokens.
/// States are [rows, heads, length, size]; there are as many over its own tokens as over the encoder's.
class EncoderDecoder : public LanguageModel {
 public:
  EncoderDecoder(const ir::Node& node, const RunBody& run_body, const Values& given, const Prompt& beginning,
                 int64_t beams)
      : node_(node),
        run_body_(run_body),
        encoder_(body_of(node, "encoder")),
        decoder_(body_of(node, "decoder")),
        given_(given),
        batch_(beginning.rows),
        beams_(beams) {
    check_bodies();
    for (int64_t r = 0; r < batch_ * beams_; ++r) {
      sequences_.push_back(beginning.row(r / beams_));
      prompt_of_.push_back(r / beams_);
    }
    encode(beginning);
  }

  NextScores scores() const override { return last_scores(node_, logits_, logits_rows_, logits_copies_); }

  void step(const std::vector<int64_t>& from, const std::vector<int64_t>& ids) override {
    const auto before = sequences_;
    for (size_t r = 0; r < from.size(); ++r) {
      sequences_[r] = before[static_cast<size_t>(from[r])];
      sequences_[r].push_back(ids[r]);
    }
    // What comes of the encoder is the same for all rows of a prompt.
    for (RuntimeValue& state : own_states_) state = picked(state, 0, from);
    decode();
  }

 private:
  bool decoder_input_is(size_t k, std::string_view name) const {
    return k < decoder_.inputs.size() && decoder_.value(decoder_.inputs[k]).name == name;
  }
  /// A decoder that may point at the encoder's tokens reads them.
  bool reads_encoder_ids() const { return given_.size() > 1 && decoder_input_is(1, "encoder_input_ids"); }
  size_t inputs_before_hidden() const { return given_.size() + (reads_encoder_ids() ? 1 : 0); }
  bool reads_hidden() const { return decoder_input_is(inputs_before_hidden(), "encoder_hidden_states"); }
  bool starts_in_encoder() const { return encoder_.inputs.size() > given_.size(); }

  void check_bodies() {
    if (decoder_.outputs.size() < 3 || decoder_.outputs.size() % 2 != 1) {
      fail_with(node_, fmt::format("a decoder of {} outputs; known are those of logits and of keys and "
                                   "values of each layer",
                                   decoder_.outputs.size()));
    }
    states_ = decoder_.outputs.size() - 1;
    const size_t decoder_inputs = inputs_before_hidden() + (reads_hidden() ? 1 : 0) + 2 * states_;
    if (decoder_.inputs.size() != decoder_inputs) {
      throw Error(
          Fault::unsupported,
          fmt::format("{} '{}': a decoder of {} inputs for {} outputs; known are those of {} inputs",
                      node_.op, node_.name, decoder_.inputs.size(), decoder_.outputs.size(), decoder_inputs));
    }
    const bool with_start = encoder_.inputs.size() == given_.size() + 1;
    const bool is_known = with_start ? encoder_.outputs.size() == 2 + 2 * states_
                                     : encoder_.inputs.size() == given_.size() &&
                                           encoder_.outputs.size() == states_ && !reads_hidden();
    if (!is_known) {
      fail_with(node_, fmt::format("an encoder of {} inputs and {} outputs does not fit the decoder",
                                   encoder_.inputs.size(), encoder_.outputs.size()));
    }
  }

  void encode(const Prompt& beginning) {
    Values arguments = given_;
    const ir::Shape shape = {batch_, beginning.length};
    if (starts_in_encoder()) arguments.emplace_back(integers_tensor(beginning.ids, shape));
    Values results(encoder_.outputs.size());
    run_body_(encoder_, arguments, results);
    const size_t first_state = starts_in_encoder() ? 2 : 0;
    for (size_t k = first_state; k < results.size(); ++k) check_state(results[k], batch_);
    for (size_t k = results.size() - states_; k < results.size(); ++k) {
      encoder_states_.push_back(picked(results[k], 0, prompt_of_));
    }
    if (reads_encoder_ids()) encoder_ids_ = picked(given_[0], 0, prompt_of_);
    if (given_.size() > 1) mask_ = picked(given_[1], 0, prompt_of_);
    if (starts_in_encoder()) {
      logits_ = results[0];
      logits_rows_ = batch_;
      logits_copies_ = beams_;
      if (reads_hidden()) {
        check_rows(results[1], batch_);
        hidden_ = picked(results[1], 0, prompt_of_);
      }
      for (size_t k = 0; k < states_; ++k) {
        own_states_.push_back(picked(results[first_state + k], 0, prompt_of_));
      }
      return;
    }
    for (size_t k = 0; k < states_; ++k) {
      const ir::Shape& like = results[k].tensor.shape();
      const ir::Shape none = {batch_ * beams_, like[1], 0, like[3]};
      own_states_.emplace_back(ir::Tensor::allocate(results[k].type, none));
    }
    decode();
  }

  void decode() {
    const auto rows = static_cast<int64_t>(sequences_.size());
    std::vector<int64_t> ids;
    for (const auto& sequence : sequences_) {
      const auto first = reads_all_tokens() ? sequence.begin() : sequence.end() - 1;
      ids.insert(ids.end(), first, sequence.end());
    }
    Values arguments = {RuntimeValue(integers_tensor(ids, {rows, static_cast<int64_t>(ids.size()) / rows}))};
    if (reads_encoder_ids()) arguments.push_back(encoder_ids_);
    if (mask_.present()) arguments.push_back(mask_);
    if (reads_hidden()) arguments.push_back(hidden_);
    arguments.insert(arguments.end(), own_states_.begin(), own_states_.end());
    arguments.insert(arguments.end(), encoder_states_.begin(), encoder_states_.end());
    Values results(decoder_.outputs.size());
    run_body_(decoder_, arguments, results);
    logits_ = results[0];
    logits_rows_ = rows;
    logits_copies_ = 1;
    own_states_.assign(results.begin() + 1, results.end());
    for (const RuntimeValue& state : own_states_) check_state(state, rows);
  }

  /// A decoder whose input_ids are declared with one column gets the last token, others all of them.
  bool reads_all_tokens() const {
    const auto& dims = decoder_.value(decoder_.inputs[0]).dims;
    return dims && dims->size() == 2 && (*dims)[1] != ir::Dim(1);
  }

  void check_rows(const RuntimeValue& x, int64_t rows) const {
    if (x.kind == ir::ValueKind::tensor && x.tensor.defined() && x.tensor.rank() > 0 &&
        x.tensor.shape()[0] == rows) {
      return;
    }
    fail_at(node_, fmt::format("a result of the encoder or the decoder has not {} rows", rows));
  }
  void check_state(const RuntimeValue& x, int64_t rows) const {
    check_rows(x, rows);
    if (x.tensor.rank() != 4) {
      fail_at(node_, fmt::format("states of shape {}; expected are rows, heads, length and size",
                                 ir::to_string(x.tensor.shape())));
    }
  }

  const ir::Node& node_;
  const RunBody& run_body_;
  const ir::Graph& encoder_;
  const ir::Graph& decoder_;
  Values given_;  ///< the encoder's first inputs: ids and mask, or features
  int64_t batch_, beams_;
  size_t states_ = 0;  ///< of either kind
  std::vector<std::vector<int64_t>> sequences_;
  std::vector<int64_t> prompt_of_;  ///< by row
  RuntimeValue logits_, encoder_ids_, mask_, hidden_;
  int64_t logits_rows_ = 0, logits_copies_ = 1;
  Values own_states_, encoder_states_;
};

/// Ids and their mask. Without one only padding before the first token is hidden: what ends a text may be
/// padding, too.
Values ids_and_mask(const ir::Node& node, const Values& inputs, size_t mask_input) {
  const Prompt prompt = read_prompt(node, inputs, mask_input, integer_attribute(node, "pad_token_id", -1));
  std::vector<int64_t> mask = prompt.mask;
  const bool is_given = mask_input < inputs.size() && inputs[mask_input].present();
  for (size_t k = 1; !is_given && k < mask.size(); ++k) {
    const bool is_first = static_cast<int64_t>(k) % prompt.length == 0;
    if (!is_first && mask[k - 1] != 0) mask[k] = 1;
  }
  const ir::Shape shape = {prompt.rows, prompt.length};
  return {RuntimeValue(integers_tensor(prompt.ids, shape)), RuntimeValue(integers_tensor(mask, shape))};
}

}  // namespace

Prompt read_decoder_beginning(const ir::Node& node, const Values& inputs) {
  const size_t rank = is_whisper(node) ? 3 : 2;
  if (inputs.empty() || inputs[0].kind != ir::ValueKind::tensor || !inputs[0].tensor.defined() ||
      static_cast<size_t>(inputs[0].tensor.rank()) != rank || inputs[0].tensor.size() == 0) {
    fail_at(node, fmt::format("the encoder's input must have {} dims and not be empty", rank));
  }
  const int64_t rows = inputs[0].tensor.shape()[0];
  constexpr size_t decoder_ids = 10;
  if (is_whisper(node) && decoder_ids < inputs.size() && inputs[decoder_ids].present()) {
    const ir::Tensor& ids = inputs[decoder_ids].tensor;
    if (ids.rank() != 2 || ids.shape()[0] != rows || ids.size() == 0) {
      fail_at(node, fmt::format("decoder_input_ids of shape {}", ir::to_string(ids.shape())));
    }
    return {rows, ids.shape()[1], ids.to_ints(), {}};
  }
  const int64_t start = integer_attribute(node, "decoder_start_token_id", -1);
  if (start < 0) fail_with(node, "attribute 'decoder_start_token_id' is missing");
  return {rows, 1, std::vector<int64_t>(static_cast<size_t>(rows), start), {}};
}

std::unique_ptr<LanguageModel> start_encoder_decoder(const ir::Node& node, const Values& inputs,
                                                     const RunBody& run_body, size_t mask_input,
                                                     const Prompt& beginning, int64_t beams) {
  const Values given = is_whisper(node) ? Values{inputs[0]} : ids_and_mask(node, inputs, mask_input);
  return std::make_unique<EncoderDecoder>(node, run_body, given, beginning, beams);
}

}  // namespace axrun::runtime
