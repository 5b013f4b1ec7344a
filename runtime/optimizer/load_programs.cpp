#include "runtime/optimizer/load_programs.h"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "ir/error.h"
#include "ir/operator.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/kernel_sizes.h"
#include "runtime/plan/packed.h"

namespace axrun::runtime {
namespace {

using ir::Tensor;

/// Integers of at most so many elements may be what a node's shape or indices follow from.
constexpr int64_t few_elements = 64;

std::vector<ir::Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<ir::Shape> shapes;
  for (const Tensor& one : tensors) shapes.push_back(one.defined() ? one.shape() : ir::Shape());
  return shapes;
}

/// The node's program for inputs of the same ranks whose equal dims are equal, whatever they are; nothing
/// where there is no such.
std::optional<ir::Program> with_open_sizes(const FoldedNode& folded) {
  std::vector<ir::OperandInfo> operands(folded.inputs.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    const Tensor& input = folded.inputs[k];
    if (!input.defined()) continue;
    operands[k].present = true;
    operands[k].type = input.type();
    const bool may_decide = !ir::is_float(input.type()) && input.size() <= few_elements;
    if (may_decide) operands[k].constant = &input;
    ir::Dims dims;
    for (const int64_t extent : input.shape()) {
      const bool open = extent > 1 && !may_decide;
      dims.push_back(open ? ir::Dim::symbol(fmt::format("d{}", extent)) : ir::Dim(extent));
    }
    operands[k].dims = std::move(dims);
  }
  try {
    return ir::define_node(folded.node, operands);
  } catch (const ir::NotYetKnown&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What the program makes of the constants.
std::vector<Tensor> execute(const GeneratedCode& generated, const SizeValues& sizes, const FoldedNode& folded,
                            ThreadPool& pool) {
  const jit::BoundKernel kernel(generated.code, sizes);
  std::vector<const void*> inputs;
  for (const int operand : generated.inputs)
    inputs.push_back(folded.inputs[static_cast<size_t>(operand)].data());
  std::vector<Tensor> results;
  std::vector<void*> outputs;
  for (const Tensor& known : folded.results) {
    if (!known.defined()) continue;
    results.push_back(Tensor::allocate_uninitialized(known.type(), known.shape()));
    outputs.push_back(results.back().data());
  }
  AlignedBuffer scratch(kernel.scratch_bytes(pool.threads()));
  PoolWorkers workers(pool);
  kernel.run(inputs.data(), outputs.data(), scratch.data(), workers);
  return results;
}

/// Empty where all bytes are equal.
std::string difference_of(const std::vector<Tensor>& program, const std::vector<Tensor>& folded) {
  size_t next = 0;
  for (const Tensor& want : folded) {
    if (!want.defined()) continue;
    const Tensor& got = program[next++];
    if (want.bytes() == 0 || std::memcmp(want.data(), got.data(), want.bytes()) == 0) continue;
    for (int64_t i = 0; i < want.size(); ++i) {
      if (want.get_real(i) == got.get_real(i)) continue;
      return fmt::format("element {} was folded to {}, the verified program makes {} of it", i,
                         want.get_real(i), got.get_real(i));
    }
    return "the verified program's result differs in bits";
  }
  return "";
}

}  // namespace

std::optional<StepExpression> expression_of(const FoldedNode& folded, SizeValues& sizes,
                                            std::string& reason) {
  const std::vector<ir::Shape> shapes = shapes_of(folded.inputs);
  std::vector<ir::Shape> wanted;
  for (const Tensor& result : folded.results) {
    if (result.defined()) wanted.push_back(result.shape());
  }
  const auto express_at_hand = [&](ir::Program program) -> std::optional<StepExpression> {
    const size_t operands = program.operands.size();
    auto expression = express(std::move(program), std::vector<bool>(operands, false), reason);
    if (!expression) return std::nullopt;
    const auto found = sizes_for(*expression, shapes, wanted);
    if (!found) {
      reason = "its sizes do not follow from those of its operands";
      return std::nullopt;
    }
    sizes = *found;
    return expression;
  };
  if (auto open = with_open_sizes(folded)) {
    if (auto expression = express_at_hand(std::move(*open))) return expression;
  }
  return express_at_hand(*folded.program);
}

LoadPrograms::LoadPrograms(LoadTimeWork work, StatusBoard& board)
    : board_(board),
      left_(std::make_move_iterator(work.folded.begin()), std::make_move_iterator(work.folded.end())) {
  board_.update([&](OptimizerStatus& status) {
    status.folded_by_definition = work.by_definition;
    status.folded_bytes_by_definition = work.bytes_by_definition;
    for (const FoldedNode& one : left_) list(one, status);
  });
}

void LoadPrograms::list(const FoldedNode& folded, OptimizerStatus& status) {
  LoadProgram program;
  program.what = fmt::format("{} '{}'", folded.node.op, folded.node.name);
  for (const Tensor& result : folded.results)
    program.bytes += result.defined() ? static_cast<int64_t>(result.bytes()) : 0;
  status.load_programs.push_back(std::move(program));
}

void LoadPrograms::add(std::vector<FoldedNode> folded) {
  board_.update([&](OptimizerStatus& status) {
    for (const FoldedNode& one : folded) list(one, status);
  });
  std::move(folded.begin(), folded.end(), std::back_inserter(left_));
}

const LoadPrograms::Known* LoadPrograms::program_for(const StepExpression& expression,
                                                     const SizeValues& sizes, const CandidateTools& tools,
                                                     WorkerProcess& worker, const Background::Place& place) {
  search::Sizes ranges = ranges_around(expression, sizes);
  std::string key = expression.text + text_of(ranges);
  auto found = programs_.find(key);
  if (found != programs_.end() && found->second.code && !found->second.code->tested.cover(sizes)) {
    // It was not tested there: one for these very sizes.
    for (ir::loop::Size& range : ranges) range = {range.name, sizes.at(range.name), sizes.at(range.name), 1};
    key = expression.text + text_of(ranges);
    found = programs_.find(key);
  }
  if (found != programs_.end()) return &found->second;
  for (int kills = 0;;) {
    Candidate candidate(expression, sizes, ranges, tools, worker, place.stop);
    candidate.begin();
    CandidateOutcome outcome = candidate.finish();
    if (place.stop.requested()) return nullptr;
    if (outcome.end == CandidateOutcome::End::worker_trouble && !worker.is_given_up()) continue;
    if (outcome.end == CandidateOutcome::End::worker_killed && ++kills < most_kills) continue;
    Known known;
    if (outcome.end == CandidateOutcome::End::verified) known.code = std::move(outcome.code);
    known.reason = outcome.reason;
    known.proof = candidate.record().proof;
    known.gate = candidate.record().gate;
    return &programs_.emplace(key, std::move(known)).first->second;
  }
}

void LoadPrograms::check_next(const CandidateTools& tools, WorkerProcess& worker,
                              const Background::Place& place) {
  const FoldedNode& folded = left_.front();
  SizeValues sizes;
  Known none;
  std::string difference;
  const auto expression = expression_of(folded, sizes, none.reason);
  const Known* known = expression ? program_for(*expression, sizes, tools, worker, place) : &none;
  if (known == nullptr) return;
  const Background::Piece piece(place.background);
  if (known->code) {
    try {
      difference = difference_of(execute(*known->code, sizes, folded, place.pool), folded.results);
    } catch (const Error& error) {
      difference = error.what();
    }
  }
  conclude(*known, difference);
  left_.pop_front();
  if (left_.empty()) programs_.clear();
}

void LoadPrograms::conclude(const Known& known, const std::string& difference) {
  board_.update([&](OptimizerStatus& status) {
    LoadProgram& program = status.load_programs[next_++];
    program.proof = known.proof;
    program.gate = known.gate;
    program.reason = known.code ? difference : known.reason;
    const bool verified = known.code && difference.empty();
    program.state = verified ? LoadProgram::State::verified : LoadProgram::State::fallback;
  });
}

}  // namespace axrun::runtime
