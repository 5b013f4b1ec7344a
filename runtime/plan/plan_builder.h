#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/infer.h"
#include "runtime/plan/group.h"
#include "runtime/plan/joints.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_form.h"
#include "runtime/plan/plan_variant.h"

namespace axrun::runtime {

/// What fusion looks at: nodes that will be executed, with their programs, and the facts of every value.
struct FusionInput {
  const ir::Graph& graph;
  const std::vector<int>& nodes;                                    ///< in order
  const std::vector<std::shared_ptr<const ir::Program>>& programs;  ///< per node of the graph
  const FactTable& facts;
  const std::vector<int>& uses;  ///< per value: reads by `nodes`, outputs and others
};

/// Groups nodes that a precompiled kernel can execute together: what these are is known by operator.
/// Generated kernels take more, by what expressions say (joints.h). Every node appears once; groups are
/// ordered by their last node.
std::vector<Group> fuse(const FusionInput& input);

/// Steps on floats that are made of bytes, for them alone, take what widens the bytes along, and what makes
/// bytes of their result: sequences, so that what lies between steps is bytes. Steps on weights that are
/// stored as floats of 16 bits take what widens these along.
void join_byte_groups(const FusionInput& input, std::vector<Group>& groups);

/// Products of what lies at the beginning of a state's buffer read it there: what moves it about goes along.
void join_buffer_reads(const FusionInput& input, std::vector<Group>& groups);

/// What a plan was made of, beside its graph and facts.
struct PlanRecipe {
  std::vector<int> nodes;
  std::vector<bool> outputs;
  bool is_continuation;
  PlanOptions options;
  /// What it was bound from, and the numbers; null: it was made for these very shapes.
  std::shared_ptr<const PlanForm> form = nullptr;
  std::vector<int64_t> numbers = {};
};

/// Builds a plan for some nodes of a graph; build() is a pipeline of named stages.
class PlanBuilder {
 public:
  /// facts: of all values as far as known before; they must cover live_in with constant dims (tensors).
  /// outputs: the graph outputs this plan is to deliver.
  PlanBuilder(std::shared_ptr<const ir::Graph> graph, std::vector<int> nodes,
              std::vector<ir::ValueId> live_in, std::vector<ir::ValueFact> facts, std::vector<bool> outputs,
              bool is_continuation, const PlanOptions& options);
  /// For numbers that the form has let through. Throws Error where the plan cannot be for them after all.
  PlanBuilder(std::shared_ptr<const PlanForm> form, std::vector<int64_t> numbers, const PlanOptions& options);
  std::shared_ptr<const Plan> build();
  /// What was built is a plan of other sizes, as far as sizes do not matter (PlanVariant).
  bool took_variant() const { return took_variant_; }
  /// Instead of build(), for facts over names: the first stages, as far as these sizes decide them. False,
  /// with the reason, where something depends on more.
  bool infer_open(ir::SizesAtHand& sizes, std::string& reason);
  /// What infer_open() has found.
  void describe(PlanForm& form) const;
  /// Instead of build(), of a form (the builder's own) without groups: finds those that fusion forms at these
  /// numbers, and what steps of these and of single nodes read and give.
  void arrange(PlanForm& form);
  /// See joints_of (runtime/plan/joints.h); instead of build().
  std::vector<Joint> joints(const Plan& plan, size_t count);
  const PlanOptions& options() const { return options_; }

 private:
  /// Each stage reads what those before it left in the members below.
  struct Stage {
    const char* name;
    void (PlanBuilder::*run)();
  };
  static const Stage stages[];
  void infer_nodes();
  /// Of results whose elements hang on more than the sizes at hand.
  void drop_untold_elements(const ir::Node& node, ir::Inference& inference) const;
  void take_form();
  /// At this plan's sizes; null: it has none.
  const std::shared_ptr<const ir::Program>& program_of(int node) const;
  /// The same, perhaps over names: what it reads and gives. Null: it has none.
  const ir::Program* structure_of(int node) const;
  /// The input of which the node's result is a view; -1: it is none.
  int viewed_input(int node) const;
  std::shared_ptr<const Arrangement> arrange(std::vector<Group> groups,
                                             std::vector<std::vector<int>> joined) const;
  /// Instead of all stages: takes what was decided for a plan of other sizes, where it holds for these.
  bool take_variant();
  bool take(const PlanVariants::Kept& kept);
  /// Whether values may lie where they do in the variant's plans.
  bool holds(const PlanVariant& variant) const;
  /// The same of results that are written over inputs, when the steps are there.
  bool takes_over(const PlanPlaces& places) const;
  bool take_steps(const PlanVariant& variant, const PlanVariant::Told& told);
  bool take_step(const PlanVariant& variant, const PlanVariant::Told& told, size_t step);
  /// Of one group, by what the kernel source says at these sizes; false where other steps are wanted.
  bool ask_for_steps(const PlanVariant& variant, const PlanVariant::Told& told,
                     const PlanVariant::Made& begin, const PlanVariant::Made& end);
  KernelSource::Found ask(const PlanVariant::Ask& ask, PlanVariant::Question& known);
  /// The factories' kernel of a step; null where they have none.
  std::shared_ptr<const Kernel> fallback_of(const Group& group) const;
  /// Which of the variant's sizes these plans share with it.
  void note_same_sizes(const PlanVariant& variant, const PlanVariant::Told& told);
  bool has_same_sizes(const PlanVariant::Recipe& recipe) const {
    return recipe.sizes && same_sizes_[*recipe.sizes];
  }
  /// Of the plan that was made.
  void keep_variant();
  /// What the source will tell of the variant, as it is now; questions of before stay where they hold.
  void begin_told(const PlanVariant& variant, const PlanVariant::Told* earlier);
  /// When the plan's steps are there.
  void keep_told(std::shared_ptr<const PlanVariant> variant);
  PlanVariant::Made made_so_far() const;
  OpenPorts ports_of(const StepOutline& outline) const;
  void find_needed();
  void form_groups();
  /// Those that fusion forms.
  void find_groups();
  void make_steps();
  /// After which steps the graph's limits are watched. Throws Error(unsupported) where a value is not there.
  void place_limits();
  void place_values();
  void list_places(PlanPlaces& places) const;
  /// An integer constant that is not the graph's: its elements hang on this plan's sizes.
  bool told_by_sizes(ir::ValueId id) const;
  /// What depends on how long values are. Throws Error(user) where the plan needs more memory than it may.
  void lay_buffers();
  /// Of a tensor of numbers. Throws Error(user) where no memory holds it.
  size_t bytes_of(ir::ValueId id) const;
  ir::Shape shape_of(ir::ValueId id) const;
  /// Of what sizes tell.
  ir::Tensor constant_of(ir::ValueId id) const;
  void attach_continuation();

  /// Throws Error(internal) where what a stage left is not well-formed.
  void validate(const Stage& stage) const;
  const ir::ValueFact& fact(ir::ValueId id) const { return facts()[static_cast<size_t>(id)]; }
  /// Of a form, found when they are first asked for.
  const FactTable& facts() const;
  /// By itself, or told by the sizes alone.
  bool is_constant(ir::ValueId id) const {
    return fact(id).constant.defined() || (sizes_ != nullptr && fact(id).elements.has_value());
  }
  bool dims_known(const ir::ValueFact& fact) const;
  void defer(int node);
  /// The contents that the definition of such a node wants to see, as far as a continuation gives any. None:
  /// it will never say what the node computes.
  std::vector<ir::ValueId> values_asked_for(const ir::Node& node, const ir::Inference& inference) const;
  void make_steps_of(const Group& group);
  void make_node_step(int node);
  /// Of a node that no kernel computes.
  void make_evaluated_step(int node);
  /// Kernels are given addresses of numbers: nodes that read or give strings are evaluated.
  bool touches_strings(int node) const;
  bool gives_bytes(const Group& group) const;
  bool make_group_step(const Group& group);
  StepOutline outline_of(const std::vector<int>& nodes) const;
  /// The form's, or else `own`, which it is made in.
  const StepOutline& outline_of(const Group& group, StepOutline& own) const;
  /// What kernels of these nodes are made from.
  StepContext context_of(const StepOutline& outline) const;
  /// The factories' kernels of a group's parts, one after another; null where a part has none.
  std::shared_ptr<const Kernel> sequence_of(const Group& group, const StepContext& whole) const;
  /// What a step of these nodes reads, the first node's inputs by position and then the others' in order of
  /// first use, and what it gives: the last node's outputs, absent where nobody reads them, and then all that
  /// is read outside.
  void find_ports(const std::vector<int>& nodes, std::vector<ir::ValueId>& inputs,
                  std::vector<ir::ValueId>& outputs) const;
  bool read_outside(ir::ValueId id, const std::vector<int>& nodes) const;
  void find_consumers();
  /// One step may stand for these nodes, where the last of them stands.
  bool joinable(const std::vector<int>& nodes) const;
  void join_groups(const std::vector<std::vector<int>>& sets);
  bool make_view(int node);
  /// A place in memory: in the value `part`, behind others that lie there.
  struct Part {
    ir::ValueId part;
    std::vector<ir::ValueId> before;
  };
  /// Concat puts its inputs one behind the other.
  bool is_of_one_row(int node) const;
  /// Kernels are given buffers that begin at such addresses.
  static constexpr size_t part_alignment = 64;
  /// Has the node's inputs written where they are read as its result, and no step made of it. False where
  /// they cannot be.
  bool place_parts(int node);
  /// Its place is this plan's to choose: so far nothing says where it is.
  bool has_own_place(ir::ValueId id);
  /// The value that it is in the end a part of; itself where it is none.
  ir::ValueId outermost(ir::ValueId id);
  std::vector<ir::ValueId> reads_of_node(int node) const;
  ir::ValueId root(ir::ValueId id);
  void join(ir::ValueId from, ir::ValueId into);
  void share_buffers();

  std::shared_ptr<const ir::Graph> graph_;
  std::vector<int> nodes_;
  std::vector<ir::ValueId> live_in_;
  std::vector<bool> outputs_;
  bool is_continuation_;
  PlanOptions options_;
  std::vector<ir::ValueFact> given_facts_;
  mutable FactTable facts_;           ///< when nodes have been inferred
  ir::SizesAtHand* sizes_ = nullptr;  ///< while facts have names in them
  std::shared_ptr<const PlanForm> form_;
  std::vector<int64_t> numbers_;
  std::optional<uint64_t> version_;                 ///< of the kernel source, where it counts
  uint64_t joined_version_ = 0;                     ///< of what it wants joined
  std::shared_ptr<const Arrangement> arrangement_;  ///< of the form
  bool took_variant_ = false;
  std::shared_ptr<PlanVariant::Told> told_;  ///< where it is new
  std::vector<int> open_so_far_;             ///< of it: per group
  std::vector<char> same_sizes_;    ///< per PlanVariant::sizes
  std::vector<Group> step_groups_;  ///< per step: what became it
  std::vector<int> step_asks_;      ///< per step: PlanVariant::Recipe::ask
  std::vector<PlanVariant::Ask> asks_;
  std::vector<PlanVariant::Made> made_;  ///< per group
  std::vector<int> views_by_size_;       ///< nodes
  std::vector<int> concatenated_;        ///< nodes whose results are written in parts

  /// Per node of the graph; of a form's nodes those that were asked for (program_of).
  mutable std::vector<std::shared_ptr<const ir::Program>> programs_;
  std::vector<int> scheduled_;
  std::vector<int> deferred_;
  std::vector<ir::ValueId> values_needed_;
  std::vector<bool> pending_;  ///< values produced by deferred nodes
  std::vector<bool> slot_;     ///< values that live in slots
  std::vector<ir::ValueId> tail_live_in_;
  std::vector<int> uses_;
  std::vector<std::vector<int>> consumers_;  ///< per value: the nodes that read it; made when first needed
  std::vector<Group> groups_;
  std::vector<ir::ValueId> alias_;  ///< union-find parents
  /// By roots: what each is a part of. Nothing is written in place of parts, nor of what has some.
  std::map<ir::ValueId, Part> parts_;
  std::shared_ptr<Plan> plan_;
  size_t scratch_bytes_ = 0;
};

/// A builder for the same plan once more, with other options where they are given.
PlanBuilder builder_like(const Plan& plan, const PlanOptions* options = nullptr);

/// For a whole graph, with these facts of its constants and live-ins.
PlanBuilder whole_graph_builder(std::shared_ptr<const ir::Graph> graph, std::vector<ir::ValueId> live_in,
                                std::vector<ir::ValueFact> facts, const PlanOptions& options);

/// A plan for the same shapes of another graph, which computes the same from the same inputs; with what is
/// nested in it.
std::shared_ptr<const Plan> build_like(const Plan& plan, std::shared_ptr<const ir::Graph> graph,
                                       std::shared_ptr<KernelSource> kernels);

}  // namespace axrun::runtime
