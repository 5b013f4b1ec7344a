// BeamSearch of com.microsoft, as ONNX Runtime and Hugging Face's transformers have it: twice as many
// candidates as beams are looked at, so that those that end leave enough that go on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ir/error.h"
#include "runtime/control/generation.h"
#include "runtime/control/timestamps.h"

namespace axrun::runtime {
namespace {

using Values = std::vector<RuntimeValue>;

struct Hypothesis {
  std::vector<int64_t> tokens;
  float score = 0;
};

/// The best sequences of one prompt that have ended.
struct Finished {
  std::vector<Hypothesis> best;  ///< in falling order of scores
  bool done = false;

  void add(size_t most, float length_penalty, const std::vector<int64_t>& tokens, float log_probability) {
    const float score = log_probability / std::pow(static_cast<float>(tokens.size()), length_penalty);
    const auto after =
        std::find_if(best.begin(), best.end(), [&](const Hypothesis& h) { return h.score < score; });
    best.insert(after, {tokens, score});
    if (best.size() > most) best.pop_back();
  }
};

constexpr size_t mask_input = 9, decoder_ids = 10, logits_processor = 11, temperature = 14;

struct Parameters {
  int64_t longest = 0, beams = 1, returned = 1, eos = -1, padding = -1;
  float length_penalty = 1, temperature = 1;
  bool early_stopping = false;
};

class BeamSearch {
 public:
  BeamSearch(const ir::Node& node, const Values& inputs, const RunBody& run_body)
      : node_(node),
        inputs_(inputs),
        run_body_(run_body),
        rules_(node, inputs, 6, integer_attribute(node, "eos_token_id", -1)) {
    const auto integer = [&](size_t k) { return static_cast<int64_t>(number_input(node, inputs, k, 0)); };
    p_.longest = integer(1);
    p_.beams = integer(3);
    p_.returned = integer(4);
    p_.length_penalty = static_cast<float>(number_input(node, inputs, 5, 1));
    p_.eos = integer_attribute(node, "eos_token_id", -1);
    p_.padding = integer_attribute(node, "pad_token_id", -1);
    p_.early_stopping = integer_attribute(node, "early_stopping", 0) != 0;
    constexpr int64_t most_beams = 4096;
    if (p_.beams < 1 || p_.beams > most_beams || p_.returned < 1 || p_.returned > p_.beams) {
      fail_at(node, fmt::format("{} beams, of which {} are wanted", p_.beams, p_.returned));
    }
    const bool has_whispers_inputs = node.op == "WhisperBeamSearch";
    for (size_t k = decoder_ids; k < inputs.size(); ++k) {
      const bool is_known =
          (k == decoder_ids && is_whisper(node)) || (k == temperature && has_whispers_inputs);
      const double value = k == logits_processor ? number_input(node, inputs, k, 0) : -1;
      const bool has_timestamps = has_whispers_inputs && value == 1;
      if (has_timestamps) timestamps_.emplace(node);
      const bool is_neutral = value == 0 || has_timestamps;
      if (inputs[k].present() && !is_known && !is_neutral)
        throw Error(Fault::unsupported, fmt::format("{} '{}': input {}", node.op, node.name, k));
    }
    p_.temperature = static_cast<float>(number_input(node, inputs, temperature, 1));
    if (!(p_.temperature > 0)) fail_at(node, "temperature must be positive");
    prompt_ = read_beginning(node, inputs, mask_input, p_.padding);
    if (p_.longest <= prompt_.length)
      fail_at(node, fmt::format("max_length {} leaves nothing to generate", p_.longest));
  }

  Values run() {
    for (int64_t row = 0; row < prompt_.rows * p_.beams; ++row) {
      sequences_.push_back(prompt_.row(row / p_.beams));
      totals_.push_back(row % p_.beams == 0 ? 0.0f : -1e9f);
    }
    finished_.resize(static_cast<size_t>(prompt_.rows));
    const auto model = start_model(node_, inputs_, run_body_, mask_input, prompt_, p_.beams);
    for (int64_t length = prompt_.length; length < p_.longest; ++length) {
      choose(model->scores(), length == prompt_.length);
      if (std::all_of(finished_.begin(), finished_.end(), [](const Finished& f) { return f.done; })) break;
      if (length + 1 < p_.longest) model->step(from_, chosen_);
    }
    return results();
  }

 private:
  /// Every row's scores plus what its beam has so far; then the beams that go on.
  void choose(NextScores next, bool first) {
    for (int64_t r = 0; r < next.rows; ++r) {
      const auto scores = next.row(r);
      const float largest = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (const float score : scores) total += std::exp(static_cast<double>(score - largest));
      const auto shift = static_cast<float>(std::log(total)) + largest;
      for (float& score : scores) score -= shift;
      rules_.apply(scores, sequences_[static_cast<size_t>(r)], first, r / p_.beams);
      for (float& score : scores) score /= p_.temperature;
      if (timestamps_) timestamps_->apply(scores, sequences_[static_cast<size_t>(r)]);
      for (float& score : scores) score += totals_[static_cast<size_t>(r)];
    }
    vocabulary_ = next.vocabulary;
    if (node_.outputs.size() > 2) steps_.insert(steps_.end(), next.scores.begin(), next.scores.end());
    from_.clear();
    chosen_.clear();
    std::vector<float> totals;
    for (int64_t batch = 0; batch < prompt_.rows; ++batch) choose_of(batch, next, totals);
    std::vector<std::vector<int64_t>> sequences;
    for (size_t r = 0; r < from_.size(); ++r) {
      sequences.push_back(sequences_[static_cast<size_t>(from_[r])]);
      sequences.back().push_back(chosen_[r]);
    }
    sequences_ = std::move(sequences);
    totals_ = std::move(totals);
  }

  void choose_of(int64_t batch, const NextScores& next, std::vector<float>& totals) {
    Finished& finished = finished_[static_cast<size_t>(batch)];
    const int64_t first = batch * p_.beams;
    if (finished.done) {
      for (int64_t beam = 0; beam < p_.beams; ++beam) {
        from_.push_back(first);
        chosen_.push_back(p_.padding);
        totals.push_back(0);
      }
      return;
    }
    const float* scores = next.scores.data() + first * next.vocabulary;
    std::vector<int64_t> order(static_cast<size_t>(p_.beams * next.vocabulary));
    std::iota(order.begin(), order.end(), 0);
    const size_t looked_at = std::min(order.size(), static_cast<size_t>(2 * p_.beams));
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(looked_at), order.end(),
        [&](int64_t a, int64_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    const size_t wanted = totals.size() + static_cast<size_t>(p_.beams);
    for (size_t k = 0; k < looked_at && totals.size() < wanted; ++k) {
      const int64_t row = first + order[k] / next.vocabulary, token = order[k] % next.vocabulary;
      if (token != p_.eos) {
        from_.push_back(row);
        chosen_.push_back(token);
        totals.push_back(scores[order[k]]);
      } else if (k < static_cast<size_t>(p_.beams)) {
        finished.add(static_cast<size_t>(p_.beams), p_.length_penalty, sequences_[static_cast<size_t>(row)],
                     scores[order[k]]);
      }
    }
    if (totals.size() < wanted) fail_at(node_, "the vocabulary is too small for so many beams");
    if (finished.best.size() < static_cast<size_t>(p_.beams)) return;
    // Whether a sequence that goes on could still be better than the worst of those that ended.
    const auto length = static_cast<float>(sequences_[static_cast<size_t>(first)].size());
    const float best = scores[order[0]] / std::pow(length, p_.length_penalty);
    finished.done = p_.early_stopping || finished.best.back().score >= best;
  }

  Values results() {
    const int64_t returned = prompt_.rows * p_.returned;
    std::vector<int64_t> tokens;
    ir::Tensor scores = ir::Tensor::allocate(ir::ElementType::f32, {prompt_.rows, p_.returned});
    for (int64_t batch = 0; batch < prompt_.rows; ++batch) {
      Finished& finished = finished_[static_cast<size_t>(batch)];
      for (int64_t beam = 0; !finished.done && beam < p_.beams; ++beam) {
        const auto row = static_cast<size_t>(batch * p_.beams + beam);
        finished.add(static_cast<size_t>(p_.beams), p_.length_penalty, sequences_[row], totals_[row]);
      }
      for (int64_t k = 0; k < p_.returned; ++k) {
        Hypothesis& one = finished.best.at(static_cast<size_t>(k));
        one.tokens.resize(static_cast<size_t>(p_.longest), p_.padding);
        tokens.insert(tokens.end(), one.tokens.begin(), one.tokens.end());
        scores.set_real(batch * p_.returned + k, one.score);
      }
    }
    AXRUN_ASSERT(static_cast<int64_t>(tokens.size()) == returned * p_.longest);
    Values all = {RuntimeValue(integers_tensor(tokens, {prompt_.rows, p_.returned, p_.longest})),
                  RuntimeValue(std::move(scores))};
    if (node_.outputs.size() > 2) {
      ir::Tensor steps = ir::Tensor::allocate(
          ir::ElementType::f32, {p_.longest - prompt_.length, prompt_.rows, p_.beams, vocabulary_});
      std::copy(steps_.begin(), steps_.end(), steps.as<float>());
      all.emplace_back(std::move(steps));
    }
    return all;
  }

  const ir::Node& node_;
  const Values& inputs_;
  const RunBody& run_body_;
  ScoreRules rules_;
  std::optional<TimestampRules> timestamps_;
  Parameters p_;
  Prompt prompt_;
  std::vector<std::vector<int64_t>> sequences_;  ///< a row for every beam of every prompt
  std::vector<float> totals_;
  std::vector<Finished> finished_;
  std::vector<int64_t> from_, chosen_;
  std::vector<float> steps_;
  int64_t vocabulary_ = 0;
};

}  // namespace

Values run_beam_search(const ir::Node& node, const Values& inputs, const RunBody& run_body) {
  return BeamSearch(node, inputs, run_body).run();
}

}  // namespace axrun::runtime
