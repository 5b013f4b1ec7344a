#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/memory_groups.h"
#include "runtime/optimizer/background.h"
#include "runtime/optimizer/bilinear_question.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/chosen_layouts.h"
#include "runtime/optimizer/graph_outline.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/load_programs.h"
#include "runtime/optimizer/paired_rounds.h"
#include "runtime/optimizer/phase_clock.h"
#include "runtime/optimizer/plan_comparison.h"
#include "runtime/optimizer/plan_tree.h"
#include "runtime/optimizer/schedule_kind.h"
#include "runtime/optimizer/session_rules.h"
#include "runtime/optimizer/status_board.h"
#include "runtime/optimizer/step_shares.h"
#include "runtime/optimizer/throttling.h"
#include "runtime/plan/joints.h"
#include "runtime/plan_table.h"

namespace axrun::runtime {

class LayoutTrial;
class WarmStart;
struct Experience;

/// What the optimiser is given of a session, which must outlive it.
struct OptimizerHost {
  std::shared_ptr<const ir::Graph> graph;
  PlanTable* plans = nullptr;
  PackCache* packs = nullptr;  ///< of the plans' precompiled kernels; null where they are of no interest
  /// An ordinary build, with kernels from this source (null: the fallback's only).
  std::function<std::shared_ptr<const Plan>(const std::vector<RuntimeValue>& inputs,
                                            std::shared_ptr<KernelSource> kernels)>
      build;
  int threads = 1;  ///< of a run
};

struct OptimizerSettings {
  int threads = 1;
  Standing standing = Standing::assured;
  double share = 1;            ///< of a processor that its thread and its helper take at most
  bool deterministic = false;  ///< only kernels that are bit-equal to the fallback's
  bool always = false;         ///< what is verified is swapped in, faster or not
  bool join = true;            ///< steps that read one another are tried as one
  bool schedules = true;       ///< alternatives to the default schedules are tried
  bool layouts = true;         ///< values may be laid out in other ways than the model's
  /// Of what the heaviest kernels take, what they must spare channels-last for layouts to be searched.
  double promising_layouts = 0.02;
  bool force_layouts = false;   ///< they are, channels-last, wherever they can be
  bool algebra = true;          ///< graphs may be rewritten by proved identities
  bool force_algebra = false;   ///< they are, wherever that looks cheaper
  bool bilinear = false;        ///< convolutions may be computed by bilinear algorithms
  bool force_bilinear = false;  ///< they are, wherever there are any
  WorkerOptions worker;
  /// Of the helper's processor: what is searched (layouts, identities) ends that says nothing for so long.
  double search_seconds = 30;
  std::string reproducers;  ///< folder for candidates that something was wrong with; empty: none
  LowerFunction lower;      ///< see CandidateTools
};

/// Shapes that runs have met, with inputs of such a run.
struct OptimizerJob {
  std::vector<ir::Shape> shapes;
  std::vector<RuntimeValue> inputs;
};

/// Thrown where the optimiser has to give up.
struct CannotGoOn {
  std::string reason;
};

/// The work of the optimiser's thread, and what lives as long as that: the worker, what is known of the model
/// with open sizes, swaps that real runs have not confirmed yet.
class PlanImprover {
 public:
  /// Throws CannotGoOn where no machine code can be made or executed here.
  PlanImprover(const OptimizerHost& host, const OptimizerSettings& settings,
               std::shared_ptr<KernelLibrary> library, ChosenLayouts& layouts, StatusBoard& board,
               const Background::Place& place);

  /// Everything that can be done for one set of shapes. Throws CannotGoOn.
  void improve(const OptimizerJob& job);
  /// Other schedules of kernels in force are known that have not been tried.
  bool has_alternatives() const { return !later_.empty(); }
  /// Tries them for one of the jobs so far, until all are tried or `wanted` says that there is something more
  /// important to do. Throws CannotGoOn.
  void try_alternatives(const std::function<bool()>& wanted);
  /// Graphs of jobs so far have not been looked at for what could be computed in other ways.
  bool has_algebra() const { return !algebra_.empty(); }
  /// The same, and layouts of the next one's values have been decided: graphs are rewritten as they are laid
  /// out.
  bool has_algebra_before_alternatives() const;
  /// Looks for rules in one of them, and has its plan rewritten where that is faster; returns early where
  /// `wanted` says that there is something more important to do, and goes on when called again. Throws
  /// CannotGoOn.
  void try_algebra(const std::function<bool()>& wanted);
  /// Called with what was folded of a rewritten graph that came into force.
  void when_folded(std::function<void(std::vector<FoldedNode>)> call) { when_folded_ = std::move(call); }
  /// Called when bilinear algorithms have been chosen, or not, for a set of shapes.
  void when_bilinear_decided(std::function<void()> call) { when_bilinear_decided_ = std::move(call); }
  /// One of what load has folded: when nothing else is to be done. Throws CannotGoOn.
  void check_load_time(LoadPrograms& programs);
  /// Looks at the times of real runs since the latest swaps, and undoes what has become slower.
  void watch();
  bool is_watching() const { return !trials_.empty(); }
  /// Kernels that others have verified before, by their entries' keys.
  void know_kernels(std::shared_ptr<WarmStart> warm) { warm_ = std::move(warm); }
  /// Called when real runs have confirmed a swap.
  void when_confirmed(std::function<void()> call) { when_confirmed_ = std::move(call); }
  /// Returns when the process's control groups have not been throttled for a while, and have memory left.
  void rest_when_throttled();

 private:
  using Clock = std::chrono::steady_clock;
  /// Shapes that have been run so often are taken for ones that come again.
  static constexpr uint64_t runs_that_repeat = 8;
  /// A kernel that is faster by this share is swapped in as soon as that is clear, a model that is slower by
  /// it is swapped back.
  static constexpr double share = 0.02;
  /// Between two plans that are put in force while candidates are tried, at least.
  static constexpr std::chrono::milliseconds between_swaps{250};
  /// Steps of a plan, or of plans nested in it, that share an entry of the library.
  struct Task {
    std::shared_ptr<KernelLibrary::Entry> entry;
    SizeValues sizes;
    std::shared_ptr<const Plan> plan;  ///< the heaviest of them: whose it is,
    size_t step = 0;                   ///< its number,
    double step_microseconds = 0;      ///< and its time
    double microseconds = 0;           ///< of all
    /// Instead of that step: what it does together with earlier ones, as one.
    std::shared_ptr<const Joint> joint = nullptr;
    bool is_light = false;  ///< of a joint: its steps, next to what going from one to the other takes
    double worth = 0;       ///< microseconds that are expected to be spared: what is worth most comes first
  };
  /// Chains of steps that share an entry as one step.
  struct JointTask {
    Task task;
    struct Site {
      std::shared_ptr<const Plan> plan;
      std::shared_ptr<const Joint> joint;
    };
    std::vector<Site> sites;
  };
  /// A step of a plan in force, known by its nodes: plans of several shapes share it where one kernel serves
  /// all of them.
  struct ServedStep {
    std::shared_ptr<const ir::Graph> graph;
    std::vector<int> nodes;
    KernelLibrary::Served step;
  };
  struct Trial {
    OptimizerJob job;
    std::shared_ptr<const Plan> before, now;
    std::optional<double> median_before;
    Clock::time_point until;
  };

  /// Without those of the plans' steps that are named.
  std::vector<Task> find_tasks(const Plan& plan, const OptimizerJob& job,
                               const std::set<std::pair<const Plan*, size_t>>& without = {});
  /// One after the other, with swaps in between; `tried` is called after each.
  void try_steps(const std::vector<Task>& tasks, const OptimizerJob& job,
                 const std::function<void(const Task&)>& tried = {});
  /// What sessions elsewhere have found for models of this structure; nothing where only bit-equal kernels
  /// may serve, and in the same order every time.
  const Experience& experience() const;
  double expected_worth(const Task& task) const;
  /// Steps that became one elsewhere.
  std::vector<JointTask> find_known_joints(const std::shared_ptr<const Plan>& plan, const OptimizerJob& job);
  /// Tries these as one, and the plan's other steps.
  void try_known(const OptimizerJob& job);
  /// When every step has its kernel: what was joined before its parts had theirs has to be no slower.
  void review_early_joints(const OptimizerJob& job);
  /// Of every step, nested ones included: the least of a few runs, as the thread is interrupted now and then.
  /// Of the plan asked for last, what was found then.
  TreeTimes step_times(const Plan& plan, const OptimizerJob& job);
  /// `meanwhile` is done where the worker would have nothing to do.
  void try_task(const Task& task, const OptimizerJob& job, const std::function<void()>& meanwhile = {});
  /// Whether the job's shapes come again, as far as is known by now.
  bool repeats(const OptimizerJob& job);
  enum class Growth {
    pairs,   ///< two steps that are of one kind together
    chains,  ///< three, where no two of them are
    pieces   ///< two light ones as the pieces of one kernel
  };
  /// Has steps that read one another joined where one kernel for all is the faster one; false when none are.
  /// Consecutive steps grow together one by one, with a swap in between.
  bool join_steps(const std::shared_ptr<const Plan>& plan, const OptimizerJob& job, Growth growth);
  /// Until nothing joins any more.
  void grow(const OptimizerJob& job);
  bool may_join(const JointTask& task, Growth growth);
  /// Of an entry that nobody has lowered; waits for the worker.
  ScheduleKind schedule_kind(const KernelLibrary::Entry& entry);
  std::vector<JointTask> find_joints(const TreeTimes& times, size_t count);
  /// Wherever none of the steps is taken for another joint; false where that is known already.
  bool join(const JointTask& task, std::set<std::pair<const Plan*, size_t>>& taken);
  /// Accepts what the cache has for an entry that waits; false where it has nothing.
  bool take_from_cache(KernelLibrary::Entry& entry);
  /// Has the task's entry accepted or refused.
  void attempt(const Task& task);
  /// Gives the worker the task's candidate: the next one, while kernels are compared and plans swapped. rank:
  /// of its schedule.
  void begin(const Task& task, size_t rank = 0);
  std::unique_ptr<Candidate> candidate_for(const KernelLibrary::Entry& entry, const SizeValues& sizes,
                                           size_t rank, const std::optional<GeneratedCode>& known = {});
  /// Has a verified kernel that does not serve the task's sizes yet tested at these, and at borders on the
  /// way: true where it serves them now. Where it is wrong it is taken out of all plans.
  bool test_beyond(const Task& task);
  void withdraw(KernelLibrary::Entry& entry, const std::string& reason);
  /// The session's share of machine code is not used up.
  bool has_room_for_code() const;
  /// Where the standing of the start is not needed any more, or was used for long enough: idle from now on.
  void review_standing();
  void become_idle();
  /// Waits for the candidate that was begun, which is what the worker is at work on until reset.
  CandidateOutcome outcome_of_begun();
  void note_worker_times(const Candidate& candidate);
  /// The same, and accepts or refuses it; an alternative that is not waited for is forgotten, not tried.
  void settle();
  /// Steps of the plan whose entries have alternatives that are worth trying.
  std::vector<Task> find_alternatives(const Plan& plan, const OptimizerJob& job);
  /// The task to be gone on with: what the worker has begun, or, where `tried` is given, what comes when that
  /// entry's next one has been tried. Null: none is left.
  const Task* next_alternative(const std::vector<Task>& tasks,
                               const KernelLibrary::Entry* tried = nullptr) const;
  /// Tries the next alternative of the task's entry. True where it is taken over.
  bool try_alternative(const Task& task, const std::function<void()>& meanwhile);
  /// How an alternative compares with what does the task's work at present; end: what it is where it is not
  /// taken over.
  Ratio compare_alternative(const Task& task, const GeneratedCode& code, TriedKernel::End& end);
  void count_alternatives(const std::vector<Task>& tasks);
  void remember_alternatives(const OptimizerJob& job, bool layouts = false);
  void remember_algebra(const OptimizerJob& job);
  void compare(const Task& task);
  /// Of the task's candidate, whose results differ from those of the kernel in force.
  void keep_reproducer(const Task& task, const std::string& difference);
  /// Once for every set of shapes: chooses the layouts of all values of the plan in force, and puts a plan
  /// with them in its place where that is the faster one. True where it has.
  bool choose_layouts(const OptimizerJob& job);
  /// Sites of one expression.
  struct LayoutTask {
    Task task;
    std::vector<size_t> sites;
  };
  std::vector<LayoutTask> find_layout_tasks(const LayoutTrial& trial,
                                            const std::shared_ptr<const Plan>& apart);
  /// Has kernels tried that work channels-last. False where that does not look worth it.
  bool price_layouts(LayoutTrial& trial, const OptimizerJob& job, double total, LayoutReport& report);
  /// Of the trial's plan and the other one, by turns.
  void measure_layouts(LayoutTrial& trial, const Plan& laid_out, const OptimizerJob& job);
  /// Once for every set of shapes: has convolutions computed by bilinear algorithms, kind by kind, where that
  /// is the faster way, and puts a plan with all of these in force. True where it has.
  bool use_bilinear(const OptimizerJob& job);
  struct BilinearKinds;
  struct BilinearMade;
  /// The plan's graph with these choices, written by the helper. Throws as searched().
  BilinearMade with_bilinear(const std::shared_ptr<const Plan>& plan,
                             const std::vector<search::algebra::BilinearChoice>& choices);
  /// What convolutions of each kind take by each tile. False where told to stop.
  bool time_bilinear(const std::shared_ptr<const Plan>& now, const OptimizerJob& job, BilinearKinds& kinds);
  /// Of plans that are not made any more.
  void forget_graph(const std::shared_ptr<const ir::Graph>& graph);
  /// That the nodes of the choice's kind compute what the convolution does. growth: of rounding errors.
  /// Throws as searched().
  bool is_proved(const search::algebra::BilinearChoice& choice, const std::string& kind, double& growth);
  /// The helper's answer to a question about search/. Throws SearchFailed where there is none, RunStopped,
  /// CannotGoOn. No piece of background work may last meanwhile.
  std::string searched(WorkerStage search, const std::string& question, const SearchListener& listener = {},
                       double proof_seconds = 2);
  /// The same, of a question that has the session's rules in it: what is said of these meanwhile is known
  /// however it ends, and an identity whose proof ends the helper is left out from then on.
  std::string searched_with_rules(WorkerStage search, const std::function<std::string()>& question,
                                  const std::function<bool()>& interrupted);
  /// What the plan's graph is, for the helper.
  std::string outline_of(const Plan& plan, ConstantContents contents);
  /// False where it is to be gone on with another time. trouble: why the helper did not come to an end.
  bool look_for_rules(const std::string& outline, const std::function<bool()>& interrupted,
                      std::string& trouble);
  /// Puts a plan of a rewritten graph in the place of `now` where that is the faster one. True where it has;
  /// the report says what was tried, and why not.
  bool rewrite(const std::shared_ptr<const Plan>& now, const std::string& outline, const OptimizerJob& job,
               const std::function<bool()>& interrupted, AlgebraReport& report);
  /// Those windows of the graph of `base` that pay, all or kinds of them.
  bool try_windows(const std::shared_ptr<const Plan>& base, const WindowsAnswer& found,
                   const OptimizerJob& job, AlgebraReport& report, const std::function<bool()>& interrupted);
  /// Those of these windows, all of them in order, against the plan in force.
  bool try_rewritten(const std::shared_ptr<const Plan>& base, const WindowsAnswer& found,
                     const std::vector<size_t>& windows, const OptimizerJob& job, AlgebraReport& report);
  /// A plan of the graph with all kernels and joints that can be had; null where told to stop.
  std::shared_ptr<const Plan> plan_rewritten(const std::shared_ptr<const Plan>& now,
                                             const std::shared_ptr<const ir::Graph>& graph,
                                             const OptimizerJob& job);
  /// Says why where the plan's answers are not those of the fallback; empty where they are.
  std::string wrong_answers(const std::shared_ptr<const Plan>& now, const Plan& better,
                            const OptimizerJob& job);
  /// The plan with the factories' kernels, what is nested in it left out.
  const Plan& fallback_of(const std::shared_ptr<const Plan>& plan);
  /// A plan for the job's shapes is in force, made anew where others have taken its place.
  void bring_back(const OptimizerJob& job);
  /// Builds a plan with all that the library has, and puts it in force where it is no slower.
  void swap(const OptimizerJob& job);
  /// Where its place is still taken by `now`: `better`, until real runs say otherwise.
  bool put_in_force(const OptimizerJob& job, const std::shared_ptr<const Plan>& now,
                    const std::shared_ptr<const Plan>& better, const Ratio& ratio, const char* what);
  /// Those of a run that have a core of their own: the others spare nothing, and generated kernels make no
  /// work for them.
  int threads_that_spare() const { return tools_.target.cores; }
  Ratio compare_plans(const Plan& before, const Plan& after, const OptimizerJob& job,
                      Asked asked = Asked::not_slower);
  void run(const Plan& plan, const OptimizerJob& job, StepObserver& observer, ThreadPool& pool);
  /// From now on these kernels count as slower at these shapes.
  void blame(const Plan& plan, const Plan* innocent);
  /// What they have taken the place of is not asked for any more.
  void confirm(const Plan& plan, const Plan* before);
  void for_entries(
      const Plan& plan, const Plan* without,
      const std::function<void(KernelLibrary::Entry&, const SizeValues&, const jit::KernelCode* code)>& call);
  void count_left(const std::vector<Task>& tasks, size_t done);
  bool is_waiting(const Task& task) const;
  void set_left(int64_t left);
  /// What is known of the job at hand is not needed any more.
  void clear_job();
  /// A plan is in force at these shapes: says how many of its steps run generated kernels, and which.
  void account(const Plan& plan, const std::vector<ir::Shape>& shapes);
  void add_steps(const Plan& plan, std::vector<ServedStep>& steps) const;

  const OptimizerHost& host_;
  const OptimizerSettings& settings_;
  std::shared_ptr<KernelLibrary> library_;
  ChosenLayouts& layouts_;
  StatusBoard& board_;
  const Background::Place& place_;
  PhaseClock clock_;
  CandidateTools tools_;
  MemoryGroups memory_;
  WorkerProcess worker_;
  Throttling throttling_;
  std::chrono::seconds rest_{5};
  /// What had been worked when the standing was looked at last, and how often time was plentiful then.
  PhaseClock::Times reviewed_;
  int plentiful_ = 0;
  double worker_seconds_ = 0;  ///< of processor time
  /// What the worker is at work on.
  struct Begun {
    std::shared_ptr<KernelLibrary::Entry> entry;
    SizeValues sizes;
    size_t rank = 0;
    std::optional<GeneratedCode> known;  ///< that is tested at more sizes
    std::unique_ptr<Candidate> candidate;
  };
  std::optional<Begun> begun_;
  /// The kernel of the task tried last has been tested at more sizes for it.
  bool reaches_more_ = false;
  std::optional<SymbolicFacts> symbolic_;
  /// Of the plans of the job at hand, made when first needed.
  std::map<std::shared_ptr<const Plan>, std::shared_ptr<const Plan>> fallbacks_;
  /// That have been in force for the job at hand.
  std::set<std::shared_ptr<const Plan>> in_force_;
  /// Of these plans, and of those inside of them.
  IntegersRead integers_;
  /// Of the job at hand.
  std::optional<std::pair<std::shared_ptr<const Plan>, TreeTimes>> timed_;
  StepShares shares_;
  /// What the kernels do in the plans in force.
  std::map<std::vector<ir::Shape>, std::vector<ServedStep>> accounts_;
  std::vector<Trial> trials_;
  std::function<void()> when_confirmed_;
  std::shared_ptr<WarmStart> warm_;  ///< may be null
  /// Shapes whose layouts have been chosen.
  std::set<std::vector<ir::Shape>> laid_out_;
  /// Shapes for which bilinear algorithms have been looked at, and what has been proved, by kind and tile.
  std::set<std::vector<ir::Shape>> bilinear_;
  std::map<std::pair<std::string, int>, BilinearProof> bilinear_proofs_;
  /// Of the job at hand: joined before there were kernels for the parts.
  std::vector<JointTask> joined_early_;
  /// Whose default kernels and joints are settled, and whose alternatives, or layouts, are not.
  struct Later {
    OptimizerJob job;
    bool layouts = false;  ///< are still to be chosen: elsewhere plain ones were best
  };
  std::deque<Later> later_;
  /// Whose graphs are to be rewritten, when nothing else is left to do.
  std::deque<OptimizerJob> algebra_;
  std::set<std::vector<ir::Shape>> rewritten_;  ///< shapes for which that was done
  std::optional<SessionRules> rules_;           ///< when first needed
  std::function<void(std::vector<FoldedNode>)> when_folded_;
  std::function<void()> when_bilinear_decided_;
};

}  // namespace axrun::runtime
