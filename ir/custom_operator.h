#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dim.h"
#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

class OperatorContext;
struct Node;

/// Runs body(begin, end) over a partition of 0..count, perhaps in parallel.
using ParallelFor =
    std::function<void(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body)>;

/// What a CustomKernel is to make.
struct CustomResult {
  ElementType type = ElementType::undefined;
  Dims dims;           ///< constant, or open where only the kernel can tell
  bool wanted = true;  ///< false: nobody reads it
  /// Memory to be written, where the dims are constant; otherwise undefined, and made by the kernel, of this
  /// type and rank.
  Tensor tensor;
};

/// A function that is not written in tensor expressions: the user's own. Its results follow from its inputs
/// alone: it runs as often as somebody needs them, while models are loaded and measured, too. Many threads
/// may run it at once.
class CustomKernel {
 public:
  virtual ~CustomKernel() = default;
  /// inputs: undefined where absent. Throws Error when it fails.
  virtual void run(const std::vector<Tensor>& inputs, std::vector<CustomResult>& results,
                   const ParallelFor& parallel) const = 0;
};

/// The payload of an opaque stage "custom".
struct CustomStage {
  std::shared_ptr<const CustomKernel> kernel;
  std::vector<CustomResult> results;  ///< without tensors
};

/// The results with memory where it can be known how much.
std::vector<CustomResult> results_of(const CustomStage& stage);

/// An operator that is not axrun's own. Nodes point to theirs (Node::custom).
class CustomOperator {
 public:
  CustomOperator(std::string domain, std::string name, int since, std::string revision)
      : domain_(std::move(domain)), name_(std::move(name)), since_(since), revision_(std::move(revision)) {}
  virtual ~CustomOperator() = default;

  const std::string& domain() const { return domain_; }
  const std::string& name() const { return name_; }
  int since() const { return since_; }  ///< the lowest opset version of its domain that has it
  /// Different for operators of one name that mean different things; empty: nobody can tell.
  const std::string& revision() const { return revision_; }

  /// The node's program, as Definition builds it; throws Error or NotYetKnown. From any thread.
  virtual Program define(const OperatorContext& context) const = 0;
  /// Computes all of a node whose program has no stage "custom", until something better is found; null: there
  /// is no such kernel.
  virtual std::shared_ptr<const CustomKernel> whole_kernel(const Node& node) const = 0;

 private:
  std::string domain_, name_;
  int since_;
  std::string revision_;
};

/// Operators by domain and name.
class CustomOperators {
 public:
  /// Throws Error(user) where axrun has an operator of this name, or the set has it at this version.
  void add(std::shared_ptr<const CustomOperator> made);
  /// The newest one that `version` has; null: none.
  std::shared_ptr<const CustomOperator> find(std::string_view domain, std::string_view name,
                                             int version) const;
  bool empty() const { return rows_.empty(); }

 private:
  /// By domain and name, the newest first.
  std::map<std::pair<std::string, std::string>, std::vector<std::shared_ptr<const CustomOperator>>> rows_;
};

/// The program of a node whose operator is written as `text`: operands of the types that it states, its named
/// sizes those of the node's inputs. Stages "custom" get the kernel (null: there must be none); a size that
/// no input has may only be one of their results'. Throws Error(model) for inputs that do not fit,
/// NotYetKnown.
Program bind_expression(const Program& text, const OperatorContext& context,
                        const std::shared_ptr<const CustomKernel>& kernel);
/// What must hold of a text whatever the inputs: throws Error(user).
void check_expression(const Program& text, bool has_kernel);

}  // namespace axrun::ir
