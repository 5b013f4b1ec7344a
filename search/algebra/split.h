#pragma once

#include <string>
#include <vector>

#include "search/algebra/rule.h"

namespace axrun::search::algebra {

/// A reduction by parts, of any number and any sizes, as rules say it: a state of each part, how the states
/// of two parts become that of both, and what is made of the last one. By induction over the parts it is the
/// whole: what licenses a loop that carries the state from tile to tile.
struct Split {
  struct Component {
    std::string init;     ///< rule: the component of a single element
    std::string combine;  ///< rule: of two parts, joined
  };
  std::string id;  ///< the operators and a hash of the rules' ids
  std::string of;  ///< what is split, for people
  std::vector<Component> state;
  std::string finish;  ///< rule: what is wanted, of the state; empty where that is a component
  std::string origin;  ///< where it was found, for people
};

/// All of its rules by id: each component's, then the last.
std::vector<std::string> rules_of(const Split& split);

/// The id that these rules make.
std::string id_of(const Split& split);

std::string print(const Split& split);
/// Throws Error(user); whether the rules are there is not looked at.
Split parse_split(ir::text::Scanner& in);

/// What is known of it, from its rules: proved where equality is proved for all of them, usable where besides
/// none is less safe than what it stands for. rules: in the order of rules_of; null ones are missing.
struct SplitStanding {
  bool proved = false, usable = false;
};
std::string_view name_of(const SplitStanding& standing);
SplitStanding standing_of(const std::vector<std::shared_ptr<const Rule>>& rules);

}  // namespace axrun::search::algebra
