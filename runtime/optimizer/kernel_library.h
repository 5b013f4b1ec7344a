#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/kernel_code.h"
#include "jit/prepared_store.h"
#include "runtime/optimizer/paired_rounds.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/optimizer_status.h"
#include "runtime/plan/kernel_source.h"
#include "search/lowering.h"
#include "verify/evidence.h"
#include "verify/gate_sizes.h"

namespace axrun::runtime {

struct JitKernelParts;

/// Machine code, as kernels are made of it.
struct ServingCode {
  std::shared_ptr<const jit::KernelCode> code;
  std::vector<int> inputs;  ///< per input buffer: the operand that it is
  std::string kind;
  bool from_cache = false;  ///< otherwise it was proved and tested by this process's worker
};

/// The same that has been proved and tested for an expression.
struct GeneratedCode : ServingCode {
  size_t rank = 0;             ///< of its schedule
  verify::TestedSizes tested;  ///< where: it serves no sizes far beyond (TestedSizes::cover)
};

/// How a kernel compared with the one it would replace, at some sizes.
struct KernelVerdict {
  SizeValues sizes;
  bool use = false;
  double speedup = 0;
};

/// The kernels of a session, by what they compute. Steps of equal expressions share one; an expression with
/// open sizes serves every shape within its range, so that a new shape costs a look-up and no compilation.
/// Where the kernel for a range is not the faster one at sizes that repeat, one for these very sizes is tried
/// (specialised): few for each range, those used last.
///
/// Plans ask it from any thread; only the optimiser's thread adds to it.
class KernelLibrary final : public KernelSource {
 public:
  struct Options {
    /// Every verified kernel is used, whatever the verdicts say.
    bool always = false;
    /// A verdict counts for the very sizes at which it was made only.
    bool exact_sizes = false;
  };
  explicit KernelLibrary(Options options) : options_(options) {}

  Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) override;
  std::shared_ptr<const Question> ask(const ir::Graph& graph, const std::vector<int>& nodes,
                                      const StepContext& context) override;
  std::vector<std::vector<int>> joined_groups(const ir::Graph& graph) override;
  std::optional<uint64_t> version() const override { return version_.load(std::memory_order_acquire); }
  uint64_t joined_version() const override { return joined_version_.load(std::memory_order_acquire); }

  /// One expression with its constants; lives as long as the library.
  struct Entry;

  /// The entry for a step: known already, or made. `symbolic` is preferred where it fits the step's shapes,
  /// otherwise the expression at the plan's own shapes is taken, for a few shapes per step. Null, with a
  /// reason, where the step has no expression.
  struct Place {
    std::shared_ptr<Entry> entry;
    SizeValues sizes;
    std::string reason;
  };
  enum class Role {
    step,
    joint  ///< of steps of the plan, which serve on: no record shows it before it takes their place
  };
  Place place_for(const ir::Inference& symbolic, const ir::Inference& concrete, const Plan& plan,
                  const Step& step, Role role = Role::step);
  /// The same where it is known already.
  std::optional<Place> known_place(const Plan& plan, const Step& step) const;
  /// A step of a plan in force, for the records.
  struct Served {
    std::shared_ptr<Entry> entry;  ///< whose kernel serves it, or would; null: it has no expression
    std::string ops, node;         ///< node: its first one's name
    std::string reason;            ///< why it has no expression
    bool has_kernel = false;       ///< otherwise it runs bodies, or has no fixed shapes
    double share = 0;              ///< of the time of its plan's runs
  };
  /// From now on the records' steps and shares are those of these steps.
  void account(const std::vector<Served>& steps);

  /// The kernel of an accepted entry for a step of this plan, whatever the verdicts say; `instead`: of other
  /// code for the same expression. Null where it does not fit the step.
  std::shared_ptr<const Kernel> kernel_for(const Entry& entry, const SizeValues& sizes, const Plan& plan,
                                           const Step& step, int threads,
                                           const GeneratedCode* instead = nullptr);

  const StepExpression& expression(const Entry& entry) const;
  OptimizedKernel::State state(const Entry& entry) const;
  /// Of its schedule, as far as it is known.
  std::string kind(const Entry& entry) const;
  search::Sizes ranges(const Entry& entry) const;
  /// What it computes, of which constants, for which sizes: equal for what one kernel can serve.
  const std::string& key(const Entry& entry) const;
  /// A verdict has been made at these sizes, or at ones like them.
  bool is_judged(const Entry& entry, const SizeValues& sizes) const;

  /// The entry for these very sizes, made when it is new, where `entry` is for a range and does not serve
  /// them; otherwise null.
  std::shared_ptr<Entry> specialised(Entry& entry, const SizeValues& sizes);

  /// A kernel of the entry, or of one specialised from it, is used at these sizes.
  bool serves(const Entry& entry, const SizeValues& sizes) const;
  /// Of that one over the kernel that was there before; 0: there is none, or it was not measured.
  double speedup_at(const Entry& entry, const SizeValues& sizes) const;

  /// What is known of these nodes holds for nodes of another graph that compute the same from values of the
  /// same numbers or dims.
  void serve_as(const ir::Graph& graph, const std::vector<int>& nodes, const ir::Graph& other,
                const std::vector<int>& twins);
  /// What was said of the nodes of a graph that nobody will use: another one may get its address.
  void forget(const ir::Graph& graph);
  /// From now on plans of the graph have one step for these nodes where there is a kernel for all of them.
  /// False where that is known already.
  bool know_joined(const ir::Graph& graph, const std::vector<int>& nodes);

  /// end: of the default schedule's trial, where there has been one.
  void refuse(Entry& entry, const std::string& reason, std::optional<TriedKernel::End> end = std::nullopt);
  void accept(Entry& entry, GeneratedCode code);
  void judge(Entry& entry, KernelVerdict verdict);
  /// At these sizes the kernel of this code has turned out slower: where it was an alternative, what it has
  /// taken the place of is in force again, otherwise the fallback.
  void blame(Entry& entry, const SizeValues& sizes, const jit::KernelCode* code);

  /// The code of an entry that was tested, but not so far that it may serve these sizes; nothing where it
  /// may, where there is none, or where stays_within() was said of it.
  std::optional<GeneratedCode> code_to_test(const Entry& entry, const SizeValues& sizes) const;
  /// Whether the entry has code that may serve these sizes, as far as tests go.
  bool reaches(const Entry& entry, const SizeValues& sizes) const;
  /// The entry's code has been tested at more sizes; nothing where other code has taken its place. gate: what
  /// the test says.
  void extend(Entry& entry, const GeneratedCode& code, const std::string& gate);
  /// The entry's code will not be tested at more sizes; beyond those that it serves the fallback does.
  void stays_within(Entry& entry, const std::string& reason);
  /// The entry's code is wrong at some sizes of its range: it serves none any more. What plans still run.
  std::shared_ptr<const jit::KernelCode> withdraw(Entry& entry, const std::string& reason);

  /// The entry whose kernel serves these sizes, or would: one specialised from it, or itself.
  std::shared_ptr<Entry> serving_entry(const std::shared_ptr<Entry>& entry, const SizeValues& sizes) const;
  /// The next of an entry's alternative schedules to be tried; 0: none is left, or the default one has not
  /// been judged, or was refused.
  size_t next_alternative(const Entry& entry) const;
  /// Whether there is one for any entry.
  bool has_alternatives() const;
  /// Of those left, how many.
  size_t alternatives_left(const Entry& entry) const;
  /// The next one has been judged. speedup: over the kernel in force; 0: not measured.
  void alternative_tried(Entry& entry, double speedup);
  /// From now on the alternative is the entry's kernel. It was compared at these sizes: what was known of
  /// others counts no more. evidence: kind, proof, gate and times of the alternative.
  void take_over(Entry& entry, GeneratedCode code, const OptimizedKernel& evidence, KernelVerdict verdict);
  /// What the kernel of this code has taken the place of at these sizes is not asked for any more.
  void confirm(Entry& entry, const SizeValues& sizes, const jit::KernelCode* code);
  /// What has been tried: takes the place of an earlier trial of the same rank.
  void note_trial(Entry& entry, TriedKernel trial);
  /// Of the trial of this rank: how it compared with what it would replace; `present_us` may be of several.
  void note_times(Entry& entry, size_t rank, const Ratio& ratio);
  /// Changes the record that status() shows.
  void note(Entry& entry, const std::function<void(OptimizedKernel&)>& change);

  std::vector<OptimizedKernel> records() const;
  /// Of joints that serve nowhere.
  std::vector<OptimizedKernel> lost_joints() const;
  int64_t code_bytes() const;
  /// Of constants in the forms that kernels want, in use: each counted once.
  int64_t prepared_bytes() const;
  /// The constants themselves.
  jit::PreparedStore& prepared() { return prepared_; }
  const jit::PreparedStore& prepared() const { return prepared_; }
  std::mutex& mutex() { return mutex_; }
  /// What was known from the beginning has been gone on with: no step is open for that reason any more.
  void resumed();

 private:
  friend class LibraryImage;  ///< runtime/warm: what it knows, written down
  struct Form;                ///< the expression of a group of nodes, and its entry
  using GroupKey = std::pair<const ir::Graph*, std::vector<int>>;
  using Constants = std::vector<const void*>;  ///< addresses, per input buffer; null where it is none

  class StepQuestion;

  /// Of a step that gives these outputs. known: per input buffer, whether it is constant.
  static std::shared_ptr<const JitKernelParts> parts_of(const Entry& entry, const ServingCode& generated,
                                                        const std::vector<bool>& known,
                                                        const std::vector<int>& outputs, const ir::Node& node,
                                                        int threads);
  std::shared_ptr<const jit::BoundKernel> bind(const ServingCode& code, const SizeValues& sizes,
                                               const Constants& constants);
  /// Whether a kernel serves these sizes, and whether that may still change. Under the lock.
  struct Choice {
    bool use = false;
    bool open = false;
    bool beyond = false;  ///< it is to be tested there first
  };
  Choice choose(const Entry& entry, const SizeValues& sizes) const;
  static std::shared_ptr<Entry> specialised_at(const std::vector<std::shared_ptr<Entry>>& entries,
                                               const SizeValues& sizes);
  using ConstantOf = std::function<const ir::Tensor*(ir::ValueId)>;  ///< null: not constant
  /// What is known of the group where that is taken for granted. Under the lock, as the next ones.
  std::vector<std::shared_ptr<Form>> forms_of(const GroupKey& key, std::string_view assumptions,
                                              const ConstantOf& constant) const;
  /// Whether it is for such ports, and their sizes; outputs: those that it gives.
  static bool is_for(const Form& form, const PortSizes& ports, const std::vector<int>& outputs,
                     SizeValues& sizes);
  void add_form(const GroupKey& key, std::shared_ptr<Form> form);
  /// Whether the group may get one more: for fixed shapes there are few.
  bool has_fixed_room(const GroupKey& key) const;
  /// The same for open sizes that keep to these: few as well, and none where it was seen that there is none.
  bool has_open_room(const GroupKey& key, std::string_view assumptions) const;
  /// What serves these sizes: the entry, or one specialised from it. Under the lock.
  std::shared_ptr<Entry> serving(const std::shared_ptr<Entry>& entry, const SizeValues& sizes) const;
  static TriedKernel* trial_of(Entry& entry, int rank);
  static void end_trial(Entry& entry, int rank, TriedKernel::End end);
  /// False where the code is none that was taken over.
  bool give_back_earlier(Entry& entry, const jit::KernelCode* code);
  OptimizedKernel& unexpressed(const Served& step);
  /// What is shown of the entry. Under the lock.
  static OptimizedKernel record_of(const Entry& entry);

  /// What is known of a group of nodes.
  struct Group {
    std::vector<std::shared_ptr<Form>> forms;
    uint64_t changed = 0;  ///< the version since which they are these
  };

  /// While it lives, what the library answers may change: of what, it is to be told.
  class Change {
   public:
    explicit Change(KernelLibrary& library)
        : lock_(library.mutex_), library_(library), version_(next_version()) {}
    ~Change() { library_.version_.store(version_, std::memory_order_release); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    void of(Entry& entry);
    void of(Group& group) { group.changed = version_; }
    void of_everything() { library_.all_changed_ = version_; }
    void of_joined() { library_.joined_version_.store(version_, std::memory_order_release); }

   private:
    std::lock_guard<std::mutex> lock_;
    KernelLibrary& library_;
    const uint64_t version_;
  };
  static uint64_t next_version();

  Options options_;
  std::atomic<uint64_t> version_{next_version()};
  std::atomic<uint64_t> joined_version_{next_version()};
  uint64_t all_changed_ = 0;  ///< the version since which what is said of every group may be other
  mutable std::mutex mutex_;
  std::map<GroupKey, Group> groups_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::vector<std::shared_ptr<Entry>> order_;                         ///< as they were made
  std::map<const ir::Graph*, std::vector<std::vector<int>>> joined_;  ///< as they were found
  bool resumes_ = false;  ///< it began with what another process had found, and more is to be tried
  uint64_t uses_ = 0;     ///< of specialised entries
  std::vector<OptimizedKernel> unexpressed_;  ///< steps without an expression
  /// Kernels that are bound keep their code: no other one has its address.
  struct BoundKey {
    const jit::KernelCode* code;
    Constants constants;
    std::vector<int64_t> sizes;
    auto operator<=>(const BoundKey&) const = default;
  };
  std::map<BoundKey, std::weak_ptr<const jit::BoundKernel>> bound_;
  size_t bound_swept_at_ = 64;  ///< so many are looked through for those that are gone
  jit::PreparedStore prepared_{mutex_};
};

}  // namespace axrun::runtime
