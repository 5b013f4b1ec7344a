#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::tests {

/// What a model with random outputs does. `above`: the expansion of Bernoulli that the suites have, whose
/// nodes say that a uniform number above the probability gives 1.
enum class Draws { bernoulli, above, dropout };

/// Whether a model whose first output is Bernoulli's or Dropout's in training (as the suite has them) draws
/// as it should: why not, or empty. Values must be those the operator can give (0 and 1, never against a
/// certain probability; 0 and what is left scaled, the same elements in the mask), and as many as expected
/// within 6 standard deviations. A session draws the same in every run: for the rate the model is loaded
/// again with the first input repeated 1,000 times along its first dimension.
std::string random_mistake(const std::string& model, const runtime::SessionOptions& options, Draws draws,
                           std::vector<runtime::RuntimeValue> inputs);

}  // namespace axrun::tests
