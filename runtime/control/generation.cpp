// What GreedySearch, Sampling and BeamSearch of com.microsoft share, and the first two (ONNX Runtime's
// ContribOperators.md).
#include "runtime/control/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

using Values = std::vector<RuntimeValue>;
constexpr size_t own_inputs = 3;  ///< of a decoder's body: ids, positions, mask

const ir::Graph& decoder_of(const ir::Node& node, bool first) {
  const bool own = first && node.attributes.count("init_decoder") > 0;
  const ir::Graph& body = body_of(node, own ? "init_decoder" : "decoder");
  if (body.inputs.size() < own_inputs || body.outputs.size() != body.inputs.size() - own_inputs + 1) {
    throw Error(Fault::unsupported,
                fmt::format("{} '{}': a decoder of {} inputs and {} outputs; known are those of input_ids, "
                            "position_ids, attention_mask and past states",
                            node.op, node.name, body.inputs.size(), body.outputs.size()));
  }
  return body;
}

/// No states yet: what input k declares, (2, batch, heads, 0, size of a head).
RuntimeValue no_past(const ir::Node& node, const ir::Graph& body, size_t k, int64_t rows) {
  const ir::Value& value = body.value(body.inputs[k]);
  constexpr size_t rank = 5, heads = 2, size = 4;
  if (!value.dims || value.dims->size() != rank || !(*value.dims)[heads].is_constant() ||
      !(*value.dims)[size].is_constant()) {
    throw Error(Fault::model,
                fmt::format("{} '{}': input '{}' of the decoder must be [2, batch, heads, length, size] "
                            "with known heads and size",
                            node.op, node.name, value.name));
  }
  const ir::Shape shape = {2, rows, (*value.dims)[heads].value(), 0, (*value.dims)[size].value()};
  return RuntimeValue(ir::Tensor::allocate(value.type, shape));
}

}  // namespace

ir::Tensor integers_tensor(const std::vector<int64_t>& values, const ir::Shape& shape) {
  ir::Tensor tensor = ir::Tensor::allocate(ir::ElementType::i32, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

double number_input(const ir::Node& node, const Values& inputs, size_t k, double otherwise) {
  if (k >= inputs.size() || !inputs[k].present()) return otherwise;
  if (inputs[k].kind != ir::ValueKind::tensor || inputs[k].tensor.size() != 1) {
    fail_at(node, fmt::format("input {} must be one number", k));
  }
  return inputs[k].tensor.get_real(0);
}

NextScores last_scores(const ir::Node& node, const RuntimeValue& logits, int64_t rows, int64_t copies) {
  const ir::Tensor& x = logits.tensor;
  if (logits.kind != ir::ValueKind::tensor || !x.defined() || x.rank() != 3 || x.shape()[0] != rows ||
      x.size() == 0) {
    fail_at(node, fmt::format("logits of shape {} for {} rows",
                              x.defined() ? ir::to_string(x.shape()) : "no tensor", rows));
  }
  const int64_t length = x.shape()[1], vocabulary = x.shape()[2];
  NextScores next{rows * copies, vocabulary, {}};
  next.scores.reserve(static_cast<size_t>(next.rows * vocabulary));
  for (int64_t r = 0; r < next.rows; ++r) {
    const int64_t first = (r / copies * length + length - 1) * vocabulary;
    for (int64_t v = 0; v < vocabulary; ++v) {
      next.scores.push_back(static_cast<float>(x.get_real(first + v)));
    }
  }
  return next;
}

RuntimeValue picked(const RuntimeValue& x, int axis, const std::vector<int64_t>& rows) {
  std::vector<ir::Tensor> parts;
  parts.reserve(rows.size());
  for (const int64_t row : rows) parts.push_back(take(x.tensor, axis, row, true));
  return {concatenate(parts, axis), x.type};
}

Prompt read_prompt(const ir::Node& node, const Values& inputs, size_t mask_input, int64_t padding) {
  if (inputs.empty() || inputs[0].tensor.rank() != 2 || inputs[0].tensor.size() == 0) {
    fail_at(node, "input_ids must be [batch, length] and not empty");
  }
  Prompt prompt;
  prompt.rows = inputs[0].tensor.shape()[0];
  prompt.length = inputs[0].tensor.shape()[1];
  prompt.ids = inputs[0].tensor.to_ints();
  if (mask_input < inputs.size() && inputs[mask_input].present()) {
    if (inputs[mask_input].tensor.shape() != inputs[0].tensor.shape()) {
      fail_at(node, "attention_mask does not fit input_ids");
    }
    prompt.mask = inputs[mask_input].tensor.to_ints();
  } else {
    for (const int64_t id : prompt.ids) prompt.mask.push_back(id == padding ? 0 : 1);
  }
  return prompt;
}

namespace {
int64_t model_type(const ir::Node& node) {
  return integer_attribute(node, "model_type", node.op == "WhisperBeamSearch" ? 2 : 0);
}
}  // namespace

bool has_encoder(const ir::Node& node) { return model_type(node) != 0; }
bool is_whisper(const ir::Node& node) { return model_type(node) == 2; }

Prompt read_beginning(const ir::Node& node, const Values& inputs, size_t mask_input, int64_t padding) {
  return has_encoder(node) ? read_decoder_beginning(node, inputs)
                           : read_prompt(node, inputs, mask_input, padding);
}

std::unique_ptr<LanguageModel> start_model(const ir::Node& node, const Values& inputs,
                                           const RunBody& run_body, size_t mask_input,
                                           const Prompt& beginning, int64_t beams) {
  if (has_encoder(node)) return start_encoder_decoder(node, inputs, run_body, mask_input, beginning, beams);
  std::vector<int64_t> ids, mask;
  for (int64_t r = 0; r < beginning.rows * beams; ++r) {
    const auto first = r / beams * beginning.length;
    ids.insert(ids.end(), beginning.ids.begin() + first, beginning.ids.begin() + first + beginning.length);
    mask.insert(mask.end(), beginning.mask.begin() + first,
                beginning.mask.begin() + first + beginning.length);
  }
  return std::make_unique<Decoder>(node, run_body, ids, mask, beginning.rows * beams);
}

// The decoder
// ---------------------------------------------------------------------------------------------------------

Decoder::Decoder(const ir::Node& node, const RunBody& run_body, const std::vector<int64_t>& ids,
                 const std::vector<int64_t>& mask, int64_t rows)
    : node_(node), run_body_(run_body), rows_(rows) {
  const int64_t length = static_cast<int64_t>(ids.size()) / rows;
  std::vector<int64_t> positions(ids.size(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    masks_.emplace_back(mask.begin() + r * length, mask.begin() + (r + 1) * length);
    int64_t next = 0;
    for (int64_t k = r * length; k < (r + 1) * length; ++k) {
      if (mask[static_cast<size_t>(k)] != 0) positions[static_cast<size_t>(k)] = next++;
    }
    next_positions_.push_back(next);
  }
  const ir::Graph& body = decoder_of(node, true);
  for (size_t k = own_inputs; k < body.inputs.size(); ++k) past_.push_back(no_past(node, body, k, rows));
  run(body, ids, positions);
}

void Decoder::run(const ir::Graph& body, const std::vector<int64_t>& ids,
                  const std::vector<int64_t>& positions) {
  const int64_t length = static_cast<int64_t>(ids.size()) / rows_;
  std::vector<int64_t> mask;
  for (const auto& row : masks_) mask.insert(mask.end(), row.begin(), row.end());
  Values arguments = {RuntimeValue(integers_tensor(ids, {rows_, length})),
                      RuntimeValue(integers_tensor(positions, {rows_, length})),
                      RuntimeValue(integers_tensor(mask, {rows_, static_cast<int64_t>(masks_[0].size())}))};
  if (past_.size() + own_inputs != body.inputs.size()) fail_at(node_, "the decoders differ in their inputs");
  arguments.insert(arguments.end(), past_.begin(), past_.end());
  Values results(body.outputs.size());
  run_body_(body, arguments, results);
  logits_ = results[0];
  past_.assign(results.begin() + 1, results.end());
}

NextScores Decoder::scores() const { return last_scores(node_, logits_, rows_, 1); }

void Decoder::step(const std::vector<int64_t>& from, const std::vector<int64_t>& ids) {
  std::vector<int64_t> identity(from.size());
  for (size_t r = 0; r < from.size(); ++r) identity[r] = static_cast<int64_t>(r);
  if (from != identity) {
    const auto masks = masks_;
    const auto positions = next_positions_;
    for (size_t r = 0; r < from.size(); ++r) {
      masks_[r] = masks[static_cast<size_t>(from[r])];
      next_positions_[r] = positions[static_cast<size_t>(from[r])];
    }
    for (RuntimeValue& state : past_) state = picked(state, 1, from);
  }
  std::vector<int64_t> positions;
  for (size_t r = 0; r < from.size(); ++r) {
    masks_[r].push_back(1);
    positions.push_back(next_positions_[r]++);
  }
  run(decoder_of(node_, false), ids, positions);
}

// Scores
// ---------------------------------------------------------------------------------------------------------

ScoreRules::ScoreRules(const ir::Node& node, const Values& inputs, size_t penalty, int64_t eos)
    : repetition_penalty_(number_input(node, inputs, penalty, 1)),
      ngram_(integer_attribute(node, "no_repeat_ngram_size", 0)),
      min_length_(static_cast<int64_t>(number_input(node, inputs, 2, 0))),
      eos_(eos) {
  if (!(repetition_penalty_ > 0)) fail_at(node, "repetition_penalty must be positive");
  const auto mask = [&](size_t k) {
    return k < inputs.size() && inputs[k].present() ? inputs[k].tensor.to_ints() : std::vector<int64_t>();
  };
  vocabulary_mask_ = mask(penalty + 1);
  prefix_mask_ = mask(penalty + 2);
}

void ScoreRules::apply(std::span<float> scores, const std::vector<int64_t>& sequence, bool first,
                       int64_t batch) const {
  constexpr float never = std::numeric_limits<float>::lowest();
  const auto known = [&](int64_t id) { return id >= 0 && id < static_cast<int64_t>(scores.size()); };
  if (repetition_penalty_ != 1) {
    const auto penalty = static_cast<float>(repetition_penalty_);
    for (const int64_t id : std::set<int64_t>(sequence.begin(), sequence.end())) {
      if (!known(id)) continue;
      float& score = scores[static_cast<size_t>(id)];
      score = score < 0 ? score * penalty : score / penalty;
    }
  }
  const auto length = static_cast<int64_t>(sequence.size());
  if (ngram_ > 0 && length >= ngram_) {
    const auto prefix = sequence.end() - (ngram_ - 1);
    for (int64_t k = 0; k + ngram_ <= length; ++k) {
      const int64_t next = sequence[static_cast<size_t>(k + ngram_ - 1)];
      if (std::equal(prefix, sequence.end(), sequence.begin() + k) && known(next)) {
        scores[static_cast<size_t>(next)] = never;
      }
    }
  }
  for (size_t v = 0; v < scores.size() && v < vocabulary_mask_.size(); ++v) {
    if (vocabulary_mask_[v] == 0) scores[v] = never;
  }
  const size_t start = static_cast<size_t>(batch) * scores.size();
  for (size_t v = 0; first && v < scores.size() && start + v < prefix_mask_.size(); ++v) {
    if (prefix_mask_[start + v] == 0) scores[v] = never;
  }
  if (length < min_length_ && known(eos_)) scores[static_cast<size_t>(eos_)] = never;
}

// Greedy search, and sampling
// ---------------------------------------------------------------------------------------------------------

namespace {

Values run_greedy_search(const ir::Node& node, const Values& inputs, const RunBody& run_body) {
  constexpr size_t penalty = 3, mask = 6;
  const int64_t eos = integer_attribute(node, "eos_token_id", -1);
  const int64_t padding = integer_attribute(node, "pad_token_id", -1);
  const Prompt prompt = read_beginning(node, inputs, mask, padding);
  const auto most = static_cast<int64_t>(number_input(node, inputs, 1, 0));
  if (most <= prompt.length) fail_at(node, fmt::format("max_length {} leaves nothing to generate", most));
  const ScoreRules rules(node, inputs, penalty, eos);
  std::optional<Sampler> sampler;
  if (node.op == "Sampling") sampler.emplace(node, inputs);
  NextScores next;
  std::vector<std::vector<int64_t>> sequences;
  std::vector<int64_t> same(static_cast<size_t>(prompt.rows));
  for (int64_t r = 0; r < prompt.rows; ++r) {
    sequences.push_back(prompt.row(r));
    same[static_cast<size_t>(r)] = r;
  }
  std::vector<bool> done(sequences.size(), false);
  const auto model = start_model(node, inputs, run_body, mask, prompt, 1);
  for (int64_t length = prompt.length; length < most; ++length) {
    next = model->scores();
    std::vector<int64_t> ids;
    for (int64_t r = 0; r < prompt.rows; ++r) {
      const auto row = static_cast<size_t>(r);
      rules.apply(next.row(r), sequences[row], length == prompt.length, r);
      const auto scores = next.row(r);
      const int64_t best = sampler ? sampler->choose(scores, r)
                                   : std::max_element(scores.begin(), scores.end()) - scores.begin();
      // What ends a sequence is not part of it.
      if (best == eos) done[row] = true;
      ids.push_back(done[row] ? padding : best);
      sequences[row].push_back(ids.back());
    }
    if (std::find(done.begin(), done.end(), false) == done.end()) break;
    if (length + 1 < most) model->step(same, ids);
  }
  std::vector<int64_t> all;
  for (auto& sequence : sequences) {
    sequence.resize(static_cast<size_t>(most), padding);
    all.insert(all.end(), sequence.begin(), sequence.end());
  }
  Values results = {RuntimeValue(integers_tensor(all, {prompt.rows, most}))};
  if (sampler && node.outputs.size() > 1) {
    // What the last tokens were drawn by.
    ir::Tensor filtered = ir::Tensor::allocate(ir::ElementType::f32, {prompt.rows, next.vocabulary});
    std::copy(next.scores.begin(), next.scores.end(), filtered.as<float>());
    results.emplace_back(filtered);
  }
  return results;
}

}  // namespace

Values run_text_generation(const ir::Node& node, const Values& inputs, const RunBody& run_body) {
  return node.op == "GreedySearch" || node.op == "Sampling" ? run_greedy_search(node, inputs, run_body)
                                                            : run_beam_search(node, inputs, run_body);
}

}  // namespace axrun::runtime
