#include "runtime/input_domains.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace axrun::runtime {

using ir::Dims;
using ir::Graph;
using ir::Node;
using ir::ValueId;

namespace {

enum class Rule {
  index,        ///< into the dimension `axis` of input `data`
  index_tuple,  ///< into several leading dimensions of input `data`
  slice_start,  ///< into the first of the dimensions of input `data` that input 3 names
  one_hot,      ///< below the depth, which is input `data`
  length,       ///< of the dimension `axis` of input `data`
  zero,
  one,
  equal,  ///< compared with input `data`
};

/// What an operator takes input number `input` for.
struct Use {
  std::string_view domain, op;
  size_t input;
  Rule rule;
  size_t data;
  std::string_view axis_attribute;
  int64_t axis;  ///< where the attribute is absent
};

constexpr Use uses[] = {
    {"", "Gather", 1, Rule::index, 0, "axis", 0},
    {"", "GatherElements", 1, Rule::index, 0, "axis", 0},
    {"", "Scatter", 1, Rule::index, 0, "axis", 0},
    {"", "ScatterElements", 1, Rule::index, 0, "axis", 0},
    {"", "GatherND", 1, Rule::index_tuple, 0, "", 0},
    {"", "ScatterND", 1, Rule::index_tuple, 0, "", 0},
    {"", "Slice", 1, Rule::slice_start, 0, "", 0},
    {"", "OneHot", 0, Rule::one_hot, 1, "", 0},
    {"", "RNN", 4, Rule::length, 0, "", 0},
    {"", "GRU", 4, Rule::length, 0, "", 0},
    {"", "LSTM", 4, Rule::length, 0, "", 0},
    {"", "ReverseSequence", 1, Rule::length, 0, "time_axis", 0},
    {"", "Expand", 1, Rule::one, 0, "", 0},
    {"", "Tile", 1, Rule::one, 0, "", 0},
    {"", "ConstantOfShape", 0, Rule::one, 0, "", 0},
    {"", "TopK", 1, Rule::one, 0, "", 0},
    {"", "Pad", 1, Rule::zero, 0, "", 0},
    {"", "Equal", 0, Rule::equal, 1, "", 0},
    {"", "Equal", 1, Rule::equal, 0, "", 0},
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, Rule::index, 0, "", -1},
    {"com.microsoft", "EmbedLayerNormalization", 0, Rule::index, 2, "", 0},
    {"com.microsoft", "EmbedLayerNormalization", 1, Rule::index, 4, "", 0},
    {"com.microsoft", "EmbedLayerNormalization", 8, Rule::index, 3, "", 0},
    {"com.microsoft", "RotaryEmbedding", 1, Rule::index, 2, "", 0},
    {"com.microsoft", "MRotaryEmbedding", 1, Rule::index, 2, "", 0},
    {"com.microsoft", "QEmbedLayerNormalization", 0, Rule::index, 2, "", 0},
    {"com.microsoft", "QEmbedLayerNormalization", 1, Rule::index, 4, "", 0},
};

/// Operators whose results are elements of their inputs; of most only input 0 counts.
struct Forward {
  std::string_view op;
  enum { first, all, branches } inputs;
};

constexpr Forward forwards[] = {
    {"Cast", Forward::first},     {"CastLike", Forward::first},       {"Clip", Forward::first},
    {"Concat", Forward::all},     {"Expand", Forward::first},         {"Flatten", Forward::first},
    {"Gather", Forward::first},   {"Identity", Forward::first},       {"Reshape", Forward::first},
    {"Slice", Forward::first},    {"Split", Forward::first},          {"Squeeze", Forward::first},
    {"Tile", Forward::first},     {"Transpose", Forward::first},      {"Unsqueeze", Forward::first},
    {"Where", Forward::branches}, {"GatherElements", Forward::first},
};

bool forwards_input(const Node& node, size_t input) {
  if (!node.domain.empty()) return false;
  for (const Forward& forward : forwards) {
    if (forward.op != node.op) continue;
    return forward.inputs == Forward::all || (input == 0) == (forward.inputs == Forward::first);
  }
  return false;
}

int64_t integer_attribute(const Node& node, std::string_view name, int64_t otherwise) {
  const auto found = node.attributes.find(std::string(name));
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

/// Follows the inputs of the main graph through its nodes.
class Tracer {
 public:
  explicit Tracer(size_t inputs) : domains_(inputs) {}

  /// For each value, the inputs whose elements it consists of.
  using Origins = std::vector<std::vector<size_t>>;
  /// For each value, where its dims and constant are to be looked up: for a captured one, in the graph
  /// around.
  using Sources = std::vector<const ir::Value*>;

  static Sources own_values(const Graph& graph) {
    Sources sources;
    for (const ir::Value& value : graph.values) sources.push_back(&value);
    return sources;
  }

  void walk(const Graph& graph, const Sources& sources, Origins& origins) {
    for (const Node& node : graph.nodes) {
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == ir::absent) continue;
        const std::vector<size_t> from = origins[static_cast<size_t>(node.inputs[k])];
        if (from.empty()) continue;
        for (const Use& use : uses) {
          if (use.input == k && use.op == node.op && use.domain == node.domain)
            note(sources, node, use, from);
        }
        if (!forwards_input(node, k)) continue;
        for (ValueId output : node.outputs) add(origins, output, from);
      }
      for (const Graph* body : ir::bodies_of(node)) enter(node, *body, sources, origins);
    }
  }

  std::vector<InputDomain> take() { return std::move(domains_); }

 private:
  static void add(Origins& origins, ValueId value, const std::vector<size_t>& from) {
    if (value == ir::absent) return;
    std::vector<size_t>& known = origins[static_cast<size_t>(value)];
    for (size_t input : from) {
      if (std::find(known.begin(), known.end(), input) == known.end()) known.push_back(input);
    }
  }

  /// Inputs of Loop and Scan bodies are the node's own, in order; results of bodies are the node's (a Loop's
  /// after its condition).
  void enter(const Node& node, const Graph& body, const Sources& sources, Origins& origins) {
    Origins inner(body.values.size());
    for (const auto& [outer, here] : body.captures) add(inner, here, origins[static_cast<size_t>(outer)]);
    for (size_t k = 0; k < body.inputs.size() && k < node.inputs.size(); ++k) {
      if (node.inputs[k] != ir::absent)
        add(inner, body.inputs[k], origins[static_cast<size_t>(node.inputs[k])]);
    }
    Sources inner_sources = own_values(body);
    for (const auto& [outer, here] : body.captures) {
      inner_sources[static_cast<size_t>(here)] = sources[static_cast<size_t>(outer)];
    }
    walk(body, inner_sources, inner);
    const size_t skipped = node.op == "Loop" ? 1 : 0;
    for (size_t k = skipped; k < body.outputs.size() && k - skipped < node.outputs.size(); ++k) {
      add(origins, node.outputs[k - skipped], inner[static_cast<size_t>(body.outputs[k])]);
    }
  }

  static std::optional<Dims> dims_of(const Sources& sources, ValueId id) {
    const ir::Value& value = *sources[static_cast<size_t>(id)];
    return value.constant.defined() ? ir::to_dims(value.constant.shape()) : value.dims;
  }

  static const ir::Tensor* constant_of(const Sources& sources, ValueId id) {
    const ir::Tensor& constant = sources[static_cast<size_t>(id)]->constant;
    const bool readable =
        constant.defined() && constant.size() > 0 && constant.type() != ir::ElementType::string;
    return readable ? &constant : nullptr;
  }

  void note(const Sources& sources, const Node& node, const Use& use, const std::vector<size_t>& inputs) {
    if (use.data >= node.inputs.size() || node.inputs[use.data] == ir::absent) return;
    const ValueId data = node.inputs[use.data];
    const auto dims = dims_of(sources, data);
    InputDomain found;
    found.kind = InputDomain::Kind::constant;
    const char* verb = "is a size or count of";
    switch (use.rule) {
      case Rule::index:
      case Rule::slice_start:
      case Rule::length: {
        verb = use.rule == Rule::length ? "is a length in" : "indexes";
        found.kind = use.rule == Rule::length ? InputDomain::Kind::length : InputDomain::Kind::index;
        if (!dims) break;
        const auto rank = static_cast<int64_t>(dims->size());
        int64_t axis = integer_attribute(node, use.axis_attribute, use.axis);
        if (use.rule == Rule::slice_start && node.inputs.size() > 3 && node.inputs[3] != ir::absent) {
          const ir::Tensor* axes = constant_of(sources, node.inputs[3]);
          if (axes == nullptr) break;
          axis = axes->get_int(0);
        }
        if (axis < 0) axis += rank;
        if (axis >= 0 && axis < rank) found.bounds.push_back((*dims)[static_cast<size_t>(axis)]);
        break;
      }
      case Rule::index_tuple: {
        verb = "indexes";
        found.kind = InputDomain::Kind::index;
        const int64_t first = std::max<int64_t>(0, integer_attribute(node, "batch_dims", 0));
        for (int64_t d = first; dims && d < static_cast<int64_t>(dims->size()); ++d) {
          found.bounds.push_back((*dims)[static_cast<size_t>(d)]);
        }
        break;
      }
      case Rule::one_hot:
        verb = "selects in";
        found.kind = InputDomain::Kind::index;
        if (const ir::Tensor* depth = constant_of(sources, data))
          found.bounds.emplace_back(depth->get_int(0));
        break;
      case Rule::zero:
      case Rule::one:
        found.value = use.rule == Rule::one ? 1 : 0;
        break;
      case Rule::equal: {
        const ir::Tensor* wanted = constant_of(sources, data);
        if (wanted == nullptr || wanted->size() != 1) return;
        verb = "is compared by";
        found.value = wanted->get_int(0);
        break;
      }
    }
    found.reason = fmt::format("{} {} '{}'", verb, node.op, node.name);
    for (size_t input : inputs) merge(domains_[input], found);
  }

  /// Bounds of further uses are added; otherwise the first use counts.
  static void merge(InputDomain& known, const InputDomain& found) {
    if (known.kind == InputDomain::Kind::free) {
      known = found;
    } else if (known.kind == found.kind) {
      known.bounds.insert(known.bounds.end(), found.bounds.begin(), found.bounds.end());
    }
  }

  std::vector<InputDomain> domains_;
};

}  // namespace

std::vector<InputDomain> input_domains(const Graph& graph) {
  Tracer tracer(graph.inputs.size());
  Tracer::Origins origins(graph.values.size());
  for (size_t k = 0; k < graph.inputs.size(); ++k) {
    origins[static_cast<size_t>(graph.inputs[k])].push_back(k);
  }
  tracer.walk(graph, Tracer::own_values(graph), origins);
  return tracer.take();
}

}  // namespace axrun::runtime
