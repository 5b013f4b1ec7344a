#include "ir/lane/text.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "ir/lane/grammar.h"
#include "ir/lane/math/math.h"

namespace axrun::ir::lane {
namespace {

TEST(LaneText, OfEveryMathFunctionParsesBack) {
  for (const MathFunction& function : math_functions()) {
    const Program program = function.make();
    EXPECT_EQ(program.name, function.name);
    EXPECT_TRUE(violations(program).empty());
    EXPECT_EQ(parse(print(program)), program) << print(program);
  }
}

/// A program with every operation: arguments of the right type come from the first values.
Program with_every_operation() {
  Program program;
  program.name = "every";
  program.instructions = {{Opcode::input, {no_value, no_value, no_value}, 0},
                          {Opcode::i32_input, {no_value, no_value, no_value}, 0},
                          {Opcode::less, {0, 0, no_value}, 0}};
  for (const Operation& operation : operations()) {
    if (operation.opcode == Opcode::input || operation.opcode == Opcode::i32_input) continue;
    Instruction instruction;
    instruction.opcode = operation.opcode;
    for (size_t k = 0; k < static_cast<size_t>(operation.arity); ++k) {
      const Type type = operation.arguments[k];
      instruction.arguments[k] = type == Type::f32 ? 0 : type == Type::i32 ? 1 : 2;
    }
    if (operation.literal == Literal::f32) instruction.literal = 0x80000001U;
    if (operation.literal == Literal::i32) instruction.literal = 0x80000000U;
    if (operation.literal == Literal::shift) instruction.literal = 31;
    if (operation.literal == Literal::table) instruction.literal = table_number(program, {1, 0xffffffffU});
    program.instructions.push_back(instruction);
    program.results.push_back(static_cast<ValueId>(program.instructions.size() - 1));
  }
  return program;
}

TEST(LaneText, OfEveryOperationParsesBack) {
  const Program program = with_every_operation();
  ASSERT_EQ(violations(program).size(), 0U);
  EXPECT_EQ(parse(print(program)), program) << print(program);
}

TEST(LaneText, TableIsInTheOrderOfOpcodesAndNamesAreUnique) {
  for (size_t k = 0; k < operations().size(); ++k) {
    EXPECT_EQ(static_cast<size_t>(operations()[k].opcode), k);
    EXPECT_EQ(find_operation(operations()[k].name), &operations()[k]);
  }
  EXPECT_EQ(operations().size(), static_cast<size_t>(Opcode::mask_not) + 1);
  EXPECT_EQ(find_operation(static_cast<Opcode>(operations().size())), nullptr);
}

/// Text, and what the refusal must say.
struct Refused {
  const char* text;
  const char* reason;
};

class LaneTextRefused : public testing::TestWithParam<Refused> {};

TEST_P(LaneTextRefused, WithItsReason) {
  try {
    parse(GetParam().text);
    FAIL() << "accepted: " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    EXPECT_NE(std::string(error.what()).find(GetParam().reason), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    , LaneTextRefused,
    testing::Values(Refused{"", "'lane' is expected"}, Refused{"lane f {", "'%' is expected"},
                    Refused{"lane f { %0 = input return %0 } more", "goes on"},
                    Refused{"lane f { %0 = input return %1 }", "[results]"},
                    Refused{"lane \"a b\" { %0 = input return %0 }", "[name]"},
                    Refused{"lane f { %1 = input return %1 }", "%0 comes next"},
                    Refused{"lane f { %0 = sine return %0 }", "no operation 'sine'"},
                    Refused{"lane f { %0 = input %1 = neg %1 return %1 }", "[arguments-earlier]"},
                    Refused{"lane f { %0 = input %1 = fma %0, %0 return %1 }", "',' is expected"},
                    Refused{"lane f { %0 = i32_input %1 = neg %0 return %1 }", "[argument-types]"},
                    Refused{"lane f { %0 = constant 0x0 %1 = input return %1 }", "[inputs-first]"},
                    Refused{"lane f { %0 = i32_input %1 = i32_shift_left %0, 32 return %1 }", "[literal]"},
                    Refused{"lane f { %0 = i32_constant 2147483648 return %0 }", "does not fit"},
                    Refused{"lane f { %0 = i32_constant -2147483649 return %0 }", "does not fit"},
                    Refused{"lane f { %0 = constant 0x100000000 return %0 }", "32 bits"},
                    Refused{"lane f { %0 = constant 1.0 return %0 }", "'0x' is expected"},
                    Refused{"lane f { %0 = i32_input %1 = lookup %0, [0x0] return %1 }", "',' is expected"},
                    Refused{"lane f { %0 = i32_input %1 = lookup %0, 0 return %1 }", "'[' is expected"},
                    Refused{"lane f { %0 = input return %99999999999 }", "too large"}));

TEST(LaneGrammar, RefusesWhatNoTextCanSay) {
  auto first_rule = [](auto&& change) {
    Program program = parse("lane f { %0 = input %1 = neg %0 return %1 }");
    change(program);
    const std::vector<Violation> found = violations(program);
    return found.empty() ? std::string("none") : std::string(found[0].rule);
  };
  EXPECT_EQ(first_rule([](Program&) {}), "none");
  EXPECT_EQ(first_rule([](Program& p) { p.instructions[1].opcode = static_cast<Opcode>(200); }), "opcode");
  EXPECT_EQ(first_rule([](Program& p) { p.instructions[1].arguments[1] = 0; }), "arguments-earlier");
  EXPECT_EQ(first_rule([](Program& p) { p.instructions[1].arguments[0] = no_value; }), "arguments-earlier");
  EXPECT_EQ(first_rule([](Program& p) { p.instructions[1].literal = 1; }), "literal");
  EXPECT_EQ(first_rule([](Program& p) {
              p.instructions = {{Opcode::i32_input, {no_value, no_value, no_value}, 0},
                                {Opcode::lookup, {0, no_value, no_value}, 0}};
            }),
            "literal");
  EXPECT_EQ(first_rule([](Program& p) { p.results.clear(); }), "results");
  EXPECT_EQ(first_rule([](Program& p) { p.results[0] = no_value; }), "results");
  EXPECT_EQ(first_rule([](Program& p) { p.instructions.resize(most_instructions + 1); }), "size");
}

}  // namespace
}  // namespace axrun::ir::lane
