// Which steps of models' plans have a schedule: lowering_report [--verbose] [--prove] MODEL...
// Every step of the fallback plan is lowered once with the sizes that the model leaves open (where it leaves
// any) and once at the plan's own shapes. The exit status is 0 whatever is found.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "ir/text.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "search/lowering.h"
#include "verify/loop_proof.h"
#include "verify/rewrite_proof.h"

namespace {

using namespace axrun;

struct Tally {
  std::map<std::string, int> kinds, refused, unproved;
  double lowering_seconds = 0, proving_seconds = 0, slowest_proof = 0;
};

struct Wishes {
  bool verbose = false, prove = false;
};

search::Sizes ranges_of(const runtime::StepExpression& expression) {
  search::Sizes sizes;
  for (const std::string& symbol : expression.symbols) sizes.push_back({symbol, 1, 4096, 1});
  return sizes;
}

void lower_step(const runtime::StepExpression& expression, const std::string& ops, const Wishes& wishes,
                Tally& tally) {
  const auto start = std::chrono::steady_clock::now();
  const search::Lowered lowered =
      search::lower(expression.program, ranges_of(expression), expression.constant, runtime::host_target());
  tally.lowering_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!lowered.program) {
    ++tally.refused[ops + ": " + lowered.reason];
  } else {
    ++tally.kinds[lowered.kind];
  }
  if (wishes.verbose) {
    std::printf(
        "--- %s\n%s%s%s", ops.c_str(), ir::print(expression.program).c_str(),
        lowered.program ? ir::print(lowered.expression).c_str() : "",
        lowered.program ? ir::loop::print(*lowered.program).c_str() : (lowered.reason + "\n").c_str());
  }
  if (!wishes.prove || !lowered.program) return;
  verify::Evidence evidence =
      verify::prove_rewrite(expression.program, lowered.expression, lowered.program->sizes);
  if (evidence.accepted()) evidence = verify::prove(*lowered.program, lowered.expression);
  tally.proving_seconds += evidence.seconds;
  tally.slowest_proof = std::max(tally.slowest_proof, evidence.seconds);
  if (!evidence.accepted())
    ++tally.unproved[ops + ": " + std::string(name_of(evidence.verdict)) + ": " + evidence.text];
}

void print_tally(const char* what, const Tally& tally) {
  int done = 0, refused = 0;
  for (const auto& [kind, count] : tally.kinds) done += count;
  for (const auto& [reason, count] : tally.refused) refused += count;
  std::printf("  %s: %d of %d different steps lowered in %.3f s, proofs %.1f s, slowest %.2f s\n", what, done,
              done + refused, tally.lowering_seconds, tally.proving_seconds, tally.slowest_proof);
  for (const auto& [kind, count] : tally.kinds) std::printf("    %4d %s\n", count, kind.c_str());
  for (const auto& [reason, count] : tally.refused) std::printf("    %4d no: %s\n", count, reason.c_str());
  for (const auto& [reason, count] : tally.unproved)
    std::printf("    %4d unproved: %s\n", count, reason.c_str());
}

void report(const std::string& path, const Wishes& wishes) {
  runtime::SessionOptions options;
  options.tier = runtime::Tier::fallback;
  options.threads = 1;
  const auto session = runtime::Session::load(path, options);
  std::vector<ir::Shape> shapes;
  for (const runtime::RuntimeValue& value : make_inputs(*session, options, 1, 0, nullptr)) {
    shapes.push_back(value.tensor.shape());
  }
  session->prepare(shapes);
  const auto plan = session->current_plan(shapes);
  const runtime::SymbolicFacts symbolic(plan->shared_graph());
  const ir::Inference concrete = runtime::facts_of(*plan);
  Tally open, closed;
  int other = 0;
  std::set<std::string> seen_open, seen_closed;
  for (const runtime::Step& step : plan->steps()) {
    if (!step.kernel) {
      ++other;
      continue;
    }
    std::string reason;
    const auto general = runtime::express(symbolic.inference(), step, reason);
    if (!general) {
      ++open.refused[step.work->ops + ": " + reason];
    } else if (seen_open.insert(general->text).second) {
      lower_step(*general, step.work->ops, wishes, open);
    }
    const auto special = runtime::express(concrete, step, reason);
    if (!special) {
      ++closed.refused[step.work->ops + ": " + reason];
    } else if (seen_closed.insert(special->text).second) {
      lower_step(*special, step.work->ops, wishes, closed);
    }
  }
  std::printf("%s: %zu steps, %d without a kernel\n", path.c_str(), plan->steps().size(), other);
  print_tally("open sizes", open);
  print_tally("the plan's shapes", closed);
}

}  // namespace

int main(int count, char** arguments) {
  Wishes wishes;
  for (int k = 1; k < count; ++k) {
    if (std::strcmp(arguments[k], "--verbose") == 0) {
      wishes.verbose = true;
    } else if (std::strcmp(arguments[k], "--prove") == 0) {
      wishes.prove = true;
    } else {
      try {
        report(arguments[k], wishes);
      } catch (const std::exception& error) {
        std::printf("%s: %s\n", arguments[k], error.what());
      }
    }
  }
}
