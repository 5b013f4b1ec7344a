#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/lane/program.h"

namespace axrun::ir::lane {

/// The grammar of lane programs: what every valid Program satisfies, as a table of named rules.

/// Larger programs are refused.
inline constexpr size_t most_instructions = 4096;

/// One thing that is wrong. `rule` is the id of a row of grammar().
struct Violation {
  std::string_view rule;
  std::string where;  ///< "%7", or the program's name
  std::string text;
};

/// A rule has one predicate, which answers what is wrong, or nothing. Rules are checked in the order of the
/// table, and each may rely on those before it: the first one that is broken ends the check.
struct GrammarRule {
  using Answer = std::optional<std::string>;
  std::string_view id;
  std::string_view description;
  Answer (*instruction)(const Program& program, ValueId id) = nullptr;
  Answer (*program)(const Program& program) = nullptr;
};

const std::vector<GrammarRule>& grammar();

/// All places that break the first broken rule; empty for a valid program.
std::vector<Violation> violations(const Program& program);
/// "%7: argument 1 is ... [argument-types]".
std::string to_string(const Violation& violation);
/// Throws Error(internal) with the first violation: for programs of our own making.
void require_valid(const Program& program);

}  // namespace axrun::ir::lane
