// What sessions elsewhere have found for models of this structure: the part of PlanImprover that tries first
// what fared well there.
//
// Steps that became one elsewhere are tried as one at once, before any kernel for a part of them: against the
// steps as they are at present. When every step has its kernel the parts get theirs, and the joint step has
// to be no slower than they are together; otherwise it falls apart again. So the plan that comes out is one
// that was measured here, border by border.

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "ir/lasting.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/step_finder.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

/// A joint step that served elsewhere was measured against kernels of its parts there; here there are none
/// yet.
constexpr double least_gain_of_joint = 0.25;
/// What took longer than this to be proved and tested elsewhere would keep lighter things waiting: it comes
/// when its parts serve.
constexpr double longest_early = 0.5;

/// The library's kernels, but for some sets of nodes: these stay apart.
class Apart final : public KernelSource {
 public:
  Apart(std::shared_ptr<KernelSource> source, const ir::Graph& graph, std::vector<std::vector<int>> sets)
      : source_(std::move(source)), graph_(graph), sets_(std::move(sets)) {}

  Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) override {
    return is_apart(graph, nodes) ? Found() : source_->find(graph, nodes, context);
  }
  std::vector<std::vector<int>> joined_groups(const ir::Graph& graph) override {
    std::vector<std::vector<int>> groups = source_->joined_groups(graph);
    std::erase_if(groups, [&](const std::vector<int>& nodes) { return is_apart(graph, nodes); });
    return groups;
  }

 private:
  bool is_apart(const ir::Graph& graph, const std::vector<int>& nodes) const {
    return &graph == &graph_ && std::find(sets_.begin(), sets_.end(), nodes) != sets_.end();
  }

  std::shared_ptr<KernelSource> source_;
  const ir::Graph& graph_;
  std::vector<std::vector<int>> sets_;
};

}  // namespace

const Experience& PlanImprover::experience() const {
  static const auto& none = lasting(Experience());
  return warm_ && !settings_.deterministic ? warm_->experience() : none;
}

double PlanImprover::expected_worth(const Task& task) const {
  return task.microseconds * expected_gain(experience().of(library_->key(*task.entry)));
}

std::vector<PlanImprover::JointTask> PlanImprover::find_known_joints(const std::shared_ptr<const Plan>& plan,
                                                                     const OptimizerJob& job) {
  const std::vector<std::vector<int>>& known = experience().joined;
  if (known.empty() || !settings_.join || &plan->graph() != host_.graph.get()) return {};
  const TreeTimes times = step_times(*plan, job);
  const auto own = std::find_if(times.plans().begin(), times.plans().end(),
                                [&](const TreeTimes::Times& one) { return one.plan == plan; });
  if (own == times.plans().end()) return {};
  const Background::Piece piece(place_.background);
  StepsByNodes found;
  rebuilt(*plan, std::make_shared<StepFinder>(plan->graph(), known, found));
  const ir::Inference concrete = facts_of(*plan);
  struct Early {
    Joint joint;
    KernelLibrary::Place place;
  };
  std::vector<Early> early;
  for (const auto& [nodes, step] : found) {
    Joint joint = joint_within(step, *plan);
    if (joint.steps.empty()) continue;
    KernelLibrary::Place place = library_->place_for(symbolic_->inference(plan->graph()), concrete, *plan,
                                                     joint.step, KernelLibrary::Role::joint);
    if (!place.entry) continue;
    const Experience::Trial* const trial = experience().of(library_->key(*place.entry));
    if (trial == nullptr || trial->seconds <= 0 || trial->seconds > longest_early) continue;
    early.push_back({std::move(joint), std::move(place)});
  }
  std::vector<JointTask> tasks;
  for (const auto& [joint, place] : early) {
    const std::vector<int>& nodes = joint.step.work->nodes;
    const bool within_another = std::any_of(early.begin(), early.end(), [&](const Early& other) {
      const std::vector<int>& others = other.joint.step.work->nodes;
      return others.size() > nodes.size() &&
             std::includes(others.begin(), others.end(), nodes.begin(), nodes.end());
    });
    if (within_another) continue;
    double microseconds = 0;
    for (const size_t s : joint.steps) microseconds += own->microseconds[s];
    const auto shared = std::make_shared<const Joint>(joint);
    auto task = std::find_if(tasks.begin(), tasks.end(), [&, &place = place](const JointTask& one) {
      return one.task.entry == place.entry && one.task.sizes == place.sizes;
    });
    if (task == tasks.end()) {
      Task one{place.entry, place.sizes, plan, shared->steps.back(), microseconds, 0};
      one.joint = shared;
      tasks.push_back({std::move(one), {}});
      task = std::prev(tasks.end());
    }
    task->sites.push_back({plan, shared});
    task->task.microseconds += microseconds;
    task->task.worth = std::max(expected_worth(task->task), least_gain_of_joint * task->task.microseconds);
  }
  return tasks;
}

void PlanImprover::try_known(const OptimizerJob& job) {
  std::shared_ptr<const Plan> plan = host_.plans->current(job.shapes);
  if (!plan) return;
  const std::vector<JointTask> known = find_known_joints(plan, job);
  if (known.empty()) return;
  std::set<std::pair<const Plan*, size_t>> covered, taken;
  for (const JointTask& one : known) {
    for (const JointTask::Site& site : one.sites) {
      for (const size_t s : site.joint->steps) covered.emplace(plan.get(), s);
    }
  }
  std::vector<Task> tasks = find_tasks(*plan, job, covered);
  for (const JointTask& one : known) tasks.push_back(one.task);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.worth > b.worth; });
  try_steps(tasks, job, [&](const Task& task) {
    if (!task.joint || !library_->serves(*task.entry, task.sizes)) return;
    const auto one = std::find_if(known.begin(), known.end(),
                                  [&](const JointTask& joint) { return joint.task.joint == task.joint; });
    if (one != known.end() && join(*one, taken)) joined_early_.push_back(*one);
  });
  swap(job);
}

void PlanImprover::review_early_joints(const OptimizerJob& job) {
  const std::vector<JointTask> early = std::exchange(joined_early_, {});
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  const auto interrupted = [&] { return place_.stop.requested() || board_.frozen(); };
  if (early.empty() || !now || &now->graph() != host_.graph.get() || interrupted()) return;
  std::vector<std::vector<int>> sets;
  for (const JointTask& one : early) {
    for (const JointTask::Site& site : one.sites) sets.push_back(site.joint->step.work->nodes);
  }
  const auto apart_plan = [&] {
    const Background::Piece piece(place_.background);
    const std::shared_ptr<const Plan> plan =
        rebuilt(*now, std::make_shared<Apart>(library_, *host_.graph, sets));
    plan->prepare_nested(*now);
    return plan;
  };
  // First the parts' own kernels, then the joint steps against these.
  std::shared_ptr<const Plan> apart = apart_plan();
  const std::vector<Task> parts = find_tasks(*apart, job);
  for (size_t k = 0; k < parts.size(); ++k) {
    rest_when_throttled();
    if (interrupted()) return;
    count_left(parts, k);
    try_task(parts[k], job, [&] {
      const auto next = std::find_if(parts.begin() + static_cast<std::ptrdiff_t>(k) + 1, parts.end(),
                                     [&](const Task& task) { return is_waiting(task); });
      if (!begun_ && next != parts.end() && !place_.stop.requested()) begin(*next);
    });
    watch();
  }
  set_left(0);
  apart = apart_plan();
  step_times(*apart, job);  // and what integers its steps read
  bool changed = false;
  for (const JointTask& one : early) {
    if (interrupted()) return;
    Joint joint = joint_within(one.task.joint->step, *apart);
    // What a larger joint has taken the place of is for that one to answer.
    if (joint.steps.empty() || !library_->serves(*one.task.entry, one.task.sizes)) continue;
    Task task = one.task;
    task.plan = apart;
    task.step = joint.steps.back();
    task.joint = std::make_shared<const Joint>(std::move(joint));
    try {
      compare(task);
    } catch (const Error& error) {
      library_->refuse(*task.entry, error.what());
    }
    if (interrupted()) return;
    if (library_->serves(*task.entry, task.sizes)) continue;
    library_->blame(*task.entry, task.sizes, nullptr);
    changed = true;
  }
  if (changed) swap(job);
}

}  // namespace axrun::runtime
