#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// The grammar of tensor expressions: what every valid Program satisfies, as a table of named rules. Programs
/// are checked against it wherever they enter or change.

/// One thing that is wrong. `rule` is the id of a row of grammar().
struct Violation {
  std::string_view rule;
  std::string where;  ///< "stage 'y'", "expression 7", ...; steps of scans in front, outermost first
  std::string text;
};

/// Scans nested deeper than this are refused.
inline constexpr int deepest_scan = 16;

/// What a rule may look at besides the program.
struct GrammarContext {
  const Program& program;
  int depth = 0;  ///< number of enclosing scans
};

/// A rule has exactly one predicate, which answers what is wrong, or nothing. Rules of the first layer make
/// sure that ids are in range and that expressions refer to earlier ones; those of the second may rely on it
/// and are only checked where the first layer finds nothing.
struct GrammarRule {
  using Answer = std::optional<std::string>;
  std::string_view id;
  std::string_view description;
  int layer = 2;
  Answer (*expression)(const GrammarContext& context, ExprId id) = nullptr;
  Answer (*tensor)(const GrammarContext& context, TensorId id) = nullptr;
  Answer (*stage)(const GrammarContext& context, const Stage& stage) = nullptr;
  Answer (*program)(const GrammarContext& context) = nullptr;
};

/// Every rule, in the order in which they are checked.
const std::vector<GrammarRule>& grammar();

/// Everything that is wrong; empty for a valid program. Steps of scans are included.
std::vector<Violation> violations(const Program& program);
/// "stage 'y': group 1 ... [groups-in-order]".
std::string to_string(const Violation& violation);
/// Throws Error(internal) with the first violation: for programs of our own making.
void require_valid(const Program& program);

/// Each contributes the rules of its subject; ir/grammar*.cpp.
void expression_rules(std::vector<GrammarRule>& rules);
void stage_rules(std::vector<GrammarRule>& rules);
void program_rules(std::vector<GrammarRule>& rules);

/// The expressions that the roots reach, each once, arguments before users. Needs the first layer.
std::vector<ExprId> reachable(const Program& program, const std::vector<ExprId>& roots);

}  // namespace axrun::ir
