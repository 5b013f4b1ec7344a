// A model that is given back what it gave, token by token, in one engine: what perf/decoding times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/host/tensor.h"

namespace axrun::perf {

/// The inputs of a decoding: states, which begin empty along an axis named "past..." and are what the model
/// gave last as "present..." in the same order, and values for each token.
struct DecodedModel {
  explicit DecodedModel(std::vector<InputDeclaration> declared);
  /// Values for a token, its number from 0; states have a shape and no bytes but for the first token.
  std::vector<Tensor> inputs(std::int64_t token) const;

  std::vector<InputDeclaration> declared;
  std::vector<bool> is_state;  ///< per input
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::vector<InputDeclaration> inputs() const = 0;
  /// From now on states are empty again.
  virtual void begin() = 0;
  /// Takes these values, and as states what the last step gave.
  virtual void take(const std::vector<Tensor>& values) = 0;
  /// The model's run alone, on what was taken: may be repeated.
  virtual void run() = 0;
  /// The first output of the last run, which must be of float32.
  virtual std::vector<float> result() const = 0;
};

}  // namespace axrun::perf
