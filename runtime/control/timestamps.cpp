#include "runtime/control/timestamps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/control/graph_operators.h"

namespace axrun::runtime {
namespace {

constexpr float never = std::numeric_limits<float>::lowest();

void forbid(std::span<float> scores, int64_t from, int64_t to) {
  const auto size = static_cast<int64_t>(scores.size());
  for (int64_t k = std::max<int64_t>(from, 0); k < std::min(to, size); ++k) {
    scores[static_cast<size_t>(k)] = never;
  }
}

/// The largest of some scores; the lowest where there are none.
float largest(std::span<const float> scores) {
  return scores.empty() ? never : *std::max_element(scores.begin(), scores.end());
}

/// log of the sum of probabilities whose logarithms those are.
float total(std::span<const float> scores) {
  const float most = largest(scores);
  float sum = 0;
  for (const float score : scores) {
    if (score > never) sum += std::exp(score - most);
  }
  return sum > 0 ? std::log(sum) + most : never;
}

}  // namespace

TimestampRules::TimestampRules(const ir::Node& node)
    : eos_(integer_attribute(node, "eos_token_id", -1)),
      start_(integer_attribute(node, "decoder_start_token_id", -1)),
      translate_(integer_attribute(node, "translate_token_id", -1)),
      transcribe_(integer_attribute(node, "transcribe_token_id", -1)),
      start_of_model_(integer_attribute(node, "start_of_lm_token_id", -1)),
      none_(integer_attribute(node, "no_timestamps_token_id", -1)),
      first_(integer_attribute(node, "beginning_timestamp_token_id", -1)) {
  if (first_ < 0) fail_at(node, "attribute 'beginning_timestamp_token_id' is missing");
}

void TimestampRules::apply(std::span<float> scores, const std::vector<int64_t>& sequence) const {
  const auto size = static_cast<int64_t>(scores.size());
  const auto forbid_one = [&](int64_t token) {
    if (token >= 0) forbid(scores, token, token + 1);
  };
  const auto is_timestamp = [&](int64_t token) { return token >= first_; };
  const auto length = static_cast<int64_t>(sequence.size());
  const auto found = std::find_if(sequence.begin(), sequence.end(), is_timestamp);
  // One past the first timestamp.
  const int64_t begin = found == sequence.end() ? length : found - sequence.begin() + 1;
  forbid_one(none_);
  forbid_one(start_of_model_);
  if (length > begin) {
    for (const int64_t token : {start_, translate_, transcribe_}) forbid_one(token);
  }
  const bool last = length > 0 && is_timestamp(sequence.back());
  const bool before = length <= begin || is_timestamp(sequence[sequence.size() - 2]);
  if (last && before) forbid(scores, first_, size);
  if (last && !before) forbid(scores, 0, eos_);
  const auto newest = std::find_if(sequence.rbegin(), sequence.rend(), is_timestamp);
  if (newest != sequence.rend()) forbid(scores, first_, *newest + (last && !before ? 0 : 1));
  constexpr int64_t latest_beginning = 50;
  if (length == begin) forbid(scores, first_ + latest_beginning + 1, size);
  const auto text = static_cast<size_t>(std::min(first_, size));
  if (total(scores.subspan(text)) > largest(scores.first(text))) forbid(scores, 0, first_);
}

}  // namespace axrun::runtime
