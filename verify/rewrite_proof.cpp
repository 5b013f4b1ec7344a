#include "verify/rewrite_proof.h"

#include "ir/cheaper_scalars.h"
#include "ir/error.h"
#include "ir/grammar.h"
#include "ir/known_scalars.h"
#include "verify/checks.h"
#include "verify/expression_values.h"
#include "verify/loop_nest.h"
#include "verify/same_value.h"
#include "verify/unproved.h"

namespace axrun::verify {
namespace {

class Rewrite {
 public:
  Rewrite(const ir::Program& original, const ir::Program& rewritten, const ir::loop::LoopProgram& sizes,
          const ProofOptions& options)
      : original_(original),
        rewritten_(rewritten),
        solver_(terms_, options.solver_milliseconds, options.seconds, options.answers),
        nest_(sizes, terms_) {}

  /// Number of outputs and reductions that were compared.
  int run() {
    if (solver_.satisfiable(nest_.size_facts()) != Answer::yes && checks::on("rewrites.sizes"))
      throw Unproved{"no size within the claimed ranges is known"};
    if (original_.outputs.size() != rewritten_.outputs.size() && checks::on("rewrites.outputs"))
      throw Unproved{"the expressions have different outputs"};
    std::map<ir::TensorId, MergedDims> inputs;
    for (size_t k = 0; k < rewritten_.operands.size(); ++k) {
      const ir::TensorId id = rewritten_.operands[k];
      if (id == ir::none) continue;  // not needed, or a read of it by the original finds no counterpart
      if (k >= original_.operands.size() || original_.operands[k] == ir::none) {
        if (checks::on("rewrites.operands")) throw Unproved{"there is an operand more than in the original"};
        continue;
      }
      inputs.emplace(original_.operands[k], merged(original_.operands[k], id));
    }
    ExpressionValues before(original_, nest_.sizes(), terms_, std::move(inputs));
    ExpressionValues after(rewritten_, nest_.sizes(), terms_, {});
    SameValue comparison(terms_, solver_, nest_.size_facts());
    for (size_t k = 0; k < original_.outputs.size(); ++k) {
      const ir::TensorId a = original_.outputs[k], b = rewritten_.outputs[k];
      const MergedDims dims = merged(a, b);
      TermList facts = nest_.size_facts(), element;
      for (const Term extent : terms_of(terms_, tensor(rewritten_, b).dims, nest_.sizes())) {
        element.push_back(terms_.variable("x" + std::to_string(element.size()), terms_.magnitude(extent)));
        facts.push_back(terms_.at_least(element.back(), terms_.integer(0)));
        facts.push_back(terms_.less(element.back(), extent));
      }
      if (!comparison.same(facts, before.element(a, dims.split(terms_, element)), after.element(b, element)))
        throw Unproved{tensor(original_, a).name + ": " + comparison.reason()};
    }
    if (!comparison.recurrences_hold()) throw Unproved{"a recurrence: " + comparison.reason()};
    return static_cast<int>(original_.outputs.size()) + comparison.reductions();
  }

 private:
  static const ir::TensorDecl& tensor(const ir::Program& program, ir::TensorId id) {
    return program.tensors[static_cast<size_t>(id)];
  }

  MergedDims merged(ir::TensorId a, ir::TensorId b) {
    const ir::TensorDecl &mine = tensor(original_, a), &theirs = tensor(rewritten_, b);
    if (mine.type != theirs.type && checks::on("rewrites.type"))
      throw Unproved{mine.name + " and " + theirs.name + " differ in type"};
    auto found = MergedDims::find(terms_, terms_of(terms_, mine.dims, nest_.sizes()),
                                  terms_of(terms_, theirs.dims, nest_.sizes()));
    if (!found) throw Unproved{"the dims of " + theirs.name + " are not those of " + mine.name + ", merged"};
    return *found;
  }

  const ir::Program& original_;
  const ir::Program& rewritten_;
  Terms terms_;
  Solver solver_;
  LoopNest nest_;
};

}  // namespace

Evidence prove_rewrite(const ir::Program& original, const ir::Program& rewritten,
                       const std::vector<ir::loop::Size>& sizes, const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto evidence = [&](Verdict verdict, const std::string& text) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return Evidence{verdict, text, seconds.count()};
  };
  for (const ir::Program* program : {&original, &rewritten}) {
    const std::vector<ir::Violation> wrong = ir::violations(*program);
    if (!wrong.empty() && checks::on("rewrites.grammar"))
      return evidence(Verdict::unknown, "not well-formed: " + ir::to_string(wrong.front()));
  }
  ir::loop::LoopProgram claims;  // of sizes, and nothing else
  claims.sizes = sizes;
  // A size that is claimed for one value is that value.
  std::map<std::string, ir::Dim> known;
  for (const ir::loop::Size& size : sizes) {
    if (size.low == size.high) known.emplace(size.name, ir::Dim(size.low));
  }
  try {
    // Powers and quotients with literals have one form on both sides: equal values, to the bit.
    const ir::Program first = ir::use_cheaper_scalars(ir::with_known_sizes(original, known));
    const ir::Program second = ir::use_cheaper_scalars(ir::with_known_sizes(rewritten, known));
    Rewrite proof(first, second, claims, options);
    return evidence(Verdict::proved, std::to_string(proof.run()) + " equal values");
  } catch (const Unproved& unproved) {
    return evidence(Verdict::unknown, unproved.reason);
  } catch (const OutOfTime&) {
    return evidence(Verdict::unknown, "no answer in the time given");
  } catch (const Error& error) {
    return evidence(Verdict::unknown, error.what());
  }
}

}  // namespace axrun::verify
