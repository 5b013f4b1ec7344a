#include "tests/verify/mutants.h"

#include <algorithm>

#include "ir/error.h"
#include "tests/verify/surgeon.h"

namespace axrun::tests {

using ir::Dim;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Block;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopProgram;
using ir::loop::Statement;
using ir::loop::Value;

Surgeon::Surgeon(const ir::loop::LoopProgram& valid, std::mt19937_64& random)
    : program_(valid), random_(random) {
  collect(program_.body);
  for (Value& value : program_.values) {
    if (value.op == ScalarOp::load) {
      loads_.push_back(&value);
      accesses_.push_back(&value.access);
    }
    if (value.op == ScalarOp::extent) indices_.push_back(&value.index);
  }
  for (Access* access : accesses_) {
    for (Dim& index : access->indices) indices_.push_back(&index);
    for (ir::loop::Lookup& lookup : access->lookups) {
      lookups_.push_back(&lookup);
      for (Dim& index : lookup.indices) indices_.push_back(&index);
    }
    if (!access->lookups.empty()) looking_up_.push_back(access);
  }
}

std::optional<Mutant> Surgeon::run() {
  const std::vector<std::pair<const char*, bool (Surgeon::*)()>> kinds = {
      {"overlap", &Surgeon::overlap},
      {"gap", &Surgeon::gap},
      {"race", &Surgeon::race},
      {"race", &Surgeon::shared_scratch},
      {"out of bounds", &Surgeon::shifted},
      {"wrong lane", &Surgeon::wrong_lane},
      {"time", &Surgeon::other_time},
      {"time", &Surgeon::no_history},
      {"gate", &Surgeon::other_part},
      {"tail", &Surgeon::tail},
      {"tail", &Surgeon::tail},
      {"stride", &Surgeon::permuted},
      {"stride", &Surgeon::scaled},
      {"stride", &Surgeon::other_variable},
      {"epilogue", &Surgeon::other_operation},
      {"epilogue", &Surgeon::operands_rotated},
      {"extent", &Surgeon::extent},
      {"step", &Surgeon::step},
      {"initialisation", &Surgeon::statement_dropped},
      {"initialisation", &Surgeon::statement_moved_in},
      {"initialisation", &Surgeon::statement_moved_out},
      {"initialisation", &Surgeon::literal},
      {"order", &Surgeon::statements_swapped},
      {"order", &Surgeon::statement_doubled},
      {"order", &Surgeon::loops_interchanged},
      {"operand", &Surgeon::other_operand},
      {"operand", &Surgeon::other_target},
      {"mapping", &Surgeon::mapping},
      {"combine", &Surgeon::combine},
      {"guard", &Surgeon::guard},
      {"claim", &Surgeon::claim},
      {"allocation", &Surgeon::allocation},
      {"lookup", &Surgeon::looked_up_elsewhere},
      {"lookup", &Surgeon::looked_up_not},
  };
  const auto& [name, mutation] = kinds[below(kinds.size())];
  try {
    if (!(this->*mutation)() || !ir::loop::violations(program_).empty()) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // a size that cannot be written
  }
  return Mutant{name, std::move(program_)};
}

void Surgeon::collect(Block& body) {
  blocks_.push_back(&body);
  for (Statement& statement : body) {
    if (auto* compute = std::get_if<Compute>(&statement)) {
      computes_.push_back(compute);
      accesses_.push_back(&compute->target);
    } else if (auto* loop = std::get_if<Loop>(&statement)) {
      loops_.push_back(loop);
      collect(loop->body);
    }
  }
}

std::optional<Mutant> mutate(const LoopProgram& valid, std::mt19937_64& random) {
  return Surgeon(valid, random).run();
}

}  // namespace axrun::tests
