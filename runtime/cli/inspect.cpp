#include "runtime/cli/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/error.h"
#include "ir/infer.h"
#include "ir/operator.h"
#include "onnx_import/import.h"
#include "runtime/cli/json_text.h"
#include "runtime/cli/values.h"
#include "runtime/output_ports.h"
#include "runtime/version.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;

namespace {

struct PortLine {
  std::string name;
  std::string type;
  std::string shape;
};

struct Summary {
  onnx_import::ImportedModel model;
  std::vector<PortLine> inputs, outputs;
  std::vector<std::string> sizes;        ///< named, in order of appearance
  std::map<std::string, int> operators;  ///< "Conv", "com.microsoft.Attention"
  int nodes = 0;                         ///< bodies included
  int64_t parameters = 0;                ///< elements of constants
  int64_t parameter_bytes = 0;
  std::vector<std::string> notes;  ///< what is wrong in the file and was understood
  std::vector<std::string> refused;
};

std::string full_name(const ir::Node& node) {
  return node.domain.empty() ? node.op : fmt::format("{}.{}", node.domain, node.op);
}

void count(const ir::Graph& graph, Summary& summary, std::set<const void*>& seen) {
  for (const ir::Value& value : graph.values) {
    // Bodies share the constants of the graphs around them.
    if (!value.constant.defined() || !seen.insert(value.constant.data()).second) continue;
    summary.parameters += value.constant.size();
    summary.parameter_bytes += static_cast<int64_t>(value.constant.bytes());
  }
  for (const ir::Node& node : graph.nodes) {
    ++summary.nodes;
    ++summary.operators[full_name(node)];
    const bool known = node.custom != nullptr || ir::is_graph_operator(node.domain, node.op) ||
                       ir::find_operator(node.domain, node.op, node.version) != nullptr;
    if (!known) {
      summary.refused.push_back(
          fmt::format("{} '{}' (opset {}) is not supported", full_name(node), node.name, node.version));
    }
    for (const ir::Graph* body : ir::bodies_of(node)) count(*body, summary, seen);
  }
}

PortLine line_of_port(const runtime::Port& port) {
  if (port.kind != ir::ValueKind::tensor) return {port.name, kind_name(port.kind), ""};
  const std::string type(port.type == ir::ElementType::undefined ? "unknown type" : ir::name_of(port.type));
  return {port.name, type, port.dims ? ir::to_string(*port.dims) : "of unknown rank"};
}

Summary summarise(const std::string& path, const Operators& operators) {
  Summary summary;
  onnx_import::ImportOptions options;
  options.check_operators = false;
  options.operators = operators;
  options.notes = &summary.notes;
  summary.model = onnx_import::import_file(path, options);
  const ir::Graph& graph = *summary.model.graph;
  std::set<const void*> seen;
  count(graph, summary, seen);

  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    summary.inputs.push_back(line_of_port({value.name, value.kind, value.type, value.dims}));
  }
  summary.sizes = runtime::input_size_names(graph);
  // Outputs: what follows from the inputs, and what the file declares.
  ir::Inference inference(graph, {});
  if (summary.refused.empty()) {
    try {
      inference.run();
    } catch (const Error& error) {
      summary.refused.emplace_back(error.what());
    }
  }
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const ir::Value& value = graph.value(graph.outputs[k]);
    const ir::ValueFact& fact = inference.fact(graph.outputs[k]);
    summary.outputs.push_back(line_of_port(runtime::completed_port(
        {value.name, value.kind, fact.type, fact.dims}, summary.model.declared_outputs[k], summary.sizes)));
  }
  return summary;
}

std::vector<std::pair<std::string, int>> most_used_first(const std::map<std::string, int>& operators) {
  std::vector<std::pair<std::string, int>> list(operators.begin(), operators.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

Json ports_json(const std::vector<PortLine>& ports) {
  Json list = Json::array();
  for (const PortLine& port : ports) {
    list.push_back({{"name", port.name}, {"type", port.type}, {"shape", port.shape}});
  }
  return list;
}

}  // namespace

std::string inspect_text(const std::string& path, const Operators& operators) {
  const Summary summary = summarise(path, operators);
  std::string text = fmt::format("{:<12}{}, ONNX IR version {}{}\n", "model", path, summary.model.ir_version,
                                 summary.model.producer.empty() ? "" : ", by " + summary.model.producer);
  const auto line = [&](const std::string& heading, const std::string& content) {
    text += fmt::format("{:<12}{}\n", heading, content);
  };
  bool first = true;
  for (const auto& [domain, version] : summary.model.opsets) {
    line(first ? "opsets" : "", fmt::format("{} {}", domain.empty() ? "ai.onnx" : domain, version));
    first = false;
  }
  const auto list_ports = [&](const char* heading, const std::vector<PortLine>& ports) {
    for (size_t k = 0; k < ports.size(); ++k) {
      line(k == 0 ? heading : "", fmt::format("{}: {} {}", ports[k].name, ports[k].type, ports[k].shape));
    }
  };
  list_ports("inputs", summary.inputs);
  list_ports("outputs", summary.outputs);
  if (!summary.sizes.empty()) line("open sizes", fmt::format("{}", fmt::join(summary.sizes, ", ")));
  line("parameters", fmt::format("{} in {:.1f} KiB", summary.parameters,
                                 static_cast<double>(summary.parameter_bytes) / 1024));
  line("nodes", fmt::format("{}", summary.nodes));
  for (const auto& [op, number] : most_used_first(summary.operators))
    line("", fmt::format("{:>6} {}", number, op));
  for (size_t k = 0; k < summary.notes.size(); ++k) line(k == 0 ? "notes" : "", summary.notes[k]);
  for (size_t k = 0; k < summary.refused.size(); ++k) line(k == 0 ? "refused" : "", summary.refused[k]);
  return text;
}

std::string inspect_json(const std::string& path, const Operators& operators) {
  const Summary summary = summarise(path, operators);
  Json json;
  json["schema_version"] = 1;
  json["version"] = runtime::version();
  json["model"] = path;
  json["ir_version"] = summary.model.ir_version;
  json["producer"] = summary.model.producer;
  json["opsets"] = Json::object();
  for (const auto& [domain, version] : summary.model.opsets) {
    json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  }
  json["inputs"] = ports_json(summary.inputs);
  json["outputs"] = ports_json(summary.outputs);
  json["open_sizes"] = summary.sizes;
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["nodes"] = summary.nodes;
  json["operators"] = Json::object();
  for (const auto& [op, number] : most_used_first(summary.operators)) json["operators"][op] = number;
  json["notes"] = summary.notes;
  json["refused"] = summary.refused;
  return line_of(json);
}

}  // namespace axrun::cli
