#pragma once

#include <functional>
#include <map>
#include <optional>

#include "ir/infer.h"
#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Of a constant: equal where its bytes are.
using ConstantContent = std::function<uint64_t(const ir::Tensor&)>;

/// The values of a graph as terms over its inputs and constants. Constants of one element are literals,
/// others are named by content. Nodes that have no term (bodies, unknown ranks) make leaves.
class ModelTerms {
 public:
  /// The inference must have run. apart: values that are leaves however the graph computes them; none: no
  /// others. content: none: a hash of all bytes.
  explicit ModelTerms(const ir::Inference& inference, const std::function<bool(ir::ValueId)>& apart = {},
                      const ConstantContent& content = {});

  const Terms& terms() const { return terms_; }
  /// no_term where type or dims are unknown.
  TermId term_of(ir::ValueId value) const;
  /// What the graph calls a value that the term is; empty where there is none.
  std::string value_name(TermId term) const;
  /// What the model gives.
  const std::vector<TermId>& outputs() const { return outputs_; }

 private:
  void add_leaf(ir::ValueId value);
  void add_node(const ir::Node& node, const std::function<bool(ir::ValueId)>& apart);
  /// A Gather at one index that is known, which is a Slice; no_term for others.
  TermId part_of(const ir::Node& node);

  const ir::Inference& inference_;
  const ConstantContent content_;
  Terms terms_;
  std::map<ir::ValueId, TermId> ids_;
  std::vector<TermId> outputs_;
};

/// The operation of a node and its parameters; nothing where it has no place in the algebra.
struct NodeOperation {
  Operation operation;
  std::vector<ir::Dims> parameters;
};
std::optional<NodeOperation> operation_of(const ir::Node& node, const ir::Inference& inference);

}  // namespace axrun::search::algebra
