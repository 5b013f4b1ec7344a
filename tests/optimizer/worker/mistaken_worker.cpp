// A worker program with an emitter that cuts the bounds of loops off at MISTAKEN_BEYOND: its proofs are of
// the loop program that it was given, what it tests is the machine code with the mistake.
#include <cstdlib>
#include <string>

#include "ir/loop/loop_program.h"
#include "ir/text.h"
#include "runtime/optimizer/worker_server.h"
#include "search/lowering.h"
#include "tests/search/emitter_mistakes.h"

namespace axrun::runtime {
namespace {

WorkerReply judge_mistaken(const WorkerRequest& request, const JudgeReports& reports) {
  std::string text = request.program;
  JudgeReports watched = reports;
  watched.lowered = [&](const WorkerLowering& lowering) {
    if (text.empty()) text = lowering.program;
    reports.lowered(lowering);
  };
  WorkerReply reply = judge_candidate(request, watched, search::lower);
  const char* const edge = std::getenv("MISTAKEN_BEYOND");
  if (!reply.refusal.empty() || edge == nullptr) return reply;
  const ir::loop::LoopProgram program = ir::loop::parse(text);
  if (program.sizes.empty()) return reply;
  const auto wrong =
      tests::with_mistake(program, tests::bound_cut_off, program.sizes[0].name, std::atoll(edge));
  if (!wrong) return reply;
  const auto candidate = tests::gate_candidate(jit::KernelCode::compile(*wrong, request.target));
  verify::GateOptions options;
  options.seed = request.seed;
  options.sizes = request.sizes;
  options.thorough = request.thorough;
  reply.gate = verify::test_numerically(ir::parse(request.expression), candidate, options);
  if (!reply.gate.accepted()) reply.refusal = "the machine code is refuted: " + reply.gate.text;
  return reply;
}

}  // namespace
}  // namespace axrun::runtime

int main(int argument_count, char** arguments) {
  return axrun::runtime::serve_requests(argument_count, arguments, axrun::runtime::judge_mistaken);
}
