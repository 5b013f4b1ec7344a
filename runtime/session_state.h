#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ir/definitions.h"
#include "runtime/aside.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/plan/plan_forms.h"
#include "runtime/plan_table.h"
#include "runtime/profiler.h"
#include "runtime/run_control.h"
#include "runtime/run_counts.h"
#include "runtime/session.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {

/// Values of one run_into call, kept for the next one so that nothing is allocated.
struct RunBuffers {
  std::vector<RuntimeValue> inputs, outputs;
  ir::Shape shape;  ///< of the output that is being made
};

/// What a session is made of. Only the plan table, the profile and lazily made executors change after
/// loading.
class SessionState {
 public:
  /// declared: what the model's file says of its outputs; empty: nothing.
  /// shared: where another session of the same constants has packed them; null: nowhere.
  SessionState(ir::Model loaded, const SessionOptions& given, const std::vector<ir::Value>& declared = {},
               std::shared_ptr<PackCache> shared = nullptr);

  void check(const std::vector<RuntimeValue>& given) const;
  std::unique_ptr<RunBuffers> take_buffers();
  void give_back(std::unique_ptr<RunBuffers> buffers);
  PlanTable::Pinned plan_for(const std::vector<RuntimeValue>& inputs);
  /// Throws Error(user) naming the sizes where the model has been, or can be, planned for others than those
  /// of `inputs`: then it is not the model that `error` is about.
  void blame_sizes(const Error& error, const std::vector<RuntimeValue>& inputs);
  bool takes_other_sizes();
  /// The plan for inputs of these shapes, built where there is none.
  PlanTable::Pinned prepare(const std::vector<ir::Shape>& shapes);
  /// The same for those that earlier processes have met, if it is clear which, with the nested plans that
  /// most of their runs have needed. Never throws.
  void prepare_known(const WarmStart& warm);
  /// With values stored as the model has them.
  std::shared_ptr<const Plan> build(const std::vector<RuntimeValue>& inputs, const PlanOptions& how) const;
  /// In the layouts that were chosen for these shapes; null where none were, or there is no such plan.
  std::shared_ptr<const Plan> build_laid_out(const std::vector<RuntimeValue>& inputs) const;
  PlanOptions plan_options() const;
  /// Before a run: memory for the results that have none yet and whose shapes are known then is what `of`
  /// makes.
  struct Making {
    const Session::OutputMaker& of;
    ir::Shape& shape;  ///< kept between runs
  };
  void run_plan(const std::vector<RuntimeValue>& values, std::vector<RuntimeValue>& results,
                const RunControl* control, const Making* make = nullptr);
  std::vector<RuntimeValue> run_reference(const std::vector<RuntimeValue>& values, const RunControl* control);
  /// Gives the named sizes that options fix.
  std::map<std::string, ir::Dim> fix_sizes();
  void note_named_sizes();
  void start_optimizer(LoadTimeWork load);
  std::shared_ptr<WarmStart> open_warm_start();

  SessionOptions options;
  ir::Model model;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  /// Two dimensions of inputs that have one name: runs find them without looking at names.
  struct SameSize {
    size_t axis, first_input, first_axis;
  };
  std::vector<std::vector<SameSize>> same_sizes;  ///< by input; each names a dimension of it or of one before
  std::unique_ptr<ThreadPool> pool;
  /// Until the first plan has been built.
  std::shared_ptr<ir::Definitions> definitions = std::make_shared<ir::Definitions>();
  std::shared_ptr<PackCache> packs = std::make_shared<PackCache>();
  std::unique_ptr<PlanForms> forms;  ///< of the model's graph
  std::shared_ptr<BodyForms> body_forms = std::make_shared<BodyForms>();
  PlanTable plans;
  std::mutex other_sizes_mutex;
  std::optional<bool> other_sizes;  ///< some plan could be made; empty: nobody knows
  Profiler profiler;
  RunCounts counts;
  std::atomic<uint64_t> runs_begun{0};  ///< of plans that have nested ones
  std::mutex buffers_mutex;
  std::vector<std::unique_ptr<RunBuffers>> buffers;
  std::string no_optimizer;              ///< why there is none
  std::string no_cache;                  ///< the same
  std::string cache_trouble;             ///< CacheUse::trouble
  std::unique_ptr<Optimizer> optimizer;  ///< it uses all of the above
  std::unique_ptr<Aside> planning;       ///< last: so does this; null where nothing is made aside
};

}  // namespace axrun::runtime
