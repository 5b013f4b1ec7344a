// Every slot that ort_abi.h declares against a table of the interface, where the table is at hand.
#include "runtime/onnxruntime_ep/ort_abi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "onnx_import/element_codes.h"

namespace axrun::ort {
namespace {

struct Row {
  std::string slot, signature;
};

/// By structure and function name; empty where there is no table.
std::map<std::pair<std::string, std::string>, Row> read_table() {
  std::map<std::pair<std::string, std::string>, Row> rows;
  std::ifstream file(AXRUN_SOURCE_DIR "/../shared/reference/onnxruntime_abi.tsv");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    if (cells.size() >= 6) rows[{cells[0], cells[4]}] = {cells[1], cells[5]};
  }
  return rows;
}

/// How many parameters a signature lists: commas of the outermost parentheses but for the "(*)".
std::size_t parameters(const std::string& list) {
  int depth = 0;
  std::size_t commas = 0;
  for (const char c : list) {
    depth += c == '(' || c == '<';
    depth -= c == ')' || c == '>';
    commas += c == ',' && depth == 0;
  }
  const bool none = list.empty() || list == "void";
  return none ? 0 : commas + 1;
}

std::string parameter_list(const std::string& signature) {
  const std::size_t open = signature.find("(*)(");
  return signature.substr(open + 4, signature.rfind(')') - open - 4);
}

TEST(OrtAbi, EverySlotIsWhereTheTableHasIt) {
  const auto table = read_table();
  if (table.empty()) GTEST_SKIP() << "no table of the interface beside the sources";
  std::ifstream file(AXRUN_SOURCE_DIR "/runtime/onnxruntime_ep/ort_abi.h");
  ASSERT_TRUE(file);
  const std::regex declaration(R"re(inline constexpr Function<(.*)> \w+\{(\d+), "(\w+)"\};.*)re");
  std::string structure;
  std::size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("// Ort", 0) == 0) structure = line.substr(3);
    if (line.find("inline constexpr Function<") == std::string::npos) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, declaration)) << line;
    const auto row = table.find({structure, match[3]});
    ASSERT_NE(row, table.end()) << structure << "." << match[3];
    EXPECT_EQ(match[2], row->second.slot) << match[3];
    const std::string ours = match[1];
    const std::size_t open = ours.find('(');
    EXPECT_EQ(parameters(ours.substr(open + 1, ours.rfind(')') - open - 1)),
              parameters(parameter_list(row->second.signature)))
        << match[3] << ": " << ours << " against " << row->second.signature;
    EXPECT_EQ(ours.rfind("Status*(", 0) == 0, row->second.signature.rfind("OrtStatus* (", 0) == 0)
        << match[3];
    ++compared;
  }
  EXPECT_GT(compared, 90u);
}

/// The runtime's name of an element type as ONNX has it: FLOAT is FLOAT in both.
TEST(OrtAbi, ElementTypesAreThoseOfTheTable) {
  std::ifstream file(AXRUN_SOURCE_DIR "/../shared/reference/onnxruntime_abi_enums.tsv");
  if (!file) GTEST_SKIP() << "no table of the interface beside the sources";
  const std::string prefix = "ONNXTensorElementDataType\tONNX_TENSOR_ELEMENT_DATA_TYPE_";
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(prefix, 0) != 0) continue;
    const std::size_t tab = line.find('\t', prefix.size());
    std::string name = line.substr(prefix.size(), tab - prefix.size());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "undefined") continue;
    const auto* const code =
        onnx_import::find_element_code(onnx_element_type(std::stoi(line.substr(tab + 1))));
    ASSERT_NE(code, nullptr) << name;
    EXPECT_EQ(code->name, name);
    ++compared;
  }
  EXPECT_GE(compared, 26);
  EXPECT_EQ(onnx_element_type(99), 0);
  EXPECT_EQ(onnx_element_type(-1), 0);
}

}  // namespace
}  // namespace axrun::ort
