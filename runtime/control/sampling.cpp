// Sampling of com.microsoft: greedy search that draws the next token from what is left of its distribution
// (ONNX Runtime's ContribOperators.md).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/control/generation.h"

namespace axrun::runtime {
namespace {

double real_attribute(const ir::Node& node, const std::string& name, double otherwise) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  if (found->second.kind != ir::Attribute::Kind::real)
    fail_at(node, "attribute '" + name + "' must be a float");
  return found->second.real;
}

/// Shares of the scores, in their order.
std::vector<double> softmax(std::span<const float> scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  std::vector<double> shares;
  for (const float score : scores) shares.push_back(std::exp(static_cast<double>(score) - most));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

Sampler::Sampler(const ir::Node& node, const std::vector<RuntimeValue>& inputs)
    : random_(static_cast<uint64_t>(number_input(node, inputs, seed_input, 0)), node.name),
      temperature_(real_attribute(node, "temperature", 1)),
      top_p_(real_attribute(node, "top_p", 0)),
      filter_value_(static_cast<float>(real_attribute(node, "filter_value", -1e20))),
      presence_penalty_(real_attribute(node, "presence_penalty", 0)),
      fewest_(integer_attribute(node, "min_tokens_to_keep", 0)),
      from_the_top_(integer_attribute(node, "custom", 0) != 0) {
  if (!(temperature_ > 0)) fail_at(node, "temperature must be positive");
  if (!(top_p_ >= 0 && top_p_ <= 1)) fail_at(node, "top_p must be in 0..1");
  if (fewest_ < 0) fail_at(node, "min_tokens_to_keep must not be negative");
  if (presence_input < inputs.size() && inputs[presence_input].present())
    presence_ = inputs[presence_input].tensor.to_ints();
}

void Sampler::filter(std::span<float> scores, int64_t row) const {
  const auto count = static_cast<int64_t>(scores.size());
  const auto first = static_cast<size_t>(row * count);
  for (size_t v = 0; v < scores.size(); ++v) {
    scores[v] = static_cast<float>(scores[v] / temperature_);
    // ONNX Runtime 1.32 subtracts all of it from the first score of the first row instead.
    if (first + v < presence_.size())
      scores[v] -= static_cast<float>(static_cast<double>(presence_[first + v]) * presence_penalty_);
  }
  const std::vector<double> shares = softmax(scores);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return from_the_top_ ? scores[a] > scores[b] : scores[a] < scores[b];
  });
  double sum = 0;
  if (from_the_top_) {
    // What follows the first ones that have top_p together.
    for (size_t k = 0; k + 1 < order.size(); ++k) {
      sum += shares[order[k]];
      if (sum > top_p_) scores[order[k + 1]] = filter_value_;
    }
    return;
  }
  // The least probable ones that have no more than what top_p leaves.
  for (int64_t k = 0; k < count - fewest_; ++k) {
    const size_t v = order[static_cast<size_t>(k)];
    sum += shares[v];
    if (sum <= 1 - top_p_) scores[v] = filter_value_;
  }
}

int64_t Sampler::choose(std::span<float> scores, int64_t row) {
  filter(scores, row);
  const std::vector<double> shares = softmax(scores);
  double left = random_.uniform();
  size_t last = 0;
  for (size_t v = 0; v < shares.size(); ++v) {
    if (shares[v] <= 0) continue;
    last = v;
    left -= shares[v];
    if (left < 0) break;
  }
  return static_cast<int64_t>(last);
}

}  // namespace axrun::runtime
