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
/// More of them, by what they are about: chosen for being hard, not for being proved.
std::vector<Identity> hard_identities_of_attention();
std::vector<Identity> hard_identities_of_blocks();
std::vector<Identity> hard_identities_of_convolutions();
std::vector<Identity> hard_identities_of_functions();
std::vector<Identity> hard_identities_of_integers();
std::vector<Identity> hard_identities_of_matrices();
std::vector<Identity> hard_identities_of_movement();
std::vector<Identity> hard_identities_of_quantisation();
std::vector<Identity> hard_identities_of_reductions();
/// All that hard_identities_of_* give.
std::vector<Identity> more_hard_identities();
/// Equal, by what integers are in bits.
std::vector<Identity> bit_identities();
/// Not equal: each has inputs and sizes at which the sides differ, or one of them is none.
std::vector<Identity> false_identities();
/// Not equal, some at few values only.
std::vector<Identity> false_bit_identities();

}  // namespace axrun::tests
