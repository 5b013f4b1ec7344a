#pragma once

// axrun's C++ interface:
//
//     #include <axrun/runtime/session.h>
//     using namespace axrun;
//
//     std::vector<float> pixels(3 * 224 * 224);
//     const auto session = runtime::Session::load("model.onnx");
//     // The tensor borrows the pixels; ir::Tensor::allocate makes one with memory of its own.
//     const ir::Tensor image = ir::Tensor::borrow(ir::ElementType::f32, {1, 3, 224, 224}, pixels.data());
//     const std::vector<runtime::RuntimeValue> outputs = session->run({image});
//     const float* scores = outputs[0].tensor.as<float>();
//     const int64_t count = outputs[0].tensor.size();

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/api.h"
#include "ir/dim.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "runtime/form_counts.h"
#include "runtime/metrics.h"
#include "runtime/optimizer_status.h"
#include "runtime/value.h"

namespace axrun::ir {
class CustomOperators;
}

namespace axrun::runtime {

class ThreadPool;

/// What executes the model. `reference` evaluates every operator's tensor expression in float64, slowly;
/// `fallback` uses the precompiled kernels only; `automatic` lets better plans replace the fallback as they
/// are found.
enum class Tier { reference, fallback, automatic };

/// What the optimiser's threads get of the processors where others want them, too. `assured`: next to
/// nothing, but a tenth of each at the start; `idle`: next to nothing; `normal`: as much as anybody.
/// `standard`: what AXRUN_OPTIMIZER_PRIORITY says, else assured.
enum class OptimizerPriority { standard, assured, idle, normal };

struct SessionOptions {
  int threads = 0;  ///< threads of one run; 0: every processor this process may use
  Tier tier = Tier::automatic;
  std::map<std::string, ir::Shape> shapes;  ///< fixes the shape of an input
  std::map<std::string, int64_t> dims;      ///< fixes a named size
  size_t plan_cache = 16;                   ///< plans kept for different input shapes; at least 1
  int64_t memory_limit = 0;  ///< bytes one run may take for its tensors; 0: the machine's memory
  bool profile = false;      ///< record the time of every step (Session::profile)

  // The background optimiser, of the automatic tier only. The environment's AXRUN_OPTIMIZE=0 turns it off.
  bool optimize = true;
  int optimizer_threads = 0;  ///< threads of its own that it may use; 0: AXRUN_OPTIMIZER_THREADS, else 1
  OptimizerPriority optimizer_priority = OptimizerPriority::standard;
  double optimizer_share = 1;  ///< of a processor that it takes at most, with its helper process; above 0
  bool deterministic = false;  ///< it swaps in only kernels whose results equal the fallback's to the bit

  /// It may compute convolutions by bilinear algorithms (Winograd's) where that is faster. Their errors are
  /// bounded next to the largest values that a tile of results is computed of, not next to each result's own.
  /// Not together with `deterministic`.
  bool bilinear = false;

  // What it has found is kept for other sessions with the same model, and used by this one. The environment
  // says where (AXRUN_CACHE_DIR), or that nothing is kept (AXRUN_CACHE=off).
  bool use_cache = true;
  std::string cache_dir;  ///< another folder than the environment's; also with AXRUN_CACHE=off
  /// What the cache has of packed constants is not used: they are made of the model's, and can be compared
  /// (compare_packed).
  bool packs_anew = false;

  /// Operators that models may use besides axrun's own: what axrun_operators_add makes (axrun_c.h).
  std::shared_ptr<const ir::CustomOperators> operators;

  /// Plans that earlier processes have needed are made on a thread of its own, while whoever loads goes on;
  /// the first run waits for them.
  bool plans_aside = false;

  /// Makes what spreads the work of runs over threads, for a host that has threads of its own; empty: a pool
  /// of the session's own. The optimiser never uses it.
  std::function<std::unique_ptr<ThreadPool>(int threads)> make_pool;
};

/// An input or output of a model. Inputs with an initializer are not listed: they are constants. Type and
/// dims of an output are what follows from the graph, and where nothing does, what the file declares.
struct Port {
  std::string name;
  ir::ValueKind kind = ir::ValueKind::tensor;
  ir::ElementType type = ir::ElementType::undefined;
  std::optional<ir::Dims> dims;  ///< empty: rank unknown before a run
};

/// Time spent in one step of the plan, or in one node where there is no plan.
struct StepProfile {
  std::string name;    ///< the node's name (the first one, where several share a kernel)
  std::string op;      ///< operators covered, "Conv+Relu"
  std::string kernel;  ///< what executed it
  std::string shape;   ///< of the first output
  /// Of generated kernels: "loops proved, code tested", of code from a cache folder with ", as this cache
  /// says" behind it; empty for precompiled ones.
  std::string proof;
  int64_t runs = 0;
  double total_us = 0;
  double nested_us = 0;       ///< of it, in steps of its bodies, which have profiles of their own
  double flops = 0;           ///< arithmetic operations of one run, 0 where not counted
  double bytes = 0;           ///< bytes of operands and results of one run
  double constant_bytes = 0;  ///< of them, of the model's constants
  double result_bytes = 0;    ///< of them, of results
  double start_us = 0;        ///< of the last run, from the start of that run
  double last_us = 0;
  double own_us() const { return total_us - nested_us; }
};

/// A node whose result differs from the reference.
struct Divergence {
  std::string node;
  std::string op;
  std::string output;
  double max_error = 0;
  double scale = 0;  ///< largest finite magnitude of the reference's result
};

struct DivergenceSearch {
  std::optional<Divergence> first;
  std::vector<RuntimeValue> reference;  ///< the reference's outputs, where no node differs
};

class SessionState;
class RunState;
class Plan;
class RunControl;

/// A loaded model. Loading may take a while; everything else is safe to call from many threads at once.
class AXRUN_API Session {
 public:
  /// Throws Error: user (no such file, bad options), model (damaged or invalid), unsupported.
  static std::unique_ptr<Session> load(const std::string& path, const SessionOptions& options = {});
  /// The bytes are read during the call only. `directory` is where external data may lie; empty refuses it.
  static std::unique_ptr<Session> load_memory(const void* data, size_t size,
                                              const SessionOptions& options = {},
                                              const std::string& directory = {});
  /// An imported model, which is the session's from here on.
  static std::unique_ptr<Session> load_model(ir::Model model, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const ir::Model& model() const;
  int threads() const;
  Tier tier() const;

  /// Runs on values in the order of inputs(). Throws Error(user) naming the input when a type, rank or size
  /// does not fit the model, or when data leads out of bounds. Results are the caller's own.
  /// control: may end the run early (RunEnded); null: nothing does.
  std::vector<RuntimeValue> run(const std::vector<RuntimeValue>& inputs, const RunControl* control = nullptr);

  /// Gives the memory for an output whose shape is known before the run; an undefined tensor: none.
  using OutputMaker = std::function<ir::Tensor(size_t output, ir::ElementType type, const ir::Shape& shape)>;

  /// Runs on bound buffers. inputs: one tensor per input. outputs: one tensor per output, either undefined
  /// (it is allocated and filled in) or of the right type and shape, written in place. With static shapes,
  /// and outputs that are all given, nothing is allocated after the first runs.
  /// make: asked for undefined outputs; what it gives is written in place. Null: nobody is. Strings,
  /// containers, and shapes that only the run can tell are allocated all the same.
  void run_into(const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs,
                const RunControl* control = nullptr, const OutputMaker* make = nullptr);

  /// Values that runs hand on: names of outputs, and of the inputs that they are in the next run.
  /// capacity: positions that values which grow may have. Throws Error(user) for names that the model has
  /// not, and for outputs that cannot be these inputs.
  std::unique_ptr<RunState> new_state(const std::map<std::string, std::string>& feeds, int64_t capacity);
  /// The same runs with the inputs that the state has (given ones are ignored), which it has anew afterwards;
  /// its outputs are left undefined. A run that throws, as one does that exceeds the capacity, leaves the
  /// state as it was.
  std::vector<RuntimeValue> run(const std::vector<RuntimeValue>& inputs, RunState& state,
                                const RunControl* control = nullptr);
  void run_into(const std::vector<ir::Tensor>& inputs, std::vector<ir::Tensor>& outputs, RunState& state,
                const RunControl* control = nullptr, const OutputMaker* make = nullptr);

  /// Builds the plan for these input shapes without running; run does so by itself otherwise.
  void prepare(const std::vector<ir::Shape>& shapes);

  /// What the background optimiser has done, is doing, and why not. With states (RunState) it works for each
  /// set of their names by itself: told is of what ran last.
  OptimizerStatus optimizer_status() const;
  /// What was packed of the model's constants, beside what the cache has of the same. Of a session that packs
  /// them anew (SessionOptions), frozen, without runs at the time.
  PackedComparison compare_packed() const;
  /// From now on no plan is swapped: what is in force stays.
  void freeze();
  /// Waits until the optimiser has nothing left to do, or has stopped; false when the seconds are over
  /// before. Its work begins with the second run.
  bool wait_for_optimizer(double seconds);

  /// Calls with every metric of the session: how runs ended, what the optimiser has done, memory.
  void report_metrics(const MetricSink& sink) const;

  /// Per-step times since the last reset; empty unless options.profile.
  std::vector<StepProfile> profile() const;
  void reset_profile();
  /// Runs the model that often and says what its steps took; throws as run does. Works without
  /// options.profile, and leaves what profile() says alone. Not for the reference tier: empty.
  std::vector<StepProfile> profile_runs(const std::vector<RuntimeValue>& inputs, int runs,
                                        const RunControl* control = nullptr);

  /// Runs the model on this session's tier and on the reference tier, node by node, up to the first node
  /// whose output differs by more than tolerance * max(scale, 0.01). control: asked before each node.
  /// agreed: called with how many nodes do not differ so far.
  DivergenceSearch first_divergence(const std::vector<RuntimeValue>& inputs, double tolerance,
                                    const RunControl* control = nullptr,
                                    const std::function<void(size_t nodes)>& agreed = {});

  /// How its plans came to be.
  FormCounts form_counts() const;

  /// The plan in force for these input shapes, and its replacement by another one prepared for the same
  /// shapes. Runs under way finish on the plan they started with. The replaced plan is freed when no run can
  /// see it.
  std::shared_ptr<const Plan> current_plan(const std::vector<ir::Shape>& shapes);
  void publish(const std::vector<ir::Shape>& shapes, std::shared_ptr<const Plan> plan);

 private:
  explicit Session(std::unique_ptr<SessionState> state);
  struct Stateful;
  /// What the last run was of: the model, or what runs it for states.
  SessionState& in_use() const;
  void run_state(RunState& state, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs,
                 const RunControl* control, const OutputMaker* make);
  std::unique_ptr<SessionState> state_;
  std::unique_ptr<Stateful> stateful_;
};

/// Values for every input of the session, made up from the seed: floats in [-1, 1); integers that index (they
/// reach the indices of a Gather and its like) within the indexed dimension, other integers small and
/// non-negative. Sizes that the model leaves open, where no option fixes them: 1 for a batch, otherwise
/// `free_size` (0: what suits their place, see runtime/free_sizes.h). `notes` gets a line per input: its
/// shape, range and reason.
AXRUN_API std::vector<RuntimeValue> make_inputs(const Session& session, const SessionOptions& options,
                                                uint64_t seed, int64_t free_size,
                                                std::vector<std::string>* notes);

}  // namespace axrun::runtime
