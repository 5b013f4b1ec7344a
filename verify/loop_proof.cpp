#include "verify/loop_proof.h"

#include <algorithm>
#include <functional>

#include "ir/error.h"
#include "ir/grammar.h"
#include "verify/checks.h"
#include "verify/counterexample.h"
#include "verify/expression_values.h"
#include "verify/loop_nest.h"
#include "verify/loop_safety.h"
#include "verify/program_values.h"
#include "verify/same_value.h"
#include "verify/unproved.h"

namespace axrun::verify {
namespace {

using ir::loop::Buffer;
using ir::loop::LoopProgram;
using ir::loop::Role;

/// One proof. The steps are in order of cost; later ones rely on earlier ones only in that their terms are
/// about iterations and elements that exist.
class Proof {
 public:
  Proof(const LoopProgram& program, const ir::Program& expression, const ProofOptions& options)
      : program_(program),
        expression_(expression),
        solver_(terms_, options.solver_milliseconds, options.seconds, options.answers) {}

  /// Empty when proved.
  std::string run() {
    const std::pair<const char*, int (Proof::*)()> steps[] = {
        {"interface", &Proof::interface},     {"sizes", &Proof::claimed_sizes},
        {"extents", &Proof::extents},         {"bounds", &Proof::bounds},
        {"divisors", &Proof::divisors},       {"written before read", &Proof::written},
        {"inverses", &Proof::inverses},       {"no races", &Proof::races},
        {"independent lanes", &Proof::lanes}, {"equal values", &Proof::values},
    };
    try {
      LoopNest nest(program_, terms_);
      nest_ = &nest;
      for (const auto& [name, step] : steps) {
        step_ = name;
        const int count = (this->*step)();
        summary_ += (summary_.empty() ? "" : ", ") + std::to_string(count) + " " + name;
      }
      return {};
    } catch (const Unproved& unproved) {
      return step_ + ": " + unproved.reason + (solver_.ran_out() ? " (the solver gave up)" : "");
    } catch (const OutOfTime&) {
      return step_ + ": no answer in the time given";
    } catch (const Error& error) {
      return step_ + ": " + error.what();
    }
  }

  std::string summary() const {
    return summary_ + "; " + std::to_string(solver_.questions()) + " questions to the solver";
  }

 private:
  int interface() {
    std::vector<ir::TensorId> operands;
    for (const ir::TensorId id : expression_.operands) {
      if (id != ir::none) operands.push_back(id);
    }
    int proved = 0;
    size_t next_input = 0, next_output = 0;
    Role last = Role::input;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.role < last && checks::on("loops.order"))
        throw Unproved{"inputs, outputs and scratch buffers are not in this order"};
      last = buffer.role;
      if (buffer.role == Role::scratch) continue;
      const bool input = buffer.role == Role::input;
      const std::vector<ir::TensorId>& tensors = input ? operands : expression_.outputs;
      size_t& next = input ? next_input : next_output;
      if (next == tensors.size()) {
        if (checks::on("loops.more_buffers"))
          throw Unproved{"the expression has no tensor for " + buffer.name};
        continue;
      }
      same_interface(buffer, expression_.tensors[static_cast<size_t>(tensors[next++])]);
      ++proved;
    }
    const bool all = next_input == operands.size() && next_output == expression_.outputs.size();
    if (!all && checks::on("loops.fewer_buffers"))
      throw Unproved{"the expression has more operands or outputs than the loop program"};
    return proved;
  }

  void same_interface(const Buffer& buffer, const ir::TensorDecl& tensor) {
    const bool same_form = buffer.type == tensor.type && buffer.dims.size() == tensor.dims.size();
    if (!same_form && checks::on("loops.type"))
      throw Unproved{buffer.name + " and " + tensor.name + " differ in type or rank"};
    const TermList mine = terms_of(terms_, buffer.dims, nest_->sizes());
    const TermList theirs = terms_of(terms_, tensor.dims, nest_->sizes());
    if (!solver_.implied(nest_->size_facts(), terms_.same(mine, theirs)) && checks::on("loops.dims"))
      throw Unproved{buffer.name + " and " + tensor.name + " differ in their dims"};
  }

  /// An empty range would prove everything.
  int claimed_sizes() {
    if (solver_.satisfiable(nest_->size_facts()) != Answer::yes && checks::on("loops.sizes"))
      throw Unproved{"no size within the claimed ranges is known"};
    return 1;
  }

  int extents() { return prove_extents(*nest_, solver_); }
  int bounds() { return prove_bounds(*nest_, solver_); }
  int divisors() { return prove_divisors(*nest_, solver_); }
  int written() { return prove_written(*nest_, solver_); }
  int inverses() { return prove_inverses(*nest_, solver_); }
  int races() { return prove_no_races(*nest_, solver_, ir::loop::LoopKind::parallel); }
  int lanes() { return prove_no_races(*nest_, solver_, ir::loop::LoopKind::vector); }

  int values() {
    ProgramValues program(*nest_, solver_);
    ExpressionValues expression(expression_, nest_->sizes(), terms_);
    SameValue comparison(terms_, solver_, nest_->size_facts());
    size_t next = 0;
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.role != Role::output) continue;
      TermList facts = nest_->size_facts(), element;
      for (const Term extent : terms_of(terms_, buffer.dims, nest_->sizes())) {
        element.push_back(terms_.variable("x" + std::to_string(element.size()), terms_.magnitude(extent)));
        facts.push_back(terms_.at_least(element.back(), terms_.integer(0)));
        facts.push_back(terms_.less(element.back(), extent));
      }
      const Instance end;
      const int buffer_id = static_cast<int>(id);
      if (!comparison.same(facts, program.element(buffer_id, element, end),
                           expression.element(expression_.outputs[next++], element)))
        throw Unproved{buffer.name + ": " + comparison.reason()};
    }
    if (!comparison.recurrences_hold()) throw Unproved{"a recurrence: " + comparison.reason()};
    return static_cast<int>(next) + comparison.reductions();
  }

  const LoopProgram& program_;
  const ir::Program& expression_;
  Terms terms_;
  Solver solver_;
  const LoopNest* nest_ = nullptr;
  std::string step_ = "sizes";
  std::string summary_;
};

std::string ill_formed(const LoopProgram& program, const ir::Program& expression) {
  const std::vector<std::string> wrong = ir::loop::violations(program);
  if (!wrong.empty()) return wrong.front();
  const std::vector<ir::Violation> violations = ir::violations(expression);
  return violations.empty() ? "" : ir::to_string(violations.front());
}

}  // namespace

Evidence prove(const LoopProgram& program, const ir::Program& expression, const ProofOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto evidence = [&](Verdict verdict, const std::string& text) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return Evidence{verdict, text, seconds.count()};
  };
  const std::string wrong = ill_formed(program, expression);
  if (!wrong.empty() && checks::on("loops.grammar"))
    return evidence(Verdict::unknown, "not well-formed: " + wrong);
  Proof proof(program, expression, options);
  const std::string reason = proof.run();
  if (reason.empty()) return evidence(Verdict::proved, proof.summary());
  SearchOptions search;
  search.seconds = options.counterexample_seconds;
  // With more time than usual larger programs can be run.
  constexpr double per_second = 200'000;
  search.most_iterations =
      std::max(search.most_iterations, static_cast<int64_t>(per_second * options.counterexample_seconds));
  if (const auto found = counterexample(program, expression, search))
    return evidence(Verdict::refuted, *found + " (" + reason + ")");
  return evidence(Verdict::unknown, reason);
}

}  // namespace axrun::verify
