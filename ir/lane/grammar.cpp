#include "ir/lane/grammar.h"

#include <algorithm>
#include <cctype>

#include "ir/error.h"
#include "ir/lasting.h"

namespace axrun::ir::lane {
namespace {

using Answer = GrammarRule::Answer;

bool is_input(Opcode opcode) { return opcode == Opcode::input || opcode == Opcode::i32_input; }

const Instruction& at(const Program& program, ValueId id) {
  return program.instructions[static_cast<size_t>(id)];
}

const Operation& operation(const Program& program, ValueId id) {
  return *find_operation(at(program, id).opcode);
}

std::string value(ValueId id) { return "%" + std::to_string(id); }

Answer name_is_word(const Program& program) {
  bool word = !program.name.empty() && std::isdigit(static_cast<unsigned char>(program.name[0])) == 0;
  for (const char c : program.name) {
    word = word && (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
  }
  if (!word) return "the name is not a word of letters, digits and _";
  return {};
}

Answer size_is_bounded(const Program& program) {
  if (program.instructions.size() > most_instructions) {
    return std::to_string(program.instructions.size()) + " instructions are more than " +
           std::to_string(most_instructions);
  }
  return {};
}

Answer opcode_is_known(const Program& program, ValueId id) {
  if (find_operation(at(program, id).opcode) == nullptr) {
    return "there is no operation " + std::to_string(static_cast<int>(at(program, id).opcode));
  }
  return {};
}

Answer inputs_come_first(const Program& program, ValueId id) {
  if (id > 0 && is_input(at(program, id).opcode) && !is_input(at(program, id - 1).opcode)) {
    return "an input follows " + value(id - 1) + ", which is none";
  }
  return {};
}

Answer arguments_are_earlier(const Program& program, ValueId id) {
  for (int k = 0; k < 3; ++k) {
    const ValueId argument = at(program, id).arguments[static_cast<size_t>(k)];
    const bool wanted = k < operation(program, id).arity;
    if (!wanted && argument != no_value) {
      return "'" + std::string(operation(program, id).name) + "' has " +
             std::to_string(operation(program, id).arity) + " arguments";
    }
    if (wanted && (argument < 0 || argument >= id)) {
      return "argument " + std::to_string(k) + " is " + value(argument) + ", which is not an earlier value";
    }
  }
  return {};
}

Answer argument_types_match(const Program& program, ValueId id) {
  for (int k = 0; k < operation(program, id).arity; ++k) {
    const Type wanted = operation(program, id).arguments[static_cast<size_t>(k)];
    const Type given = operation(program, at(program, id).arguments[static_cast<size_t>(k)]).result;
    if (wanted != given) {
      return "argument " + std::to_string(k) + " is " + std::string(name_of(given)) + " and must be " +
             std::string(name_of(wanted));
    }
  }
  return {};
}

Answer literal_is_in_range(const Program& program, ValueId id) {
  const uint32_t literal = at(program, id).literal;
  const Literal kind = operation(program, id).literal;
  if (kind == Literal::none && literal != 0) return "a literal stands where none belongs";
  if (kind == Literal::shift && literal > 31) return "the shift is not in 0..31";
  if (kind == Literal::table && literal >= program.tables.size()) return "there is no such table";
  return {};
}

Answer results_are_values(const Program& program) {
  if (program.results.empty()) return "there is no result";
  for (const ValueId result : program.results) {
    if (result < 0 || static_cast<size_t>(result) >= program.instructions.size()) {
      return "result " + value(result) + " is no value";
    }
  }
  return {};
}

}  // namespace

const std::vector<GrammarRule>& grammar() {
  static const auto& rules = lasting<std::vector<GrammarRule>>({
      {"name", "the program's name is a word", nullptr, name_is_word},
      {"size", "the number of instructions is bounded", nullptr, size_is_bounded},
      {"opcode", "every operation is a row of the table", opcode_is_known},
      {"inputs-first", "inputs come before everything else", inputs_come_first},
      {"arguments-earlier", "as many arguments as the operation takes, each an earlier value",
       arguments_are_earlier},
      {"argument-types", "arguments have the types that the operation takes", argument_types_match},
      {"literal", "literals stand only where they belong; shifts are 0..31; tables exist",
       literal_is_in_range},
      {"results", "at least one result, each a value", nullptr, results_are_values},
  });
  return rules;
}

std::vector<Violation> violations(const Program& program) {
  std::vector<Violation> found;
  for (const GrammarRule& rule : grammar()) {
    if (rule.program != nullptr) {
      if (Answer answer = rule.program(program)) found.push_back({rule.id, program.name, *answer});
    } else {
      for (size_t k = 0; k < program.instructions.size(); ++k) {
        const auto id = static_cast<ValueId>(k);
        if (Answer answer = rule.instruction(program, id)) found.push_back({rule.id, value(id), *answer});
      }
    }
    if (!found.empty()) return found;
  }
  return found;
}

std::string to_string(const Violation& violation) {
  return violation.where + ": " + violation.text + " [" + std::string(violation.rule) + "]";
}

void require_valid(const Program& program) {
  const std::vector<Violation> found = violations(program);
  if (!found.empty()) {
    throw Error(Fault::internal,
                "'" + program.name + "' is not a valid lane program: " + to_string(found[0]));
  }
}

uint32_t table_number(Program& program, const Table& table) {
  const auto found = std::find(program.tables.begin(), program.tables.end(), table);
  const auto number = static_cast<uint32_t>(found - program.tables.begin());
  if (found == program.tables.end()) program.tables.push_back(table);
  return number;
}

size_t input_count(const Program& program) {
  size_t count = 0;
  while (count < program.instructions.size() && is_input(program.instructions[count].opcode)) ++count;
  return count;
}

}  // namespace axrun::ir::lane
