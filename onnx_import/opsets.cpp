#include "onnx_import/opsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ir/error.h"
#include "ir/graph_operators.h"
#include "ir/operator.h"
#include "onnx_import/names.h"

namespace axrun::onnx_import {
namespace {

/// Those that graphs are made of for states are no model's.
bool is_for_models(std::string_view domain) { return domain != ir::state_domain; }

/// The newest versions that the operator table was written for (ONNX 1.23). What a later one changes is
/// unknown.
constexpr std::array<std::pair<std::string_view, int>, 2> newest_versions = {{{"", 28}, {"ai.onnx.ml", 5}}};

std::string_view why_missing(const ir::Node& node) {
  bool domain_known = false;
  bool name_known = false;
  for (const ir::OperatorEntry& entry : ir::all_operators()) {
    if (entry.domain != node.domain || !is_for_models(entry.domain)) continue;
    domain_known = true;
    name_known |= entry.name == node.op;
  }
  if (name_known) return "the operator is known, but not at this version";
  return domain_known ? "unknown operator"
                      : "unknown domain (operators of your own: --operators, axrun_operators_add)";
}

/// Of text generation: what is wrong, or missing here; empty for all else.
std::string why_not_generated(const ir::Node& node) {
  if (node.domain != "com.microsoft") return "";
  const bool is_whisper = node.op == "WhisperBeamSearch";
  const auto kind = node.attributes.find("model_type");
  const int64_t type = kind == node.attributes.end() ? (is_whisper ? 2 : 0) : kind->second.integer;
  const bool is_known =
      type == 2 ? is_whisper || node.op == "BeamSearch" : !is_whisper && (type == 0 || type == 1);
  if (!is_known) return fmt::format("model_type {}", type);
  for (size_t k = 3; k < node.outputs.size(); ++k) {
    if (node.outputs[k] != ir::absent) return fmt::format("output {}", k);
  }
  return "";
}

/// Of the operators that axrun has in a domain; 0: it has none.
int newest_version(std::string_view domain) {
  for (const auto& [known, newest] : newest_versions) {
    if (known == domain) return newest;
  }
  int newest = 0;
  for (const ir::OperatorEntry& entry : ir::all_operators()) {
    if (entry.domain == domain && is_for_models(domain)) newest = std::max(newest, entry.since);
  }
  for (const ir::GraphOperator& entry : ir::graph_operators()) {
    if (entry.domain == domain) newest = std::max(newest, entry.since);
  }
  return newest;
}

}  // namespace

std::string_view plain_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::string domain_name(std::string_view domain) { return domain.empty() ? "ai.onnx" : printable(domain); }

Opsets read_opsets(const std::vector<std::string_view>& messages, ImportContext& context) {
  Opsets opsets;
  for (const std::string_view bytes : messages) {
    const auto message = read_message<OpsetMessage>(bytes, context.unknown_fields);
    const std::string domain = printable(plain_domain(message.domain));
    if (message.version > INT32_MAX) {
      throw Error(Fault::model,
                  fmt::format("the model imports version {} of {}", message.version, domain_name(domain)));
    }
    int& version = opsets[domain];
    version = std::max(version, static_cast<int>(std::max<int64_t>(message.version, 0)));
    if (message.version < 1) {
      context.note(
          fmt::format("version {} of {} is imported: there is none", message.version, domain_name(domain)));
    }
  }
  if (!context.options.check_operators) return opsets;
  for (const auto& [domain, newest] : newest_versions) {
    const auto found = opsets.find(domain);
    if (found != opsets.end() && found->second > newest) {
      context.unsupported.push_back(fmt::format("opset {} of {}: the newest known one is {}", found->second,
                                                domain_name(domain), newest));
    }
  }
  return opsets;
}

int version_of(const ir::Node& node, const Opsets& opsets, ImportContext& context) {
  const auto imported = opsets.find(node.domain);
  if (imported != opsets.end() && imported->second > 0) return imported->second;
  const auto refuse = [&](const std::string& why) {
    throw Error(Fault::model, fmt::format("{} {}: the model {}", node.op, in_quotes(node.name), why));
  };
  const std::string domain = domain_name(node.domain);
  if (imported != opsets.end()) {
    refuse(
        fmt::format("imports version 0 of {}, which has no operators; ONNX Runtime refuses it, too", domain));
  }
  const int newest = newest_version(node.domain);
  if (newest == 0) refuse(fmt::format("does not import the domain {}", domain));
  if (opsets.empty()) {
    refuse(fmt::format("does not import the domain {}, nor any other; ONNX Runtime refuses it, too", domain));
  }
  context.assumed_opsets.emplace(node.domain, newest);
  context.note(fmt::format(
      "the domain {} is not imported: version {} is taken, the newest known; ONNX Runtime does the same",
      domain, newest));
  return newest;
}

void find_operator_of(ir::Node& node, ImportContext& context) {
  const auto& custom = context.options.operators;
  if (custom != nullptr) node.custom = custom->find(node.domain, node.op, node.version);
  if (node.custom != nullptr || !context.options.check_operators) return;
  if (is_for_models(node.domain) && ir::find_operator(node.domain, node.op, node.version) != nullptr) return;
  if (ir::is_graph_operator(node.domain, node.op)) {
    const std::string reason = why_not_generated(node);
    if (reason.empty()) return;
    context.unsupported.push_back(fmt::format("{} {}: {}", node.op, in_quotes(node.name), reason));
    context.unsupported_node = ErrorPlace::of_node(node.name, node.op);
    return;
  }
  context.unsupported.push_back(fmt::format("{} {} ({} {}): {}", node.op, in_quotes(node.name),
                                            domain_name(node.domain), node.version, why_missing(node)));
  context.unsupported_node = ErrorPlace::of_node(node.name, node.op);
}

}  // namespace axrun::onnx_import
