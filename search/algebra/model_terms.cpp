#include "search/algebra/model_terms.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/operator.h"

namespace axrun::search::algebra {
namespace {

uint64_t hash_of(const ir::Tensor& tensor) {
  uint64_t hash = 14695981039346656037u;
  const auto* bytes = tensor.as<unsigned char>();
  for (size_t k = 0; k < tensor.bytes(); ++k) hash = (hash ^ bytes[k]) * 1099511628211u;
  return hash;
}

}  // namespace

ModelTerms::ModelTerms(const ir::Inference& inference, const std::function<bool(ir::ValueId)>& apart,
                       const ConstantContent& content)
    : inference_(inference), content_(content ? content : hash_of) {
  const ir::Graph& graph = inference.graph();
  for (const ir::ValueId id : graph.inputs) add_leaf(id);
  for (const auto& [outer, inner] : graph.captures) add_leaf(inner);
  for (const ir::Node& node : graph.nodes) add_node(node, apart);
  for (const ir::ValueId id : graph.outputs)
    if (const TermId term = term_of(id); term != no_term) outputs_.push_back(term);
}

TermId ModelTerms::term_of(ir::ValueId value) const {
  const auto found = ids_.find(value);
  return found == ids_.end() ? no_term : found->second;
}

std::string ModelTerms::value_name(TermId term) const {
  for (const auto& [value, id] : ids_)
    if (id == term) return inference_.graph().value(value).name;
  return "";
}

void ModelTerms::add_leaf(ir::ValueId value) {
  if (ids_.count(value) != 0) return;
  const ir::ValueFact& fact = inference_.fact(value);
  if (!fact.dims || fact.type == ir::ElementType::undefined || fact.type == ir::ElementType::string) return;
  const bool constant = fact.constant.defined();
  if (constant && fact.constant.size() == 1 && ir::is_float(fact.type) &&
      std::isfinite(fact.constant.get_real(0))) {
    ids_[value] = terms_.literal(fact.type, fact.constant.get_real(0), *fact.dims);
    return;
  }
  const std::string name = constant ? fmt::format("constant_{}_{:016x}{}", ir::name_of(fact.type),
                                                  content_(fact.constant), ir::to_string(*fact.dims))
                                    : "value_" + inference_.graph().value(value).name;
  ids_[value] = terms_.leaf(name, {fact.type, *fact.dims, constant});
}

TermId ModelTerms::part_of(const ir::Node& node) {
  if (node.op != "Gather" || !node.domain.empty() || node.inputs.size() != 2) return no_term;
  const ir::Tensor& indices = inference_.fact(node.inputs[1]).constant;
  const auto& to = inference_.fact(node.outputs[0]).dims;
  if (!indices.defined() || indices.size() != 1 || !to) return no_term;
  add_leaf(node.inputs[0]);
  const TermId x = term_of(node.inputs[0]);
  if (x == no_term) return no_term;
  ir::Dims size = terms_[x].facts.dims;
  const auto rank = static_cast<int64_t>(size.size());
  const auto attribute = node.attributes.find("axis");
  const int64_t axis = attribute == node.attributes.end() ? 0 : attribute->second.integer;
  const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const int64_t index = indices.get_int(0);
  // An index that may be outside is an error, which a Slice is not.
  if (d >= size.size() || !size[d].is_constant() || index >= size[d].value() || index < -size[d].value())
    return no_term;
  ir::Dims begin(size.size(), ir::Dim(0));
  begin[d] = ir::Dim(index < 0 ? index + size[d].value() : index);
  size[d] = ir::Dim(1);
  return terms_.reshape(terms_.slice(x, begin, size), *to);
}

void ModelTerms::add_node(const ir::Node& node, const std::function<bool(ir::ValueId)>& apart) {
  const std::optional<NodeOperation> known = operation_of(node, inference_);
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const ir::ValueId output = node.outputs[k];
    if (output == ir::absent) continue;
    TermId made = no_term;
    if (known && !inference_.is_constant(output) && (!apart || !apart(output))) {
      std::vector<TermId> children;
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        const auto& slots = known->operation.slots;
        if (node.inputs[input] == ir::absent || (!slots.empty() && slots[input] != Slot::child)) continue;
        add_leaf(node.inputs[input]);  // a constant; others have been met
        children.push_back(term_of(node.inputs[input]));
      }
      Operation operation = known->operation;
      operation.result = static_cast<int>(k);
      made = part_of(node);
      if (made == no_term && !children.empty())
        made = terms_.make(terms_.operation(operation), known->parameters, children);
      // Dims that only the graph knows better would make terms of one value differ.
      if (made != no_term && inference_.fact(output).dims &&
          terms_[made].facts.dims != *inference_.fact(output).dims)
        made = no_term;
    }
    if (made != no_term) {
      ids_[output] = made;
    } else {
      add_leaf(output);
    }
  }
}

std::optional<NodeOperation> operation_of(const ir::Node& node, const ir::Inference& inference) {
  if (ir::is_graph_operator(node.domain, node.op) || !ir::bodies_of(node).empty() || !has_text(node))
    return std::nullopt;
  if (ir::find_operator(node.domain, node.op, node.version) == nullptr) return std::nullopt;
  NodeOperation found;
  found.operation.domain = node.domain;
  found.operation.name = node.op;
  found.operation.version = canonical_version(node.domain, node.op, node.version);
  found.operation.attributes = node.attributes;
  size_t inputs = node.inputs.size();
  while (inputs > 0 && node.inputs[inputs - 1] == ir::absent) --inputs;
  bool plain = true;
  for (size_t k = 0; k < inputs; ++k) {
    const ir::ValueId input = node.inputs[k];
    if (input == ir::absent) {
      found.operation.slots.push_back(Slot::absent);
      plain = false;
    } else if (!node.domain.empty() || !is_parameter(node.op, static_cast<int>(k))) {
      found.operation.slots.push_back(Slot::child);
    } else {
      const ir::ValueFact& fact = inference.fact(input);
      if (fact.constant.defined() && fact.constant.size() <= 16 && ir::is_integer(fact.type)) {
        found.parameters.push_back(ir::to_dims(fact.constant.to_ints()));
      } else if (fact.elements && fact.elements->size() <= 16) {
        found.parameters.push_back(*fact.elements);
      } else {
        return std::nullopt;
      }
      found.operation.slots.push_back(Slot::parameter);
      plain = false;
    }
  }
  if (plain) found.operation.slots.clear();
  return found;
}

}  // namespace axrun::search::algebra
