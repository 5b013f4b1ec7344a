#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "runtime/parallel.h"
#include "runtime/plan/packed.h"
#include "runtime/plan/port_sizes.h"

namespace axrun::runtime {

/// Pointers of one call, in the order of the step's inputs and outputs; null for absent ones. Shapes and
/// types are those the kernel was made for. Outputs do not overlap inputs, except where Kernel::in_place
/// allows it.
struct KernelCall {
  const void* const* inputs;
  void* const* outputs;
  void* scratch;  ///< Kernel::scratch_bytes() bytes, 64-byte aligned
  ThreadPool& pool;
};

/// An operator (or a fused group of them) made ready for fixed shapes. Immutable: many runs share it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelCall& call) const = 0;
  /// Shown in profiles and explanations: "gemm 128x768x3072 +bias +relu".
  virtual std::string describe() const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  /// The inputs whose buffer output 0 may share, when that input is not needed afterwards.
  virtual std::vector<int> in_place() const { return {}; }
  /// Input k is read through a packed copy: its own bytes are not touched while running.
  virtual bool ignores_input(int) const { return false; }
  /// Arithmetic operations of one run; 0 where counting makes no sense.
  virtual double flops() const { return 0; }
  /// The kernel for other sizes of a step that was made with its programs over names (open_programs), for
  /// which the form lets them through: quick, packs nothing. Null where it has to be made from a context.
  virtual std::shared_ptr<const Kernel> resized(const PortSizes&) const { return nullptr; }
};

/// One input or output of a step, as the plan knows it.
struct StepPort {
  bool present = false;
  ir::ElementType type = ir::ElementType::undefined;
  ir::Shape shape;
  const ir::Tensor* constant = nullptr;  ///< inputs only: the value, where known

  int64_t count() const { return ir::element_count(shape); }
  int rank() const { return static_cast<int>(shape.size()); }
};

/// A node or fused group about to get its kernel. What a factory needs to decide is all here.
struct StepContext {
  /// The node itself, or the first node of a group (the contraction, where there is one).
  const ir::Node& node;
  /// Every node of the group, in order; the group computes the last one's output 0, and node.outputs
  /// otherwise.
  std::vector<const ir::Node*> group;
  /// The programs of the group's nodes, under the plan's shapes.
  std::vector<const ir::Program*> programs;
  /// The group's inputs: those of `node` by position, then every other value that a later node of the group
  /// reads from outside the group, in order of first use. ids names them.
  std::vector<ir::ValueId> input_ids;
  std::vector<StepPort> inputs;
  std::vector<ir::ValueId> output_ids;
  std::vector<StepPort> outputs;
  int threads = 1;
  PackCache& packs;
  std::string_view assumptions = {};  ///< of the plan (PlanOptions)
  /// The programs over the names of sizes, where the plan is bound from a form.
  std::vector<const ir::Program*> open_programs = {};

  bool fused() const { return group.size() > 1; }
  /// Input k of `node` itself: what the rest of the group reads comes after its inputs and does not count.
  bool has_input(size_t k) const { return k < node.inputs.size() && k < inputs.size() && inputs[k].present; }
  bool has_output(size_t k) const { return k < outputs.size() && outputs[k].present; }
  /// Attributes of `node` (the definition has already checked their kinds).
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name) const;
  bool has_attribute(std::string_view name) const;
};

/// Makes the kernel, or answers null: not for this step.
using KernelFactory = std::unique_ptr<Kernel> (*)(const StepContext& context);

struct FactoryEntry {
  std::string_view domain;
  std::string_view op;
  KernelFactory make;
};

/// The factories of an operator in the order in which they are to be tried.
const std::vector<KernelFactory>& factories_for(std::string_view domain, std::string_view op);
/// Every row: each is tested against the operator's expression.
const std::vector<FactoryEntry>& all_factories();

/// The kernel of a step: the first factory that accepts, otherwise the custom operator's, otherwise the
/// interpreter on the expression.
/// Groups must be accepted by a factory (fusion asks it first): null otherwise.
std::unique_ptr<Kernel> make_kernel(const StepContext& context);
std::unique_ptr<Kernel> make_interpreter_kernel(const StepContext& context);
/// Calls the kernel of the node's custom operator; null where it has none.
std::unique_ptr<Kernel> make_custom_kernel(const StepContext& context);

// One function per file of runtime/operators, each appending its rows.
void contraction_factories(std::vector<FactoryEntry>& table);
void convolution_factories(std::vector<FactoryEntry>& table);
void pooling_factories(std::vector<FactoryEntry>& table);
void map_factories(std::vector<FactoryEntry>& table);
void movement_factories(std::vector<FactoryEntry>& table);
void indexing_factories(std::vector<FactoryEntry>& table);
void reduction_factories(std::vector<FactoryEntry>& table);
void normalization_factories(std::vector<FactoryEntry>& table);
void recurrent_factories(std::vector<FactoryEntry>& table);
void quantized_factories(std::vector<FactoryEntry>& table);
void attention_factories(std::vector<FactoryEntry>& table);
void resize_factories(std::vector<FactoryEntry>& table);
void fourier_factories(std::vector<FactoryEntry>& table);
void tree_factories(std::vector<FactoryEntry>& table);
void widening_factories(std::vector<FactoryEntry>& table);
/// The last ones: of what the others have declined.
void widened_factories(std::vector<FactoryEntry>& table);

}  // namespace axrun::runtime
