#include <gtest/gtest.h>

#include <cfenv>
#include <iostream>
#include <map>
#include <set>

#include "jit/single_instruction.h"
#include "tests/isa/against_hardware.h"

namespace axrun::isa_test {
namespace {

using namespace ir::isa;

constexpr std::string_view letter(Width width) {
  return width == Width::x ? "x" : width == Width::y ? "y" : "z";
}

/// Every row at every width that this CPU can run; prints what is confirmed and what is not, and why.
void confirm(Encoding encoding) {
  std::map<std::string, std::string> unconfirmed;  // feature -> instructions
  size_t confirmed = 0, missing = 0;
  std::string bounded;
  std::string confirmed_names;
  uint64_t executions = 0;
  for (const Row& row : rows()) {
    if (row.encoding != encoding) continue;
    std::string widths;
    for (Width width : row.widths()) {
      const Verdict verdict = compare(row, width, seed());
      executions += verdict.executions;
      EXPECT_FALSE(verdict.counterexample) << *verdict.counterexample;
      if (!verdict.ran) {
        ++missing;
        unconfirmed[verdict.missing] += " " + row.name + "." + std::string(letter(width));
      } else if (verdict.confirmed()) {
        ++confirmed;
        widths += letter(width);
      }
    }
    if (!widths.empty()) confirmed_names += " " + row.name + ":" + widths;
    for (const Node& node : row.result)
      if (node.op == Op::within) {
        bounded += " " + row.name;
        break;
      }
  }
  std::cout << name_of(encoding) << ": " << confirmed << " confirmed (" << executions
            << " executions):" << confirmed_names << "\n"
            << name_of(encoding) << ": " << missing << " unconfirmed\n";
  for (const auto& [feature, names] : unconfirmed)
    std::cout << "  without " << feature << ":" << names << "\n";
  if (!bounded.empty()) std::cout << name_of(encoding) << ": bounded, not exact:" << bounded << "\n";
}

TEST(Rows, LegacyRowsAreWhatTheHardwareDoes) { confirm(Encoding::legacy); }
TEST(Rows, VexRowsAreWhatTheHardwareDoes) { confirm(Encoding::vex); }
TEST(Rows, EvexRowsAreWhatTheHardwareDoes) { confirm(Encoding::evex); }

TEST(Rows, PrintAsTheyAreWritten) {
  for (const Table& table : tables()) {
    std::string_view rest = table.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.empty() || line[0] == '#') continue;
      EXPECT_EQ(print_row(parse_row(line, table.encoding)), line);
    }
  }
}

TEST(Rows, MaskedRowsPrintParseAndPassTheGrammar) {
  for (const Row& row : rows())
    for (const Row& variant : variants(row)) {
      const std::string text = print_row(variant);
      const Row again = parse_row(text, row.encoding);
      EXPECT_EQ(print_row(again), text);
      check(again);
    }
}

/// Also those that this CPU cannot run.
TEST(Rows, CanAllBeEncoded) {
  size_t encoded = 0;
  for (const Row& row : rows())
    for (Width width : row.widths())
      for (const Row& variant : variants(row)) {
        int memory = -1;
        for (size_t k = 0; k < variant.operands.size(); ++k)
          if (!variant.operands[k].may_be_register) memory = static_cast<int>(k);
        const int immediate = variant.find(Place::immediate);
        const int value = immediate < 0 ? 0 : static_cast<int>(variant.operands[immediate].lowest);
        const jit::SingleInstruction instruction({&variant, width, memory, value});
        const auto first = static_cast<uint8_t>(instruction.encoding().at(0));
        const Encoding encoding = first == 0x62                    ? Encoding::evex
                                  : first == 0xc4 || first == 0xc5 ? Encoding::vex
                                                                   : Encoding::legacy;
        EXPECT_EQ(name_of(encoding), name_of(row.encoding)) << print_row(variant);
        ++encoded;
      }
  std::cout << rows().size() << " rows, " << encoded << " encodings\n";
  EXPECT_GT(encoded, 1000u);
}

TEST(Rows, NamesAreUniqueWithinAnEncoding) {
  std::set<std::string> names;
  for (const Row& row : rows()) {
    EXPECT_TRUE(names.insert(std::string(name_of(row.encoding)) + " " + row.name).second) << row.name;
  }
}

/// Every NaN is exact, except in the rows that say otherwise; this list is the whole of them.
TEST(Rows, OnlyTheseAreLooseAboutNaNs) {
  std::set<std::string> loose;
  for (const Row& row : rows())
    if (row.any_nan) loose.insert(row.name);
  EXPECT_EQ(loose, std::set<std::string>{"vdpbf16ps"});
}

}  // namespace
}  // namespace axrun::isa_test
