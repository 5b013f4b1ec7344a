#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/error.h"
#include "ir/loop/loop_program.h"
#include "ir/text.h"
#include "jit/kernel_code.h"
#include "runtime/optimizer/worker_server.h"
#include "verify/guarded_memory.h"
#include "verify/loop_proof.h"
#include "verify/numeric_gate.h"
#include "verify/rewrite_proof.h"
#include "verify/stand_ins.h"

namespace axrun::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Sizes = std::map<std::string, int64_t>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr size_t alignment = 64;
size_t rounded_up(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct Aligned {
  explicit Aligned(size_t bytes) : data(::operator new (bytes + 1, std::align_val_t{alignment})) {}
  ~Aligned() { ::operator delete (data, std::align_val_t{alignment}); }
  Aligned(const Aligned&) = delete;
  void* data;
};

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
  }

  /// operands: one per input buffer.
  double seconds_per_call(const Sizes& sizes, const std::vector<const void*>& operands,
                          const std::vector<void*>& results) const {
    constexpr double enough_seconds = 0.05;
    constexpr int most_calls = 1000;
    jit::BoundKernel kernel(code_, sizes, constant_);
    jit::Workers& alone = jit::inline_workers();
    prepare(kernel, operands, alone);
    const Aligned scratch(kernel.scratch_bytes(alone.count()));
    double best = HUGE_VAL;
    const Clock::time_point begin = Clock::now();
    for (int calls = 0; calls < most_calls && (calls < 3 || seconds_since(begin) < enough_seconds); ++calls) {
      const Clock::time_point start = Clock::now();
      kernel.run(operands.data(), results.data(), scratch.data, alone);
      best = std::min(best, seconds_since(start));
    }
    return best;
  }

 private:
  void prepare(jit::BoundKernel& kernel, const std::vector<const void*>& operands,
               jit::Workers& workers) const {
    if (std::find(constant_.begin(), constant_.end(), true) != constant_.end()) {
      kernel.prepare(operands.data(), workers);
    }
  }

  std::shared_ptr<const jit::KernelCode> code_;
  std::vector<size_t> inputs_;
  std::vector<bool> constant_;
};

/// The first call of the first sizes, on memory of this process.
double time_of(const Candidate& candidate, const ir::loop::LoopProgram& program, const Sizes& sizes) {
  std::map<std::string, ir::Dim> values;
  for (const auto& [name, value] : sizes) values.emplace(name, ir::Dim(value));
  std::vector<ir::Tensor> tensors;
  std::vector<const void*> operands;
  std::vector<void*> results;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::loop::Role::scratch) continue;
    ir::Shape shape;
    for (const ir::Dim& dim : buffer.dims) shape.push_back(dim.substitute(values).value());
    tensors.push_back(ir::Tensor::allocate(buffer.type, shape));
    // Ordinary numbers: denormals and NaN may take longer.
    if (ir::is_float(buffer.type)) {
      for (int64_t i = 0; i < tensors.back().size(); ++i) tensors.back().set_real(i, 0.5);
    }
    if (buffer.role == ir::loop::Role::input) operands.push_back(tensors.back().data());
    if (buffer.role == ir::loop::Role::output) results.push_back(tensors.back().data());
  }
  return candidate.seconds_per_call(sizes, operands, results);
}

/// The kernel with stand-ins for what rounds, to be tested to the bit; nothing where nothing rounds (the
/// ordinary probes are exact then) or where there is no machine code for the stand-ins.
std::optional<verify::GateOptions::Pair> exact_pair(const ir::Program& lowered,
                                                    const ir::loop::LoopProgram& program,
                                                    const jit::Target& target,
                                                    const std::vector<bool>& constant) {
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

}  // namespace

WorkerReply judge_candidate(const WorkerRequest& request, const std::function<void(WorkerStage)>& entering) {
  WorkerReply reply;
  entering(WorkerStage::reading);
  const ir::loop::LoopProgram program = ir::loop::parse(request.program);
  const ir::Program expression = ir::parse(request.expression);
  const ir::Program lowered = ir::parse(request.lowered);
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

  entering(WorkerStage::proving);
  verify::ProofOptions proof;
  proof.solver_milliseconds = request.solver_milliseconds;
  proof.seconds = request.proof_seconds;
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

  entering(WorkerStage::compiling);
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

  entering(WorkerStage::testing);
  verify::GateOptions gate;
  gate.exact_pair = exact_pair(lowered, program, request.target, constant);
  const Candidate candidate(code, std::move(inputs), std::move(constant));
  gate.seed = request.seed;
  gate.sizes = request.sizes;
  reply.gate = verify::test_numerically(expression, candidate, gate);
  if (!reply.gate.accepted()) {
    reply.refusal =
        fmt::format("the machine code is {}: {}", verify::name_of(reply.gate.verdict), reply.gate.text);
    return reply;
  }

  entering(WorkerStage::timing);
  reply.seconds_per_call = time_of(candidate, program, request.sizes.front());
  return reply;
}

}  // namespace axrun::runtime
