#include "tests/verify/identities.h"

namespace axrun::tests {

std::vector<Identity> more_hard_identities() {
  std::vector<Identity> all;
  for (const auto part :
       {hard_identities_of_attention, hard_identities_of_blocks, hard_identities_of_convolutions,
        hard_identities_of_functions, hard_identities_of_integers, hard_identities_of_matrices,
        hard_identities_of_movement, hard_identities_of_quantisation, hard_identities_of_reductions}) {
    const std::vector<Identity> identities = part();
    all.insert(all.end(), identities.begin(), identities.end());
  }
  return all;
}

}  // namespace axrun::tests
