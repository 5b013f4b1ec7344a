#pragma once

#include <string>
#include <vector>

namespace axrun::tests {

/// Two lists of terms (operator_terms.h) over the same inputs. All sizes are from 1 to 64.
struct Identity {
  std::string name, inputs, left, right;
};

/// Equal for all inputs and sizes.
std::vector<Identity> true_identities();
/// Also equal, by more than one law, or by ones that the prover may not have: it must refute none.
std::vector<Identity> hard_identities();
/// Equal, by what integers are in bits.
std::vector<Identity> bit_identities();
/// Not equal: each has inputs and sizes at which the sides differ, or one of them is none.
std::vector<Identity> false_identities();
/// Not equal, some at few values only.
std::vector<Identity> false_bit_identities();

}  // namespace axrun::tests
