// Vector math: functions of one float, written out from their lane programs.
#include "ir/lane/math/math.h"
#include "ir/lasting.h"
#include "jit/x86/emitter.h"
#include "jit/x86/functions.h"

namespace axrun::jit::x86 {

using ir::ScalarOp;
using ir::lane::Opcode;

const ir::lane::Program* lane_program_of(ScalarOp op) {
  static const ir::lane::Program &exp = lasting(ir::lane::exp_program()),
                                 &log = lasting(ir::lane::log_program()),
                                 &tanh = lasting(ir::lane::tanh_program()),
                                 &erf = lasting(ir::lane::erf_program());
  switch (op) {
    case ScalarOp::exp:
      return &exp;
    case ScalarOp::log:
      return &log;
    case ScalarOp::tanh:
      return &tanh;
    case ScalarOp::erf:
      return &erf;
    default:
      return nullptr;
  }
}

/// A function of one float, written out from its lane program.
LaneValue PhaseEmitter::function(const ir::lane::Program& program, const LaneValue& argument) {
  std::vector<int> last_use(program.instructions.size(), -1);
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    for (const ir::lane::ValueId id : program.instructions[k].arguments) {
      if (id != ir::lane::no_value) last_use[static_cast<size_t>(id)] = static_cast<int>(k);
    }
  }
  std::vector<LaneValue> made(program.instructions.size());
  std::vector<bool> own(program.instructions.size(), false);
  std::map<ir::lane::ValueId, LaneValue> halves;  // of tables, by index
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const ir::lane::Instruction& instruction = program.instructions[k];
    if (instruction.opcode == Opcode::input) {
      made[k] = without_death(argument);
      if (made[k].kind == LaneValue::Kind::constant) made[k] = LaneValue::of(lanes_.in_register(made[k]));
      continue;
    }
    std::array<LaneValue, 3> arguments;
    for (size_t a = 0; a < 3; ++a) {
      const ir::lane::ValueId id = instruction.arguments[a];
      if (id == ir::lane::no_value) continue;
      const auto place = static_cast<size_t>(id);
      arguments[a] = made[place];
      int times = 0;
      for (const ir::lane::ValueId other : instruction.arguments) times += other == id;
      arguments[a].dies = own[place] && last_use[place] == static_cast<int>(k) && times == 1;
    }
    if (instruction.opcode == Opcode::lookup) {
      const auto [half, first] = halves.try_emplace(instruction.arguments[0]);
      if (first) half->second = lanes_.upper_half(arguments[0]);
      made[k] = lanes_.lookup(arguments[0], half->second, program.tables[instruction.literal]);
    } else {
      made[k] = lanes_.apply(instruction.opcode, arguments, instruction.literal);
    }
    own[k] = made[k].kind == LaneValue::Kind::vector;
    for (size_t a = 0; a < 3; ++a) {
      const bool passed_on = arguments[a].kind == LaneValue::Kind::vector &&
                             made[k].kind == LaneValue::Kind::vector && made[k].vector == arguments[a].vector;
      if (!passed_on || arguments[a].dies) continue;
      // One register for two values: it lives on.
      own[k] = false;
      last_use[static_cast<size_t>(instruction.arguments[a])] = static_cast<int>(program.instructions.size());
    }
  }
  return made[static_cast<size_t>(program.results[0])];
}

}  // namespace axrun::jit::x86
