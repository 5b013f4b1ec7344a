#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace axrun::search::layouts {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// What it costs that some variables have some options together: one number for every combination, options of
/// the last variable varying fastest. Infinite: not allowed.
struct CostTable {
  std::vector<int> variables;  ///< without repetitions
  std::vector<double> costs;
};

/// To be chosen: one option of every variable, so that all tables together cost least.
struct WeightedChoice {
  std::vector<int> options;  ///< how many every variable has: at least one
  std::vector<CostTable> tables;
};

struct ChoiceLimits {
  size_t table_entries = size_t{1} << 14;  ///< of tables made on the way: larger ones are split
  int64_t visits = 200'000;                ///< of options looked at while searching
};

struct ChosenOptions {
  std::vector<int> options;  ///< per variable
  double cost = 0;
  double bound = 0;    ///< no choice costs less
  int64_t visits = 0;  ///< options looked at
  /// None costs less, but for rounding.
  bool is_best() const;
};

double cost_of(const WeightedChoice& problem, const std::vector<int>& options);

/// Variables are eliminated one by one, those first that leave the smallest tables: leaves of trees, then
/// links of chains. Where a variable connects so many others that their table would be too large, it is taken
/// for several variables that need not agree: what comes out then is less than the truth (mini-buckets;
/// Dechter and Rish, 2003). A depth-first search in the opposite order is led by these bounds (Kask and
/// Dechter, 2001): where nothing was split it goes straight to the best choice; otherwise it looks for better
/// ones until its visits are used up. `start` is improved on: the result costs no more.
ChosenOptions choose(const WeightedChoice& problem, const std::vector<int>& start,
                     const ChoiceLimits& limits = {});

}  // namespace axrun::search::layouts
