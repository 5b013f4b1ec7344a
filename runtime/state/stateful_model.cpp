#include "runtime/state/stateful_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error_place.h"

namespace axrun::runtime {
namespace {

size_t port_named(const std::vector<Port>& ports, const std::string& name, const char* what) {
  const auto port =
      std::find_if(ports.begin(), ports.end(), [&](const Port& one) { return one.name == name; });
  if (port == ports.end()) throw Error(Fault::user, fmt::format("the model has no {} '{}'", what, name));
  return static_cast<size_t>(port - ports.begin());
}

/// The same, but for what has been done to the graph.
SessionOptions options_of(const SessionState& session) {
  SessionOptions options = session.options;
  options.shapes.clear();
  options.dims.clear();
  options.plans_aside = false;
  return options;
}

}  // namespace

StatefulModel::StatefulModel(const SessionState& of, const std::map<std::string, std::string>& names,
                             uint64_t number)
    : session_number_(number),
      model_inputs_(of.inputs.size()),
      model_outputs_(of.outputs.size()),
      keeps_input_(model_inputs_, false),
      keeps_output_(model_outputs_, false) {
  if (names.empty()) throw Error(Fault::user, "a state of no values");
  std::vector<std::pair<size_t, size_t>> feeds;
  for (const auto& [output, input] : names) {
    feeds.emplace_back(port_named(of.outputs, output, "output"), port_named(of.inputs, input, "input"));
    keeps_output_[feeds.back().first] = true;
    if (keeps_input_[feeds.back().second]) {
      throw PlacedError(Fault::user, fmt::format("input '{}' cannot be two outputs at once", input),
                        ErrorPlace::of_input(input));
    }
    keeps_input_[feeds.back().second] = true;
  }
  StateGraph made = make_state_graph(*of.model.graph, of.inputs, of.outputs, feeds);
  for (const StateFeed& feed : made.feeds) {
    const Port& input = of.inputs[feed.input];
    Kept kept{feed, input.name, of.outputs[feed.output].name, input.type, *input.dims, {}};
    for (const ir::Dim& dim : kept.dims) {
      kept.seen.emplace_back();
      for (size_t k = 0; k < model_inputs_ && !dim.is_constant() && !kept.seen.back(); ++k) {
        if (keeps_input_[k] || of.inputs[k].kind != ir::ValueKind::tensor || !of.inputs[k].dims) continue;
        const auto same = std::find(of.inputs[k].dims->begin(), of.inputs[k].dims->end(), dim);
        if (same == of.inputs[k].dims->end()) continue;
        kept.seen.back() = {k, static_cast<size_t>(same - of.inputs[k].dims->begin())};
      }
    }
    kept_.push_back(std::move(kept));
  }
  ir::Model model = of.model;
  model.graph = made.graph;
  session_ =
      std::make_unique<SessionState>(std::move(model), options_of(of), std::vector<ir::Value>(), of.packs);
}

}  // namespace axrun::runtime
