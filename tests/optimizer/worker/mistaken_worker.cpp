// A worker program with an emitter that cuts the bounds of loops off at MISTAKEN_BEYOND: its proofs are of
// the loop program that it was given, what it tests is the machine code with the mistake.
#include <cstdlib>

#include "ir/loop/loop_program.h"
#include "ir/text.h"
#include "runtime/optimizer/worker_server.h"
#include "tests/search/emitter_mistakes.h"

namespace axrun::runtime {
namespace {

WorkerReply judge_mistaken(const WorkerRequest& request, const std::function<void(WorkerStage)>& entering) {
  WorkerReply reply = judge_candidate(request, entering);
  const char* const edge = std::getenv("MISTAKEN_BEYOND");
  const ir::loop::LoopProgram program = ir::loop::parse(request.program);
  if (!reply.refusal.empty() || edge == nullptr || program.sizes.empty()) return reply;
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
