#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/loop/loop_program.h"
#include "search/algebra/terms.h"
#include "verify/evidence.h"

namespace axrun::search::algebra {

/// left[k] = right[k] for all values of the variables, of all sizes in their ranges. Several roots share
/// terms: then all of them are replaced at once.
struct Rule {
  std::string id;  ///< its operators and a hash of its text: never another rule's
  Terms terms;
  std::vector<TermId> variables;
  std::vector<TermId> left, right;
  std::vector<ir::loop::Size> sizes;
  verify::Evidence equality;
  verify::Evidence safety;       ///< of the right sides in place of the left ones
  verify::Evidence safety_back;  ///< of the left ones in place of the right ones
  /// This process has asked for the evidence. What a file says of it is a hint: nothing is applied before.
  bool established = false;
  /// Of reductions by parts alone: how parts are joined is no rewrite of what a model has.
  bool of_parts = false;
  std::string origin;  ///< where it was found, for people

  bool usable(bool forward = true) const {
    return established && equality.verdict == verify::Verdict::proved &&
           (forward ? safety : safety_back).verdict == verify::Verdict::proved;
  }
};

/// Sizes up to this one are claimed: index arithmetic of four of them stays within 62 bits.
inline constexpr int64_t largest_size = int64_t{1} << 20;

/// The rule with variables and sizes named in order of appearance, its id and its sizes' ranges: equal up to
/// renaming means equal text. Throws Error where a renamed side is not defined any more.
Rule canonical(const Terms& terms, const std::vector<TermId>& left, const std::vector<TermId>& right);

/// One term. Names of leaves as they are.
std::string print(const Terms& terms, TermId id);
/// Variables, sides: what the id is a hash of.
std::string statement(const Rule& rule);
/// The operators without versions, attributes, ranks and types: what rules of one identity have in common.
std::string skeleton(const Rule& rule);
/// "Mul(MatMul(a, b), c) = MatMul(a, Mul(b, c))": for people.
std::string equation(const Rule& rule);

/// The rule's two sides as expressions over its variables.
struct Sides {
  ir::Program left, right;
};
Sides sides(const Rule& rule);

/// What is known of two sides, and of putting one in the place of the other.
struct IdentityEvidence {
  verify::Evidence equality, safety, safety_back;
};
/// Who decides; nothing where there is no answer at present.
using Prover = std::function<std::optional<IdentityEvidence>(const Sides& sides,
                                                             const std::vector<ir::loop::Size>& sizes)>;
/// In this process, which needs verify/ for it. seconds: for each proof, by the clock; milliseconds: for each
/// question to the solver.
Prover prover_here(double seconds = 10, unsigned milliseconds = 500);

/// Asks for the proofs, for safety only where equality is proved; the rule is established after that, unless
/// there was no answer.
void establish(Rule& rule, const Prover& prover);

/// A rule as text, and back. What is read is checked: operators exist, both sides are defined, agree in types
/// and dims and read variables only, and the id is that of the statement. Its evidence is what the text says,
/// and it is not established. Throws Error(user).
std::string print(const Rule& rule);
Rule parse_rule(ir::text::Scanner& in);

}  // namespace axrun::search::algebra
