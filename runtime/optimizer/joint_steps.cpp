// Steps that become one: the part of PlanImprover that moves the borders between the kernels of a plan.
//
// Which operators may share a kernel is decided by the expression of all together: it composes their index
// maps, and search has one kind of schedule for it or has not. Three may be of one kind where no two of them
// are, as attention is: products, their softmax, products with that. Light steps are also tried as the pieces
// of one kernel, once nothing of one kind is left.

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "runtime/optimizer/plan_improver.h"

namespace axrun::runtime {
namespace {

/// What joining may save at most, as a share of the model's time, for it to be looked into.
constexpr double least_gain = 0.001;
/// Calling a kernel takes so long that two in one are worth having, however little they do.
constexpr double call_microseconds = 0.1;

/// Where both together take no longer than this, a kernel in several pieces may be faster than two kernels.
constexpr double light_microseconds = 10;

bool is_one_kind(const std::string& kind) { return kind.find('+') == std::string::npos; }

}  // namespace

std::vector<PlanImprover::JointTask> PlanImprover::find_joints(const TreeTimes& times, size_t count) {
  double total = 1e-9;
  for (const TreeTimes::Times& one : times.plans()) {
    total = std::accumulate(one.microseconds.begin(), one.microseconds.end(), total);
  }
  const Background::Piece piece(place_.background);
  std::vector<JointTask> tasks;
  for (const auto& [own, microseconds] : times.plans()) {
    const ir::Inference concrete = facts_of(*own);
    for (Joint& found : joints_of(*own, count)) {
      if (place_.stop.requested()) return {};
      // All work but that of the heaviest can be saved.
      double all = 0, heaviest = 0;
      for (const size_t s : found.steps) {
        all += microseconds[s];
        heaviest = std::max(heaviest, microseconds[s]);
      }
      const double gain = all - heaviest + call_microseconds * static_cast<double>(count - 1);
      const KernelLibrary::Place place = library_->place_for(symbolic_->inference(own->graph()), concrete,
                                                             *own, found.step, KernelLibrary::Role::joint);
      if (!place.entry) continue;
      const auto joint = std::make_shared<const Joint>(std::move(found));
      auto task = std::find_if(tasks.begin(), tasks.end(), [&](const JointTask& one) {
        return one.task.entry == place.entry && one.task.sizes == place.sizes;
      });
      if (task == tasks.end()) {
        tasks.push_back(
            {{place.entry, place.sizes, own, joint->steps.back(), 0, 0, joint, all < light_microseconds},
             {}});
        task = std::prev(tasks.end());
      }
      task->sites.push_back({own, joint});
      task->task.microseconds += gain;
      if (gain <= task->task.step_microseconds) continue;
      task->task.step_microseconds = gain;
      task->task.plan = own;
      task->task.step = joint->steps.back();
      task->task.joint = joint;
    }
  }
  std::erase_if(tasks, [&](const JointTask& one) { return one.task.microseconds < least_gain * total; });
  for (JointTask& one : tasks) one.task.worth = expected_worth(one.task);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const JointTask& a, const JointTask& b) { return a.task.worth > b.task.worth; });
  return tasks;
}

namespace {

using TakenSteps = std::set<std::pair<const Plan*, size_t>>;

bool is_free(const TakenSteps& taken, const Plan* plan, const Joint& joint) {
  return std::none_of(joint.steps.begin(), joint.steps.end(), [&](size_t s) {
    return taken.count({plan, s}) != 0;
  });
}

}  // namespace

bool PlanImprover::join(const JointTask& task, std::set<std::pair<const Plan*, size_t>>& taken) {
  bool joined = false;
  const Background::Piece piece(place_.background);
  for (const JointTask::Site& site : task.sites) {
    if (!is_free(taken, site.plan.get(), *site.joint)) continue;
    for (const size_t s : site.joint->steps) taken.insert({site.plan.get(), s});
    joined |= library_->know_joined(site.plan->graph(), site.joint->step.work->nodes);
  }
  return joined;
}

bool PlanImprover::may_join(const JointTask& task, Growth growth) {
  KernelLibrary::Entry& entry = *task.task.entry;
  if (library_->state(entry) != OptimizedKernel::State::waiting) return true;
  std::string kind = library_->kind(entry);
  if (kind.empty()) {
    const ScheduleKind found = schedule_kind(entry);
    if (place_.stop.requested()) return false;
    if (found.kind.empty()) {
      library_->refuse(entry, found.reason);
      TriedKernel trial;
      trial.end = found.lost;
      trial.reason = found.reason;
      library_->note_trial(entry, trial);
      return false;
    }
    kind = found.kind;
    library_->note(entry, [&](OptimizedKernel& record) { record.kind = kind; });
  }
  return is_one_kind(kind) || (growth == Growth::pieces && task.task.is_light);
}

ScheduleKind PlanImprover::schedule_kind(const KernelLibrary::Entry& entry) {
  if (begun_) settle();
  for (int kills = 0;;) {
    ScheduleKind found;
    {
      const PhaseClock::In phase(clock_, "await the helper", PhaseClock::Kind::wait);
      found = kind_of_schedule(library_->expression(entry), library_->ranges(entry), tools_, worker_,
                               place_.stop);
    }
    using End = CandidateOutcome::End;
    const bool killed = found.outcome == End::worker_killed && ++kills < most_kills;
    if (place_.stop.requested() || (found.outcome != End::worker_trouble && !killed)) return found;
    if (worker_.is_given_up()) throw CannotGoOn{found.reason};
  }
}

bool PlanImprover::join_steps(const std::shared_ptr<const Plan>& plan, const OptimizerJob& job,
                              Growth growth) {
  if (!plan || place_.stop.requested()) return false;
  const std::vector<JointTask> tasks = find_joints(step_times(*plan, job), growth == Growth::chains ? 3 : 2);
  std::set<std::pair<const Plan*, size_t>> taken;
  bool joined = false;
  const auto is_open = [&](const JointTask& task) {
    return std::any_of(task.sites.begin(), task.sites.end(), [&](const JointTask::Site& site) {
      return is_free(taken, site.plan.get(), *site.joint);
    });
  };
  for (size_t k = 0; k < tasks.size(); ++k) {
    const JointTask& task = tasks[k];
    set_left(std::count_if(tasks.begin() + static_cast<std::ptrdiff_t>(k), tasks.end(),
                           [&](const JointTask& one) { return is_waiting(one.task) && is_open(one); }));
    rest_when_throttled();
    if (place_.stop.requested() || board_.frozen()) return false;
    if (!is_open(task) || !may_join(task, growth)) continue;
    try_task(task.task, job, [&] {
      // What comes next if this one is slower; else it may be for nothing.
      for (size_t next = k + 1; next < tasks.size() && !begun_ && !place_.stop.requested(); ++next) {
        const JointTask& other = tasks[next];
        const auto waits = [&] {
          return library_->state(*other.task.entry) == OptimizedKernel::State::waiting;
        };
        if (waits() && is_open(other) && may_join(other, growth) && waits()) begin(other.task);
      }
    });
    // What is known to be one step may have been two here for want of a test.
    if (library_->serves(*task.task.entry, task.task.sizes)) joined |= join(task, taken) || reaches_more_;
    watch();
  }
  set_left(0);
  return joined;
}

void PlanImprover::grow(const OptimizerJob& job) {
  for (const Growth growth : {Growth::pairs, Growth::chains, Growth::pieces}) {
    while (settings_.join && join_steps(host_.plans->current(job.shapes), job, growth)) swap(job);
  }
}

}  // namespace axrun::runtime
