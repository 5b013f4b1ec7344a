#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace axrun::runtime {

/// What WhisperBeamSearch allows as the next token where logits_processor is 1: timestamps come in pairs but
/// for the first one, do not go back, begin within the first second, and are forced where all of them
/// together are more likely than any text (ONNX Runtime's order of the rules).
class TimestampRules {
 public:
  explicit TimestampRules(const ir::Node& node);
  void apply(std::span<float> scores, const std::vector<int64_t>& sequence) const;

 private:
  int64_t eos_, start_, translate_, transcribe_, start_of_model_, none_, first_;
};

}  // namespace axrun::runtime
