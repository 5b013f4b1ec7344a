#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// A few operations of a model and what they are applied to, apart from the model: what identities are sought
/// for.
struct Site {
  struct Argument {
    bool leaf = false;
    size_t index = 0;
  };
  struct Step {
    Operation operation;
    std::vector<ir::Dims> parameters;
    std::vector<Argument> arguments;
  };
  struct Leaf {
    Facts facts;
    std::optional<double> literal;  ///< kept as a number
  };
  std::vector<Leaf> leaves;
  std::vector<Step> steps;    ///< arguments before users
  std::vector<size_t> roots;  ///< of steps

  /// Whether nothing is known of the values in it; text: equal for equal sites.
  std::string text() const;
  /// The roots' terms; empty where they are not defined.
  std::vector<TermId> build(Terms& terms) const;
};

/// The operations `inner` of a model's terms, children first, ending with the roots. Everything else they
/// read is a leaf; numbers are kept where that is asked for.
Site site_of(const Terms& terms, const std::vector<TermId>& inner, size_t roots, bool keep_numbers);

/// The site for as many sizes as it is defined for: numbers become names where the operations do not need
/// them, sizes that need not be equal have names of their own. What a Reshape merges is a product, what a
/// Slice cuts is a sum.
Site generalise(const Site& site);

}  // namespace axrun::search::algebra
