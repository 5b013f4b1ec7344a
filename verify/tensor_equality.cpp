#include "verify/tensor_equality.h"

#include <algorithm>
#include <chrono>

#include "ir/error.h"
#include "ir/grammar.h"
#include "ir/known_scalars.h"
#include "verify/checks.h"
#include "verify/equality/range_safety.h"
#include "verify/equality/refutation.h"
#include "verify/equality/same.h"
#include "verify/loop_nest.h"
#include "verify/unproved.h"

namespace axrun::verify {
namespace {

using equality::Algebra;
using equality::Meaning;
using equality::Same;

/// A difference that is there at some sizes that are claimed.
struct Different {
  std::string text;
};

class EqualityProof {
 public:
  EqualityProof(const ir::Program& left, const ir::Program& right, const ir::loop::LoopProgram& sizes,
                const ProofOptions& options, equality::Witness& witness)
      : left_(left),
        right_(right),
        witness_(witness),
        solver_(terms_, options.solver_milliseconds, options.seconds, options.answers),
        nest_(sizes, terms_) {}

  /// Number of outputs, and of bijections between domains of reductions.
  std::pair<size_t, int> run(bool expand_hyperbolic) {
    if (solver_.satisfiable(nest_.size_facts()) != Answer::yes && checks::on("equality.sizes"))
      throw Unproved{"no size within the claimed ranges is known"};
    Algebra algebra(terms_, solver_, nest_.size_facts());
    algebra.expand_hyperbolic = expand_hyperbolic;
    Meaning left(left_, nest_.sizes(), algebra), right(right_, nest_.sizes(), algebra);
    if (left_.outputs.size() != right_.outputs.size() && checks::on("equality.outputs"))
      throw Different{"the numbers of outputs differ"};
    for (size_t k = 0; k < std::min(left_.operands.size(), right_.operands.size()); ++k) {
      const ir::TensorId a = left_.operands[k], b = right_.operands[k];
      if (a != ir::none && b != ir::none) require_same_form(left, a, right, b, nullptr);
    }
    for (size_t k = 0; k < left_.outputs.size(); ++k)
      require_same_form(left, left_.outputs[k], right, right_.outputs[k], "an output");
    if (checks::on("equality.reads")) {
      left.require_reads_inside();
      right.require_reads_inside();
    }
    Same comparison(algebra);
    for (size_t k = 0; k < left_.outputs.size(); ++k) {
      const ir::TensorId a = left_.outputs[k], b = right_.outputs[k];
      TermList facts = nest_.size_facts(), element;
      for (const Term extent : left.dims(a)) {
        if (extent == terms_.integer(1)) {
          element.push_back(terms_.integer(0));
          continue;
        }
        element.push_back(algebra.variable("x" + std::to_string(element.size()), extent));
        append(facts, algebra.range_of(element.back()));
      }
      if (solver_.impossible(facts)) continue;  // it has no elements
      const equality::Value mine = left.element(a, element), theirs = right.element(b, element);
      const std::string& name = left_.tensors[static_cast<size_t>(a)].name;
      if (!comparison.same(facts, mine.sum, theirs.sum)) {
        witness_ = comparison.witness();
        throw Unproved{name + ": " + comparison.reason()};
      }
      const bool defined = comparison.needs_covered(facts, left, mine, right, theirs) &&
                           comparison.needs_covered(facts, right, theirs, left, mine);
      if (!defined && checks::on("equality.defined")) throw Unproved{name + ": " + comparison.reason()};
    }
    return {left_.outputs.size(), comparison.bijections()};
  }

 private:
  void require_same_form(Meaning& left, ir::TensorId a, Meaning& right, ir::TensorId b, const char* what) {
    const ir::TensorDecl &mine = left_.tensors[static_cast<size_t>(a)],
                         &theirs = right_.tensors[static_cast<size_t>(b)];
    const auto differ = [&](const std::string& how) {
      const std::string text = mine.name + " and " + theirs.name + " differ in " + how;
      if (what != nullptr) throw Different{text};
      throw Unproved{text};
    };
    if (mine.type != theirs.type && checks::on("equality.type")) differ("type");
    if (mine.dims.size() != theirs.dims.size() && checks::on("equality.rank")) differ("rank");
    const TermList x = left.dims(a), y = right.dims(b);
    for (size_t d = 0; d < std::min(x.size(), y.size()) && checks::on("equality.dims"); ++d) {
      if (solver_.implied(nest_.size_facts(), terms_.equal(x[d], y[d]))) continue;
      TermList other = nest_.size_facts();
      other.push_back(terms_.negation(terms_.equal(x[d], y[d])));
      if (solver_.satisfiable(other) == Answer::yes) differ("dim " + std::to_string(d) + " at some sizes");
      throw Unproved{mine.name + " and " + theirs.name + " perhaps differ in dim " + std::to_string(d)};
    }
  }

  const ir::Program& left_;
  const ir::Program& right_;
  equality::Witness& witness_;  ///< where the outputs are perhaps different
  Terms terms_;
  Solver solver_;
  LoopNest nest_;
};

}  // namespace

Evidence prove_equal(const ir::Program& given_left, const ir::Program& given_right,
                     const std::vector<ir::loop::Size>& sizes, const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto evidence = [&](Verdict verdict, const std::string& text) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return Evidence{verdict, text, seconds.count()};
  };
  for (const ir::Program* program : {&given_left, &given_right}) {
    const std::vector<ir::Violation> wrong = ir::violations(*program);
    if (!wrong.empty() && checks::on("equality.grammar"))
      return evidence(Verdict::unknown, "not well-formed: " + ir::to_string(wrong.front()));
  }
  ir::loop::LoopProgram claims;  // of sizes, and nothing else
  claims.sizes = sizes;
  std::map<std::string, ir::Dim> known;
  for (const ir::loop::Size& size : sizes) {
    if (size.low == size.high) known.emplace(size.name, ir::Dim(size.low));
  }
  std::string reason;
  equality::Witness witness;
  try {
    const ir::Program left = ir::with_known_sizes(given_left, known);
    const ir::Program right = ir::with_known_sizes(given_right, known);
    for (const bool expand : {false, true}) {
      if (expand) {
        const auto hyperbolic = [](const ir::Program& program) {
          return std::any_of(program.exprs.begin(), program.exprs.end(), [](const ir::Expr& e) {
            return e.op == ir::ScalarOp::tanh || e.op == ir::ScalarOp::sinh || e.op == ir::ScalarOp::cosh;
          });
        };
        if (!hyperbolic(left) && !hyperbolic(right)) continue;
      }
      try {
        const auto [outputs, bijections] = EqualityProof(left, right, claims, options, witness).run(expand);
        return evidence(Verdict::proved, std::to_string(outputs) + " equal outputs, " +
                                             std::to_string(bijections) + " bijections of reductions");
      } catch (const Unproved& unproved) {
        if (reason.empty()) reason = unproved.reason;
      }
    }
  } catch (const Different& different) {
    return evidence(Verdict::refuted, different.text);
  } catch (const OutOfTime&) {
    reason = "no answer in the time given";
  } catch (const Error& error) {
    reason = error.what();
  }
  if (options.counterexample_seconds > 0) {
    const auto found = equality::executed_difference(given_left, given_right, sizes,
                                                     options.counterexample_seconds, witness);
    if (found) return evidence(Verdict::refuted, *found);
  }
  return evidence(Verdict::unknown, reason);
}

Evidence prove_safe(const ir::Program& original, const ir::Program& rewritten,
                    const std::vector<ir::loop::Size>& sizes, const std::vector<InputRange>& ranges,
                    const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto evidence = [&](Verdict verdict, const std::string& text) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return Evidence{verdict, text, seconds.count()};
  };
  for (const ir::Program* program : {&original, &rewritten}) {
    const std::vector<ir::Violation> wrong = ir::violations(*program);
    if (!wrong.empty() && checks::on("safety.grammar"))
      return evidence(Verdict::unknown, "not well-formed: " + ir::to_string(wrong.front()));
  }
  if (original.outputs.size() != rewritten.outputs.size() && checks::on("safety.outputs"))
    return evidence(Verdict::unknown, "other outputs");
  ir::loop::LoopProgram claims;  // of sizes, and nothing else
  claims.sizes = sizes;
  try {
    Terms terms;
    Solver solver(terms, options.solver_milliseconds, options.seconds, options.answers);
    const LoopNest nest(claims, terms);
    if (solver.satisfiable(nest.size_facts()) != Answer::yes && checks::on("safety.sizes"))
      return evidence(Verdict::unknown, "no size within the claimed ranges is known");
    Algebra algebra(terms, solver, nest.size_facts());
    Meaning before(original, nest.sizes(), algebra), after(rewritten, nest.sizes(), algebra);
    equality::RangeSafety old(original, before, algebra), now(rewritten, after, algebra);
    const size_t operands = std::max(original.operands.size(), rewritten.operands.size());
    for (const equality::Part& part : equality::parts_of(ranges, operands, sizes)) {
      if (const auto why =
              less_safe(old.within(part.ranges, part.sizes), now.within(part.ranges, part.sizes), part))
        return evidence(Verdict::unknown, *why);
    }
    return evidence(Verdict::proved, "nothing goes wrong that did not before");
  } catch (const Unproved& unproved) {
    return evidence(Verdict::unknown, unproved.reason);
  } catch (const OutOfTime&) {
    return evidence(Verdict::unknown, "no answer in the time given");
  } catch (const Error& error) {
    return evidence(Verdict::unknown, error.what());
  }
}

}  // namespace axrun::verify
