#include "ir/lane/text.h"

#include <fmt/format.h>

#include <bit>

#include "ir/error.h"
#include "ir/lane/grammar.h"
#include "ir/scanner.h"

namespace axrun::ir::lane {
namespace {

std::string print(const Program& program, const Instruction& instruction) {
  const Operation& operation = *find_operation(instruction.opcode);
  std::string line(operation.name);
  for (int k = 0; k < operation.arity; ++k) {
    line += fmt::format("{}%{}", k == 0 ? " " : ", ", instruction.arguments[static_cast<size_t>(k)]);
  }
  switch (operation.literal) {
    case Literal::none:
      break;
    case Literal::f32:
      line +=
          fmt::format(" 0x{:08x}  # {:.9g}", instruction.literal, std::bit_cast<float>(instruction.literal));
      break;
    case Literal::i32:
      line += fmt::format(" {}", static_cast<int32_t>(instruction.literal));
      break;
    case Literal::shift:
      line += fmt::format(", {}", instruction.literal);
      break;
    case Literal::table: {
      const char* before = ", [";
      for (const uint32_t bits : program.tables[instruction.literal]) {
        line += fmt::format("{}0x{:08x}", before, bits);
        before = ", ";
      }
      line += "]";
    }
  }
  return line;
}

ValueId parse_value(text::Scanner& scanner) {
  scanner.expect("%");
  const uint64_t number = scanner.natural();
  if (number >= most_instructions) scanner.fail("the number of a value is too large");
  return static_cast<ValueId>(number);
}

uint32_t parse_bits(text::Scanner& scanner) {
  scanner.expect("0x");
  const uint64_t bits = scanner.hexadecimal();
  if (bits > UINT32_MAX) scanner.fail("a float has 32 bits");
  return static_cast<uint32_t>(bits);
}

uint32_t parse_literal(text::Scanner& scanner, Literal kind, Program& program) {
  if (kind == Literal::f32) return parse_bits(scanner);
  if (kind == Literal::table) {
    Table table = {};
    for (size_t k = 0; k < table.size(); ++k) {
      scanner.expect(k == 0 ? "[" : ",");
      table[k] = parse_bits(scanner);
    }
    scanner.expect("]");
    return table_number(program, table);
  }
  const bool negative = kind == Literal::i32 && scanner.accept("-");
  const uint64_t magnitude = scanner.natural();
  const uint64_t most = uint64_t{INT32_MAX} + (negative ? 1 : 0);
  if (magnitude > most) scanner.fail("the integer does not fit 32 bits");
  const auto bits = static_cast<uint32_t>(magnitude);
  return negative ? 0 - bits : bits;
}

Instruction parse_instruction(text::Scanner& scanner, Program& program) {
  const size_t start = scanner.position();
  const std::string name = scanner.name().text;
  const Operation* operation = find_operation(name);
  if (operation == nullptr) scanner.fail_at(start, "there is no operation '" + name + "'");
  Instruction instruction;
  instruction.opcode = operation->opcode;
  for (int k = 0; k < operation->arity; ++k) {
    if (k > 0) scanner.expect(",");
    instruction.arguments[static_cast<size_t>(k)] = parse_value(scanner);
  }
  if (operation->literal != Literal::none) {
    if (operation->arity > 0) scanner.expect(",");
    instruction.literal = parse_literal(scanner, operation->literal, program);
  }
  return instruction;
}

}  // namespace

std::string print(const Program& program) {
  std::string text = "lane " + program.name + " {\n";
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    text += fmt::format("  %{} = {}\n", k, print(program, program.instructions[k]));
  }
  text += "  return";
  for (size_t k = 0; k < program.results.size(); ++k) {
    text += fmt::format("{}%{}", k == 0 ? " " : ", ", program.results[k]);
  }
  return text + "\n}\n";
}

Program parse(std::string_view text) {
  text::Scanner scanner(text);
  Program program;
  scanner.expect_word("lane");
  program.name = scanner.name().text;
  scanner.expect("{");
  while (!scanner.accept_word("return")) {
    const size_t start = scanner.position();
    if (parse_value(scanner) != static_cast<ValueId>(program.instructions.size())) {
      scanner.fail_at(start, fmt::format("%{} comes next", program.instructions.size()));
    }
    scanner.expect("=");
    program.instructions.push_back(parse_instruction(scanner, program));
  }
  do {
    program.results.push_back(parse_value(scanner));
  } while (scanner.accept(","));
  scanner.expect("}");
  if (!scanner.at_end()) scanner.fail("the text goes on after the program");
  const std::vector<Violation> found = violations(program);
  if (!found.empty()) throw Error(Fault::user, "lane program: " + to_string(found[0]));
  return program;
}

}  // namespace axrun::ir::lane
