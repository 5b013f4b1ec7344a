#include "onnx_import/gradient/rules.h"

namespace axrun::onnx_import::gradient {
namespace {

void reshaped(Step& s) { s.result[0] = s.w.reshape(s.grad[0], s.w.shape(s.in[0])); }

void transpose(Step& s) {
  const std::vector<int64_t> order = s.context.integers("perm");
  if (order.empty()) {
    s.result[0] = s.w.node("Transpose", {s.grad[0]});
    return;
  }
  std::vector<int64_t> back(order.size());
  for (size_t k = 0; k < order.size(); ++k) back.at(static_cast<size_t>(order[k])) = static_cast<int64_t>(k);
  s.result[0] = s.w.node("Transpose", {s.grad[0]}, {{"perm", integers(back)}});
}

void concat(Step& s) {
  const int64_t axis = s.context.integer("axis", 1);
  std::vector<Var> lengths;
  for (const Var& x : s.in) lengths.push_back(s.w.length(x, axis));
  const Var sizes = s.w.node("Concat", lengths, {{"axis", integer(0)}});
  const std::vector<Var> parts = s.w.nodes("Split", {s.grad[0], sizes}, {{"axis", integer(axis)}}, s.in.size());
  s.result.assign(parts.begin(), parts.end());
}

void split(Step& s) {
  std::vector<Var> parts;
  for (size_t k = 0; k < s.out.size(); ++k) {
    if (!s.out[k].present()) s.refuse("an output that is left out");
    parts.push_back(s.grad_or_zeros(k));
  }
  s.result[0] = s.w.node("Concat", parts, {{"axis", integer(s.context.integer("axis", 0))}});
}

/// Any operator that only selects elements of input 0, some perhaps not at all or more than once: applied to
/// the elements' own positions it says which, and derivatives are added there.
void selected(Step& s, const std::vector<Var>& others, const ir::Node& node) {
  std::vector<ir::ValueId> inputs = {s.w.positions(s.in[0]).id};
  for (const Var& other : others) inputs.push_back(other.id);
  while (inputs.back() == ir::absent) inputs.pop_back();
  s.result[0] = s.w.added_at(s.grad[0], s.w.copy(node, inputs, 1).front(), s.in[0]);
}

void selection(Step& s) { selected(s, {s.in.begin() + 1, s.in.end()}, s.node); }

/// What was added is selected from one past the last position.
void pad(Step& s) {
  ir::Node node = s.node;
  Var pads;
  if (s.version() < 11) {
    pads = s.w.constant(s.context.integers("pads"));
    node.attributes.erase("pads");
    node.attributes.erase("value");
    node.version = Writer::version;
  } else {
    pads = s.in[1];
  }
  const Var axes = s.has(3) ? s.in[3] : s.w.none();
  selected(s, {pads, s.w.node("Size", {s.in[0]}), axes}, node);
}

void expand(Step& s) { s.result[0] = s.w.reduced_to(s.grad[0], s.in[0]); }

/// None and add: what was replaced has no derivative.
void scatter(Step& s, const char* op, const char* reader, const Attributes& reader_attributes) {
  const std::string reduction = s.context.string("reduction", "none");
  if (reduction != "none" && reduction != "add") s.refuse("reduction '" + reduction + "'");
  const Var g = s.grad[0], indices = s.in[1];
  if (s.wants(0)) {
    Attributes attributes = s.node.attributes;
    attributes.erase("reduction");
    s.result[0] = reduction == "add" ? g : s.w.node(op, {g, indices, s.w.filled(0, s.in[2])}, attributes);
  }
  if (s.wants(2)) s.result[2] = s.w.node(reader, {g, indices}, reader_attributes);
}

void scatter_elements(Step& s) {
  scatter(s, "ScatterElements", "GatherElements", {{"axis", integer(s.context.integer("axis", 0))}});
}

void scatter_nd(Step& s) { scatter(s, "ScatterND", "GatherND", {}); }

void cumulative_sum(Step& s) {
  s.result[0] = s.w.node("CumSum", {s.grad[0], s.in[1]},
                         {{"exclusive", integer(s.context.integer("exclusive", 0))},
                          {"reverse", integer(1 - s.context.integer("reverse", 0))}});
}

void trilu(Step& s) {
  std::vector<Var> inputs = {s.grad[0]};
  if (s.has(1)) inputs.push_back(s.in[1]);
  s.result[0] = s.w.node("Trilu", inputs, s.node.attributes);
}

}  // namespace

void movement_rules(Rules& rules) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) rules[op] = reshaped;
  rules["Transpose"] = transpose;
  rules["Concat"] = concat;
  rules["Split"] = split;
  for (const char* op : {"Slice", "Gather", "GatherElements", "GatherND", "Tile", "DepthToSpace",
                         "SpaceToDepth", "ReverseSequence", "Compress"}) {
    rules[op] = selection;
  }
  rules["Pad"] = pad;
  rules["Expand"] = expand;
  rules["ScatterElements"] = scatter_elements;
  rules["ScatterND"] = scatter_nd;
  rules["CumSum"] = cumulative_sum;
  rules["Trilu"] = trilu;
}

}  // namespace axrun::onnx_import::gradient
