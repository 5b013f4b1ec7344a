#include "jit/x86/held_constants.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <functional>
#include <set>

#include "jit/facts.h"
#include "jit/x86/functions.h"

namespace axrun::jit::x86 {

using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Access;
using ir::loop::Block;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::LoopKind;
using ir::loop::Statement;
using ir::loop::Value;

namespace {

/// So many vectors take turns at vector math, as far as registers last (interleave.h).
constexpr int64_t most_in_turn = 4;
/// What statements without vector math need, and the register allocator to move things about.
constexpr int64_t other_registers = 8;

/// How many values of a program are alive at once, constants not counted.
int64_t values_alive(const ir::lane::Program& program) {
  const auto count = static_cast<int>(program.instructions.size());
  std::vector<int> last(program.instructions.size(), 0);
  for (int k = 0; k < count; ++k) {
    for (const ir::lane::ValueId id : program.instructions[static_cast<size_t>(k)].arguments) {
      if (id != ir::lane::no_value) last[static_cast<size_t>(id)] = k;
    }
  }
  int64_t most = 0;
  for (int place = 0; place < count; ++place) {
    int64_t alive = 0;
    for (int k = 0; k <= place; ++k) {
      const ir::lane::Operation& operation =
          *ir::lane::find_operation(program.instructions[static_cast<size_t>(k)].opcode);
      const bool constant = operation.arity == 0 && operation.literal != ir::lane::Literal::none;
      alive += !constant && operation.result != ir::lane::Type::mask && last[static_cast<size_t>(k)] > place;
    }
    most = std::max(most, alive);
  }
  return most;
}

bool counts_at_run_time(const Loop& loop) {
  return loop.kind != LoopKind::unrolled && loop.kind != LoopKind::vector;
}

class Planner {
 public:
  Planner(const ir::loop::LoopProgram& program, int lanes, int vector_registers)
      : program_(program), lanes_(lanes), vector_registers_(vector_registers) {}

  std::map<const Loop*, std::vector<uint32_t>> run(const Phase& phase) {
    if (phase.parallel != nullptr) {
      measure(*phase.parallel);
      plan(*phase.parallel);
    } else {
      for (const Statement* statement : phase.statements) {
        if (const auto* loop = std::get_if<Loop>(statement))
          measure(*loop);
        else if (const auto* compute = std::get_if<Compute>(statement))
          measure(*compute);
      }
      for (const Statement* statement : phase.statements) {
        const auto* loop = std::get_if<Loop>(statement);
        if (loop != nullptr) plan_inside(*loop);
      }
    }
    return planned_;
  }

 private:
  /// Places in the order of the text.
  struct Span {
    int first = INT_MAX, last = -1;
    void add(const Span& other) {
      first = std::min(first, other.first);
      last = std::max(last, other.last);
    }
  };

  // Where loops and statements stand, and from where to where each buffer in registers is alive: a loop keeps
  // what is allocated outside of it and mentioned inside.
  // -----------------------------------------------------------------------------------------------------

  void measure(const Loop& loop) {
    Span& span = span_of_[&loop];
    span.first = ++place_;
    open_.push_back(&loop);
    for (const Statement& statement : loop.body) {
      if (const auto* inner = std::get_if<Loop>(&statement)) {
        measure(*inner);
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        measure(*compute);
      } else {
        allocated_in_[std::get<ir::loop::Allocate>(statement).buffer] = open_.size();
      }
    }
    open_.pop_back();
    span.last = ++place_;
    for (auto& [buffer, whole] : kept_by_) {
      if (whole.erase(&loop) != 0) alive_[buffer].add(span);
    }
  }

  void measure(const Compute& compute) {
    const int here = ++place_;
    const bool has_lanes = !open_.empty() && open_.back()->kind == LoopKind::vector;
    const auto see = [&](const Access& access) {
      if (program_.buffers[static_cast<size_t>(access.buffer)].level != ir::loop::Level::registers) return;
      if (has_lanes && !access.indices.empty() && mentions(access.indices.back(), open_.back()->variable))
        in_lanes_.insert(access.buffer);
      alive_[access.buffer].add({here, here});
      const auto allocated = allocated_in_.find(access.buffer);
      const size_t outside = allocated == allocated_in_.end() ? 0 : allocated->second;
      for (size_t k = outside; k < open_.size(); ++k) kept_by_[access.buffer].insert(open_[k]);
    };
    see(compute.target);
    const std::function<void(int)> visit = [&](int id) {
      const Value& v = program_.values[static_cast<size_t>(id)];
      if (v.op == ScalarOp::load) see(v.access);
      for (const int argument : v.args) {
        if (argument != ir::none) visit(argument);
      }
    };
    visit(compute.value);
  }

  int64_t vectors_of(int buffer) const {
    const ir::Dims& dims = program_.buffers[static_cast<size_t>(buffer)].dims;
    int64_t vectors = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t extent = dims[d].constant().value_or(vector_registers_);
      const bool lanes = d + 1 == dims.size() && in_lanes_.count(buffer) != 0;
      vectors *= lanes ? (extent + lanes_ - 1) / lanes_ : extent;
    }
    return vectors;
  }

  /// Registers that nothing needs anywhere in a loop.
  int64_t room_in(const Loop& loop) const {
    const Span span = span_of_.at(&loop);
    int64_t most = 0;
    for (int place = span.first; place <= span.last; ++place) {
      int64_t taken = 0;
      for (const auto& [buffer, alive] : alive_) {
        if (alive.first <= place && place <= alive.last) taken += vectors_of(buffer);
      }
      most = std::max(most, taken);
    }
    return std::max<int64_t>(vector_registers_ - most - working_registers(loop.body, 1), 0);
  }

  /// What vector loops of so many vectors need for what they work out.
  int64_t working_registers(const Block& block, int64_t vectors) const {
    int64_t most = other_registers;
    for (const Statement& statement : block) {
      if (const auto* loop = std::get_if<Loop>(&statement)) {
        const int64_t lanes = Facts().range(loop->extent).high;
        const bool vector = loop->kind == LoopKind::vector && lanes < vector_registers_ * lanes_;
        most =
            std::max(most, working_registers(loop->body, vector ? (lanes + lanes_ - 1) / lanes_ : vectors));
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        most = std::max(most, std::min(vectors, most_in_turn) * values_alive_in(compute->value) + 2);
      }
    }
    return most;
  }

  int64_t values_alive_in(int id) const {
    const Value& v = program_.values[static_cast<size_t>(id)];
    const ir::lane::Program* program = lane_program_of(v.op);
    int64_t most = program == nullptr ? 0 : values_alive(*program);
    for (const int argument : v.args) {
      if (argument != ir::none) most = std::max(most, values_alive_in(argument));
    }
    return most;
  }

  // Constants
  // -----------------------------------------------------------------------------------------------------

  using Counts = std::map<uint32_t, int64_t>;

  void count(const Block& block, Counts& found) const {
    for (const Statement& statement : block) {
      if (const auto* loop = std::get_if<Loop>(&statement)) {
        count(loop->body, found);
      } else if (const auto* compute = std::get_if<Compute>(&statement)) {
        // A constant that is only stored comes from memory as fast.
        const Value& top = program_.values[static_cast<size_t>(compute->value)];
        if (top.op != ScalarOp::real) count(compute->value, found);
      }
    }
  }

  void count(int id, Counts& found) const {
    const Value& v = program_.values[static_cast<size_t>(id)];
    if (v.type == ir::ElementType::f32 && v.op == ScalarOp::real)
      ++found[std::bit_cast<uint32_t>(static_cast<float>(v.real))];
    if (const ir::lane::Program* program = lane_program_of(v.op)) {
      for (const ir::lane::Instruction& instruction : program->instructions) {
        if (instruction.opcode == Opcode::constant || instruction.opcode == Opcode::i32_constant)
          ++found[instruction.literal];
      }
    }
    for (const int argument : v.args) {
      if (argument != ir::none) count(argument, found);
    }
  }

  static bool is_innermost(const Block& block) {
    return std::all_of(block.begin(), block.end(), [](const Statement& statement) {
      const auto* loop = std::get_if<Loop>(&statement);
      return loop == nullptr || (!counts_at_run_time(*loop) && is_innermost(loop->body));
    });
  }

  void plan_inside(const Loop& loop) {
    if (counts_at_run_time(loop)) return plan(loop);
    for (const Statement& statement : loop.body) {
      if (const auto* inner = std::get_if<Loop>(&statement)) plan_inside(*inner);
    }
  }

  void plan(const Loop& loop) {
    Counts found;
    count(loop.body, found);
    found.erase(0);  // needs no memory
    const int64_t room = room_in(loop);
    if (!is_innermost(loop.body) && static_cast<int64_t>(found.size()) > room) {
      for (const Statement& statement : loop.body) {
        if (const auto* inner = std::get_if<Loop>(&statement)) plan_inside(*inner);
      }
      return;
    }
    std::vector<uint32_t> wanted;
    for (const auto& [bits, uses] : found) wanted.push_back(bits);
    std::stable_sort(wanted.begin(), wanted.end(),
                     [&](uint32_t a, uint32_t b) { return found[a] > found[b]; });
    if (static_cast<int64_t>(wanted.size()) > room) wanted.resize(static_cast<size_t>(room));
    if (!wanted.empty()) planned_[&loop] = wanted;
  }

  const ir::loop::LoopProgram& program_;
  const int lanes_, vector_registers_;
  int place_ = 0;
  std::vector<const Loop*> open_;
  std::map<const Loop*, Span> span_of_;
  std::map<int, size_t> allocated_in_;  ///< per buffer: how many loops are around its allocation
  std::set<int> in_lanes_;              ///< buffers that have vectors of different elements
  std::map<int, Span> alive_;
  std::map<int, std::set<const Loop*>> kept_by_;  ///< loops that are not measured to their end yet
  std::map<const Loop*, std::vector<uint32_t>> planned_;
};

}  // namespace

std::map<const Loop*, std::vector<uint32_t>> plan_held_constants(const Phase& phase,
                                                                 const ir::loop::LoopProgram& program,
                                                                 int lanes, int vector_registers) {
  return Planner(program, lanes, vector_registers).run(phase);
}

}  // namespace axrun::jit::x86
