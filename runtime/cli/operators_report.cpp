#include "runtime/cli/operators_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "ir/graph_operators.h"
#include "ir/operator.h"
#include "runtime/cli/json_text.h"
#include "runtime/plan/kernel.h"
#include "runtime/version.h"

namespace axrun::cli {
namespace {

struct Row {
  std::set<int> since;
  const char* runs = "";
};

const char* domain_text(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain.data(); }

/// Whether a precompiled kernel was written for the operator. Without one, maps and reductions get a kernel
/// by their definition, and what else there is is interpreted.
bool has_own_kernel(const ir::OperatorEntry& entry) {
  const auto& factories = runtime::all_factories();
  return std::any_of(factories.begin(), factories.end(), [&](const runtime::FactoryEntry& row) {
    return row.domain == entry.domain && row.op == entry.name;
  });
}

/// By domain and name.
std::map<std::pair<std::string, std::string>, Row> rows() {
  std::map<std::pair<std::string, std::string>, Row> all;
  for (const ir::OperatorEntry& entry : ir::all_operators()) {
    if (entry.domain == ir::state_domain) continue;  // no model has these
    Row& row = all[{domain_text(entry.domain), std::string(entry.name)}];
    row.since.insert(entry.since);
    row.runs = has_own_kernel(entry) ? "kernel" : "definition";
  }
  for (const ir::GraphOperator& entry : ir::graph_operators()) {
    Row& row = all[{domain_text(entry.domain), std::string(entry.name)}];
    row.since.insert(entry.since);
    row.runs = "runtime";
  }
  return all;
}

}  // namespace

std::string operators_text() {
  std::string text = fmt::format("{:<26}{:<32}{:<12}{}\n", "domain", "operator", "run by", "from opset");
  for (const auto& [name, row] : rows()) {
    text +=
        fmt::format("{:<26}{:<32}{:<12}{}\n", name.first, name.second, row.runs, fmt::join(row.since, ", "));
  }
  return text;
}

std::string operators_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [name, row] : rows()) {
    list.push_back(
        {{"domain", name.first}, {"name", name.second}, {"run_by", row.runs}, {"since", row.since}});
  }
  return line_of({{"schema_version", 1}, {"version", runtime::version()}, {"operators", std::move(list)}});
}

}  // namespace axrun::cli
