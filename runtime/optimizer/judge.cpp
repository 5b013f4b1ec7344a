#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "ir/error.h"
#include "ir/loop/loop_program.h"
#include "ir/text.h"
#include "jit/kernel_code.h"
#include "runtime/optimizer/worker_server.h"
#include "runtime/seconds_since.h"
#include "verify/answers.h"
#include "verify/guarded_memory.h"
#include "verify/loop_proof.h"
#include "verify/numeric_gate.h"
#include "verify/rewrite_proof.h"
#include "verify/stand_ins.h"
#include "verify/tensor_equality.h"

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t alignment = 64;
size_t rounded_up(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Several workers played by one thread, the last range first: no worker's memory may be another's, and no
/// order be taken for granted.
class WorkersInTurns final : public jit::Workers {
 public:
  int count() const override { return 3; }
  void run(int64_t iterations, Body body, void* state) override {
    const int64_t ranges = std::min<int64_t>(iterations, 5);
    for (int64_t k = ranges; k-- > 0;) {
      body(state, static_cast<int>(k % count()), iterations * k / ranges, iterations * (k + 1) / ranges);
    }
  }
};

/// Memory for what a kernel prepares. It holds NaNs at first, and ends where nothing may be touched. From
/// call to call it is the same where it can be: the system takes longer to give pages than kernels to fill
/// them.
class PreparedMemory {
 public:
  std::shared_ptr<char> operator()(size_t bytes) {
    const size_t whole = rounded_up(std::max<size_t>(bytes, 1));
    const auto free = [](const Block& block) { return block.use_count() == 1; };
    auto found = std::find_if(blocks_.begin(), blocks_.end(),
                              [&](const Block& block) { return free(block) && block->bytes() == whole; });
    if (found == blocks_.end()) {
      std::erase_if(blocks_, free);
      blocks_.push_back(std::make_shared<verify::GuardedArray>(whole, alignment));
      found = blocks_.end() - 1;
      (*found)->place(verify::Placement::ends_at_guard);
    }
    std::memset((*found)->data(), 0xff, whole);
    return {*found, static_cast<char*>((*found)->data())};
  }
  bool surroundings_intact() const {
    return std::all_of(blocks_.begin(), blocks_.end(),
                       [](const Block& block) { return block->surroundings_intact(); });
  }

 private:
  using Block = std::shared_ptr<verify::GuardedArray>;
  std::vector<Block> blocks_;
};

/// The kernel as the gate calls it: bound anew every time, because the constants differ from call to call.
class Candidate {
 public:
  /// inputs: per input buffer, its place among the operands of a call.
  Candidate(std::shared_ptr<const jit::KernelCode> code, std::vector<size_t> inputs,
            std::vector<bool> constant)
      : code_(std::move(code)), inputs_(std::move(inputs)), constant_(std::move(constant)) {}

  void operator()(const verify::GateCall& call) const {
    jit::BoundKernel kernel(code_, call.sizes, constant_);
    WorkersInTurns workers;
    std::vector<const void*> operands;
    for (const size_t place : inputs_) operands.push_back(call.operands[place]);
    prepare(kernel, operands, workers);
    // Scratch memory holds NaNs at first, and ends where nothing may be touched.
    verify::GuardedArray scratch(rounded_up(kernel.scratch_bytes(workers.count())), alignment);
    scratch.place(verify::Placement::ends_at_guard);
    std::memset(scratch.data(), 0xff, scratch.bytes());
    // What was prepared must not be read any more: it is not there in life.
    for (size_t k = 0; k < operands.size(); ++k) {
      if (kernel.is_prepared(k)) operands[k] = nullptr;
    }
    kernel.run(operands.data(), call.results.data(), scratch.data(), workers);
    if (!scratch.surroundings_intact()) throw Error(Fault::internal, "it writes before its scratch memory");
    if (!prepared_->surroundings_intact())
      throw Error(Fault::internal, "it writes before the memory of what it prepares");
  }

 private:
  void prepare(jit::BoundKernel& kernel, const std::vector<const void*>& operands,
               jit::Workers& workers) const {
    if (std::find(constant_.begin(), constant_.end(), true) != constant_.end()) {
      kernel.prepare_in(std::ref(*prepared_), operands.data(), workers);
    }
  }

  std::shared_ptr<const jit::KernelCode> code_;
  std::vector<size_t> inputs_;
  std::vector<bool> constant_;
  std::shared_ptr<PreparedMemory> prepared_ = std::make_shared<PreparedMemory>();
};

/// The kernel with stand-ins for what rounds, to be tested to the bit; nothing where nothing rounds (the
/// ordinary probes are exact then), where it is right only for what is replaced, or where there is no machine
/// code for the stand-ins.
std::optional<verify::GateOptions::Pair> exact_pair(const ir::Program& lowered,
                                                    const ir::loop::LoopProgram& program,
                                                    const jit::Target& target,
                                                    const std::vector<bool>& constant) {
  if (verify::rescales_sums(program)) return std::nullopt;
  const ir::loop::LoopProgram substituted = verify::with_stand_ins(program);
  if (ir::loop::print(substituted) == ir::loop::print(program)) return std::nullopt;
  try {
    std::vector<size_t> places(constant.size());
    std::iota(places.begin(), places.end(), size_t{0});
    const std::shared_ptr<const jit::KernelCode> code = jit::KernelCode::compile(substituted, target);
    return verify::GateOptions::Pair{verify::with_stand_ins(lowered),
                                     Candidate(code, std::move(places), constant)};
  } catch (const Error& error) {
    if (error.fault() != Fault::unsupported) throw;
    return std::nullopt;
  }
}

WorkerReply judge_identity(const WorkerRequest& request, const JudgeReports& reports) {
  const ir::Program left = ir::parse(request.expression), right = ir::parse(request.lowered);
  reports.entering(WorkerStage::proving);
  verify::ProofOptions options;
  options.solver_milliseconds = request.solver_milliseconds;
  options.seconds = request.proof_seconds;
  options.counterexample_seconds = 0;
  WorkerReply reply;
  reply.refusal = "an identity is no kernel";
  reply.proof = verify::prove_equal(left, right, *request.identity, options);
  if (reply.proof.verdict == verify::Verdict::proved) {
    reply.safety = verify::prove_safe(left, right, *request.identity, {}, options);
    reply.safety_back = verify::prove_safe(right, left, *request.identity, {}, options);
  }
  return reply;
}

}  // namespace

WorkerReply judge_candidate(const WorkerRequest& request, const JudgeReports& reports,
                            const LowerFunction& lower) {
  reports.entering(WorkerStage::reading);
  if (request.identity) return judge_identity(request, reports);
  WorkerReply reply;
  if (request.search) {
    reports.entering(*request.search);
    reply.found = answer_of_search(request, reports);
    reply.refusal = "a search is no kernel";
    return reply;
  }
  const ir::Program expression = ir::parse(request.expression);
  WorkerLowering lowering;
  if (request.program.empty() || request.lowered.empty()) {
    reports.entering(WorkerStage::lowering);
    lowering = sent_form(lower(expression, request.ranges, request.constant, request.target, request.rank));
    reports.lowered(lowering);
  }
  // From the texts, which the host has, too: how values are numbered may show in the code.
  const std::string& program_text = request.program.empty() ? lowering.program : request.program;
  const std::string& lowered_text = request.lowered.empty() ? lowering.expression : request.lowered;
  if (program_text.empty() || lowered_text.empty()) {
    reply.refusal = fmt::format("no schedule: {}", lowering.reason);
    return reply;
  }
  if (request.lower_only) {
    reply.refusal = "it was to be lowered only";
    return reply;
  }
  const ir::loop::LoopProgram program = ir::loop::parse(program_text);
  const ir::Program lowered = ir::parse(lowered_text);
  std::vector<size_t> inputs;
  std::vector<bool> constant;
  for (size_t k = 0, place = 0; k < expression.operands.size(); ++k) {
    if (expression.operands[k] == ir::none) continue;
    if (k < lowered.operands.size() && lowered.operands[k] != ir::none) {
      inputs.push_back(place);
      constant.push_back(k < request.constant.size() && request.constant[k]);
    }
    ++place;
  }

  reports.entering(WorkerStage::proving);
  verify::ProofOptions proof;
  proof.solver_milliseconds = request.solver_milliseconds;
  proof.seconds = request.proof_seconds;
  static auto& answers = *new verify::Answers;  // layers have much in common, joint steps with their parts
  proof.answers = &answers;
  const verify::Evidence rewrite = verify::prove_rewrite(expression, lowered, program.sizes, proof);
  if (rewrite.verdict != verify::Verdict::proved) {
    reply.proof = rewrite;
    reply.refusal =
        fmt::format("the simplified expression is {}: {}", verify::name_of(rewrite.verdict), rewrite.text);
    return reply;
  }
  reply.proof = verify::prove(program, lowered, proof);
  reply.proof.seconds += rewrite.seconds;
  if (reply.proof.verdict != verify::Verdict::proved) {
    reply.refusal =
        fmt::format("the loop program is {}: {}", verify::name_of(reply.proof.verdict), reply.proof.text);
    return reply;
  }

  reports.entering(WorkerStage::compiling);
  const Clock::time_point start = Clock::now();
  std::shared_ptr<const jit::KernelCode> code;
  try {
    code = jit::KernelCode::compile(program, request.target);
  } catch (const Error& error) {
    reply.refusal = fmt::format("no machine code: {}", error.what());
    return reply;
  }
  reply.compile_seconds = seconds_since(start);
  reply.code_bytes = code->code_bytes();
  reply.code_hash = hash_of_code(code->code(), code->code_bytes());

  reports.entering(WorkerStage::testing);
  verify::GateOptions gate;
  gate.exact_pair = exact_pair(lowered, program, request.target, constant);
  const Candidate candidate(code, std::move(inputs), std::move(constant));
  gate.seed = request.seed;
  gate.sizes = request.sizes;
  gate.thorough = request.thorough;
  reply.gate = verify::test_numerically(expression, candidate, gate);
  if (!reply.gate.accepted()) {
    reply.refusal =
        fmt::format("the machine code is {}: {}", verify::name_of(reply.gate.verdict), reply.gate.text);
    return reply;
  }
  return reply;
}

}  // namespace axrun::runtime
