#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/infer.h"
#include "runtime/plan/fact_table.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/plan_places.h"
#include "runtime/plan/run_times.h"
#include "runtime/plan/step_work.h"
#include "runtime/value.h"

namespace axrun::runtime {

class BodyPlans;
class Continuation;
class Frame;
class FramePool;
class KernelSource;
class PlanBuilder;
class RunControl;
struct NestedForm;
struct PlanForm;
struct NestedPlan;
struct PlanOptions;
struct PlanRecipe;

/// One thing a plan does. Exactly one of kernel, bodies (a graph operator) or program (evaluated, and its
/// results put into their places) is set.
struct Step {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<BodyPlans> bodies;
  std::shared_ptr<const ir::Program> program;
  std::shared_ptr<const StepWork> work;
};

/// A value of which no element may be larger than that, nor be no number, where the plan is to be right.
struct ValueLimit {
  ir::ValueId value;
  size_t steps;  ///< so many are done when it is there
  int64_t count;
  float most;
};

/// Gets each step's time; `index` counts steps in order of execution.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// What a step with a kernel is about to read: one address per input.
  virtual void step_reads(const class Plan&, const Step&, const std::vector<const void*>&) {}
  /// The steps until the next call of step_done for a step with bodies are steps of its bodies.
  virtual void bodies_begin() {}
  virtual void step_done(const class Plan& plan, size_t index, double start_us, double elapsed_us) = 0;
};

struct RunContext {
  ThreadPool& pool;
  StepObserver* observer = nullptr;
  const RunControl* control = nullptr;  ///< asked before each step
  uint64_t number = 0;                  ///< of the run, higher for later ones; 0: it does not count
};

/// Everything decided about running a graph (or the rest of one) for fixed input shapes: steps, buffers,
/// packed weights. Immutable once built, but for the pool of frames and the caches of bodies and
/// continuations inside.
///
/// What depends on shapes that only the run can tell is left to a continuation: a further plan for the
/// remaining nodes, built when those shapes are first met and kept for the next time.
class Plan : public std::enable_shared_from_this<Plan> {
 public:
  ~Plan();

  /// Where a value exceeds the graph's limits, the run begins again with the graph that says what is computed
  /// there.
  /// live_in: one value per id of `live_in_ids`. outputs: one per graph output; a defined tensor is written
  /// in place when its type and shape fit and replaced otherwise. Safe from many threads at once.
  void run(const std::vector<RuntimeValue>& live_in, std::vector<RuntimeValue>& outputs,
           const RunContext& context) const;

  /// Called with every tensor a step has just computed: for comparison tools (with options.keep_values only).
  using Inspector = std::function<void(const Step& step, size_t output, const ir::Tensor& value)>;
  void run_inspected(const std::vector<RuntimeValue>& live_in, std::vector<RuntimeValue>& outputs,
                     const RunContext& context, const Inspector& inspector) const;

  const std::vector<Step>& steps() const { return steps_; }
  size_t arena_bytes() const { return arena_bytes_; }
  const std::vector<ir::ValueId>& live_in_ids() const { return places_->live_in; }
  /// A plan that was bound from a form knows its facts when it is first asked.
  const ir::ValueFact& fact(ir::ValueId id) const { return facts()[static_cast<size_t>(id)]; }
  const ir::Graph& graph() const { return *graph_; }
  const std::shared_ptr<const ir::Graph>& shared_graph() const { return graph_; }
  bool complete() const { return continuation_ == nullptr; }
  /// What it was bound from; null: it was made for these very shapes.
  const PlanForm* form() const;
  /// See PlanOptions.
  const std::string& assumptions() const;

  /// The plans made so far of bodies and of what follows, those of one place used last first; not the ones
  /// inside of these.
  std::vector<NestedPlan> nested() const;
  /// Runs may need plans of bodies or continuations.
  bool has_nested() const { return has_nested_; }
  /// Makes nested plans (nested_forms.h), all the way down: no run has to build them. What cannot be built is
  /// left to the run that needs it.
  void prepare_nested(const std::vector<NestedForm>& forms) const;
  /// Those that `like` has, a plan of the same nodes for the same shapes.
  void prepare_nested(const Plan& like) const;

  /// Steps for which the kernel source may yet find something better, nested plans' included.
  int open_steps() const;
  RunTimes& times() const { return times_; }
  /// Different for every plan of the process: a plan may get the address of one that is gone.
  uint64_t id() const { return id_; }
  /// Frames that wait for a run and were of this plan last: each holds an arena. `keep_frames` frees all but
  /// so many.
  size_t frames() const;
  /// Bytes of the arenas that wait, for plans of other sizes too, and of those of nested plans, where they
  /// have not been counted.
  int64_t waiting_bytes(std::set<const FramePool*>& counted) const;
  void keep_frames(size_t count) const;
  /// One of them is there, with its pages, and one of each nested plan, of so many bytes in all: the first
  /// run finds what later ones find.
  void prepare_frames(size_t most_nested_bytes) const;

 private:
  friend class PlanBuilder;
  friend PlanBuilder builder_like(const Plan& plan, const PlanOptions* options);
  friend class Frame;
  friend class Continuation;
  Plan();

  const FactTable& facts() const;
  void prepare_frame() const;
  /// False: a value was beyond its limit, and outputs hold nothing of use.
  bool execute(Frame& frame, const RunContext& context, const Inspector* inspector) const;
  void run_step(Frame& frame, const Step& step, const RunContext& context) const;
  /// The plan of the graph that says what is computed beyond this one's limits; made when it is first needed.
  const Plan& otherwise() const;

  std::shared_ptr<const ir::Graph> graph_;
  mutable std::once_flag facts_once_;
  mutable FactTable facts_;
  std::shared_ptr<const PlanPlaces> places_;
  std::vector<size_t> offsets_;  ///< in the arena, of the places' buffers
  std::vector<Step> steps_;
  std::vector<ValueLimit> limits_;         ///< in order of steps
  std::vector<ir::Shape> output_shapes_;   ///< of the outputs with a place of their own
  std::vector<ir::Tensor> own_constants_;  ///< of the places'
  std::vector<ir::Shape> shapes_;          ///< per value: of those that are passed on as values; or empty
  size_t scratch_offset_ = 0;
  size_t arena_bytes_ = 0;
  std::unique_ptr<Continuation> continuation_;
  bool has_nested_ = false;
  int open_steps_ = 0;
  std::shared_ptr<const PlanRecipe> recipe_;
  uint64_t id_;

  mutable std::mutex otherwise_mutex_;
  mutable std::shared_ptr<const Plan> otherwise_;
  mutable RunTimes times_;
};

/// In how many runs of the model something was of use, of how many.
struct Uses {
  uint64_t runs = 0, of = 0;
};

/// A plan that a plan needed while it ran, and the place where it hangs.
struct NestedPlan {
  const ir::Node* node = nullptr;  ///< whose body it is for; null: the plan's own continuation
  size_t body = 0;                 ///< which one of the node's
  std::string key;                 ///< what it was made for (signature.h)
  std::shared_ptr<const Plan> plan;
  Uses uses;  ///< of the runs that came by its place

  bool same_place(const NestedPlan& other) const {
    return node == other.node && body == other.body && key == other.key;
  }
};

class BodyForms;

struct PlanOptions {
  int threads = 1;
  bool fuse = true;
  bool reuse_buffers = true;  ///< off: every value has a place of its own
  std::shared_ptr<PackCache> packs;
  std::shared_ptr<KernelSource> kernels;         ///< asked before the factories; may be null
  size_t memory_limit = ~size_t{0};              ///< of arena and outputs together
  size_t body_plans = 16;                        ///< plans kept per body, and continuations per plan
  std::shared_ptr<ir::Definitions> definitions;  ///< asked for programs of nodes; may be null
  std::shared_ptr<BodyForms> body_forms;         ///< null: plans of bodies are made for their very sizes
  /// What the plan's sizes are known to keep to (PlanForm::assumptions); empty: nothing is said of them.
  std::string assumptions = {};
};

/// Builds the plan of a whole graph. facts of live_in (graph inputs, then captures) must have constant dims
/// for tensors; a constant among them is used as such and is part of the plan.
std::shared_ptr<const Plan> build_plan(std::shared_ptr<const ir::Graph> graph,
                                       const std::vector<ir::ValueId>& live_in,
                                       const std::vector<ir::ValueFact>& live_in_facts,
                                       const PlanOptions& options);

/// The same plan with kernels from another source (null: the factories' only). What is nested in it is not
/// made.
std::shared_ptr<const Plan> rebuilt(const Plan& plan, std::shared_ptr<KernelSource> kernels);

}  // namespace axrun::runtime
