#include "runtime/warm/experience.h"

#include <algorithm>
#include <cmath>

namespace axrun::runtime {
namespace {

constexpr size_t longest_reason = 4096;
/// A step without experience: about what generated kernels spare in the middle, and their alternatives.
constexpr double gain_of_unknown = 0.25, gain_of_unknown_alternative = 0.05;
/// What came to nothing elsewhere is tried all the same, after the rest.
constexpr double least_gain = 0.005;

double spared(double speedup) { return speedup > 1 ? 1 - 1 / speedup : 0; }

bool is_positive(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

const Experience::Trial* Experience::of(std::string_view key) const {
  if (trials.empty()) return nullptr;
  const auto found = trials.find(cache::hash_of({key}));
  return found == trials.end() ? nullptr : &found->second;
}

double expected_gain(const Experience::Trial* trial) {
  if (trial == nullptr) return gain_of_unknown;
  if (trial->state != OptimizedKernel::State::accepted) return least_gain;
  return trial->speedup > 0 ? std::max(least_gain, spared(trial->speedup)) : gain_of_unknown;
}

double expected_gain_of_alternatives(const Experience::Trial* trial) {
  if (trial == nullptr || trial->alternatives_tried == 0) return gain_of_unknown_alternative;
  return trial->rank > 0 ? std::max(least_gain, spared(trial->alternative_speedup)) : least_gain;
}

void write(cache::Writer& out, const Experience& experience) {
  out.put(experience.processor).put(experience.layouts);
  out.put(static_cast<uint32_t>(experience.trials.size()));
  for (const auto& [hash, trial] : experience.trials) {
    for (const uint8_t byte : hash) out.put(byte);
    out.put(trial.state).put(trial.end).put(trial.speedup).put(trial.rank).put(trial.alternatives_tried);
    out.put(trial.alternative_speedup).put(trial.seconds).put(trial.kind);
    out.put(std::string_view(trial.reason).substr(0, longest_reason));
  }
  out.put(static_cast<uint32_t>(experience.joined.size()));
  for (const std::vector<int>& nodes : experience.joined) {
    out.put(static_cast<uint32_t>(nodes.size()));
    for (const int node : nodes) out.put(node);
  }
}

bool read(cache::Reader& in, const ir::Graph& graph, Experience& experience) {
  experience.processor = in.text(longest_reason);
  experience.layouts = in.get<Experience::Layouts>();
  if (experience.layouts > Experience::Layouts::channels_last) in.fail();
  for (size_t left = in.count(62); left > 0; --left) {
    cache::Hash hash;
    for (uint8_t& byte : hash) byte = in.get<uint8_t>();
    Experience::Trial trial;
    trial.state = in.get<OptimizedKernel::State>();
    trial.end = in.get<TriedKernel::End>();
    trial.speedup = in.get<double>();
    trial.rank = in.get<int>();
    trial.alternatives_tried = in.get<int>();
    trial.alternative_speedup = in.get<double>();
    trial.seconds = in.get<double>();
    trial.kind = in.text(longest_reason);
    trial.reason = in.text(longest_reason);
    const auto state = static_cast<int>(trial.state), end = static_cast<int>(trial.end);
    const bool right = state >= 0 && state <= static_cast<int>(OptimizedKernel::State::accepted) &&
                       end >= 0 && end <= static_cast<int>(TriedKernel::End::not_tried) && trial.rank >= 0 &&
                       trial.alternatives_tried >= 0 && is_positive(trial.speedup) &&
                       is_positive(trial.alternative_speedup) && is_positive(trial.seconds);
    if (!right) in.fail();
    if (in.failed()) return false;
    experience.trials.emplace(hash, std::move(trial));
  }
  experience.joined.resize(in.count(4));
  for (std::vector<int>& nodes : experience.joined) {
    nodes.resize(in.count(sizeof(int)));
    for (int& node : nodes) {
      node = in.get<int>();
      if (node < 0 || static_cast<size_t>(node) >= graph.nodes.size()) in.fail();
    }
    // In order, each once: what plans take for granted.
    if (nodes.size() < 2 ||
        std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) != nodes.end())
      in.fail();
    if (in.failed()) return false;
  }
  return !in.failed();
}

}  // namespace axrun::runtime
