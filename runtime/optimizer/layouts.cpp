// Values stored in other layouts than the model's: the part of PlanImprover that chooses them for a whole
// plan.
//
// Every step that can work channels-last is tried so, with the conversions around it as one expression:
// heaviest first, and no further where the heavy ones are no faster. Prices are times in the model. The
// layouts are chosen for all values at once (search/layouts); the plan with them comes into force where it is
// clearly faster as a whole. Where a kernel is refused or slow its conversions are steps of their own.

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/optimizer/layout_trial.h"
#include "runtime/optimizer/layouts_question.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

/// What sites must take of the model's time.
constexpr double least_share_of_layouts = 0.05;
/// Kernels of so many expressions, the heaviest, say whether the others are looked into.
constexpr size_t first_kernels = 5;
/// Sites lighter than this share of the model's time are left as they are.
constexpr double lightest = 0.0005;
constexpr auto most_time = std::chrono::seconds(20);
/// Prices are the least of so many looks at steps of both plans, by turns: what drifts hits both alike.
constexpr int few_layout_looks = 4, most_looks = 24;
constexpr auto layout_looking_time = std::chrono::milliseconds(200);
/// What has to be expected of a choice for a plan to be made of it.
constexpr double least_layout_gain = 0.01;
/// Of one session.
constexpr size_t most_shapes = 4;

double spared(const LayoutSites& sites, double* taken) {
  double spared = 0;
  *taken = 0;
  for (const LayoutSite& site : sites.sites) {
    if (!site.last_microseconds) continue;
    *taken += site.plain_microseconds;
    spared += std::max(0.0, site.plain_microseconds - *site.last_microseconds);
  }
  return spared;
}

}  // namespace

std::vector<PlanImprover::LayoutTask> PlanImprover::find_layout_tasks(
    const LayoutTrial& trial, const std::shared_ptr<const Plan>& apart) {
  const Background::Piece piece(place_.background);
  const ir::Inference concrete = facts_of(*apart);
  std::vector<LayoutTask> tasks;
  const std::vector<LayoutSite>& sites = trial.sites().sites;
  for (size_t k = 0; k < sites.size() && !place_.stop.requested(); ++k) {
    Joint joint = trial.joint_of(k, *apart);
    if (joint.steps.empty()) continue;
    const KernelLibrary::Place place = library_->place_for(symbolic_->inference(apart->graph()), concrete,
                                                           *apart, joint.step, KernelLibrary::Role::joint);
    if (!place.entry) continue;
    const double microseconds = sites[k].plain_microseconds;
    auto task = std::find_if(tasks.begin(), tasks.end(), [&](const LayoutTask& one) {
      return one.task.entry == place.entry && one.task.sizes == place.sizes;
    });
    if (task == tasks.end()) {
      const size_t last = joint.steps.back();
      tasks.push_back({{place.entry, place.sizes, apart, last, 0, 0,
                        std::make_shared<const Joint>(std::move(joint)), false},
                       {}});
      task = std::prev(tasks.end());
    }
    task->sites.push_back(k);
    task->task.microseconds += microseconds;
    task->task.step_microseconds = std::max(task->task.step_microseconds, microseconds);
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const LayoutTask& a, const LayoutTask& b) {
    return a.task.microseconds > b.task.microseconds;
  });
  return tasks;
}

void PlanImprover::measure_layouts(LayoutTrial& trial, const Plan& laid_out, const OptimizerJob& job) {
  const PhaseClock::In phase(clock_, "price layouts");
  const FramesKept frames(trial.plan(), place_.background), others(laid_out, place_.background);
  const bool own_time = place_.pool.threads() == 1;
  TreeTimes plain(place_.stop, &integers_, own_time), last(place_.stop, &integers_, own_time);
  const Clock::time_point start = Clock::now();
  for (int looks = 0;
       looks < few_layout_looks || (looks < most_looks && Clock::now() - start < layout_looking_time);
       ++looks) {
    TreeTimes one(place_.stop, nullptr, own_time), other(place_.stop, nullptr, own_time);
    run(trial.plan(), job, looks == 0 ? plain : one, place_.pool);
    run(laid_out, job, looks == 0 ? last : other, place_.pool);
    if (looks == 0) continue;
    plain.keep_least(one);
    last.keep_least(other);
  }
  trial.take_times(plain.own_times(trial.plan()), laid_out, last.own_times(laid_out));
}

bool PlanImprover::price_layouts(LayoutTrial& trial, const OptimizerJob& job, double total,
                                 LayoutReport& report) {
  const Clock::time_point end = Clock::now() + most_time;
  std::shared_ptr<const Plan> apart;
  {
    const Background::Piece piece(place_.background);
    symbolic_->add(trial.graph());
    apart = trial.laid_out_plan(library_);
  }
  const std::vector<LayoutTask> tasks = find_layout_tasks(trial, apart);
  measure_layouts(trial, *apart, job);
  const auto measure = [&] {
    std::shared_ptr<const Plan> joined;
    {
      const Background::Piece piece(place_.background);
      joined = trial.laid_out_plan(library_);
    }
    measure_layouts(trial, *joined, job);
  };
  for (size_t k = 0; k < tasks.size(); ++k) {
    set_left(std::count_if(tasks.begin() + static_cast<std::ptrdiff_t>(k), tasks.end(),
                           [&](const LayoutTask& one) { return is_waiting(one.task); }));
    rest_when_throttled();
    if (place_.stop.requested() || board_.frozen()) return false;
    if (Clock::now() > end || tasks[k].task.microseconds < lightest * total) break;
    try_task(tasks[k].task, job, [&] {
      const bool more = k + 1 < tasks.size() && k + 1 != first_kernels;
      if (!begun_ && more && !place_.stop.requested() &&
          library_->state(*tasks[k + 1].task.entry) == OptimizedKernel::State::waiting)
        begin(tasks[k + 1].task);
    });
    ++report.tried;
    const KernelLibrary::Entry& entry = *tasks[k].task.entry;
    if (settings_.force_layouts ? library_->state(entry) == OptimizedKernel::State::accepted
                                : library_->serves(entry, tasks[k].task.sizes)) {
      for (const size_t site : tasks[k].sites) trial.join(site, *library_);
    }
    watch();
    if (settings_.force_layouts || k + 1 != std::min(first_kernels, tasks.size())) continue;
    measure();
    double taken = 0;
    if (spared(trial.sites(), &taken) <= settings_.promising_layouts * taken) return false;
  }
  if (!settings_.force_layouts) measure();
  return true;
}

bool PlanImprover::choose_layouts(const OptimizerJob& job) {
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  const bool open = now && now->complete() && &now->graph() == host_.graph.get();
  if (!settings_.layouts || !open || place_.stop.requested() || board_.frozen()) return false;
  if (laid_out_.size() >= most_shapes || !laid_out_.insert(job.shapes).second) return false;
  const PhaseClock::In phase(clock_, "choose layouts");
  const Clock::time_point start = Clock::now();
  const TreeTimes tree = step_times(*now, job);
  const std::vector<double> times = tree.own_times(*now);
  const double total = tree.total();
  LayoutReport report;
  const auto done = [&](bool swapped, const std::string& why) {
    report.outcome = why;
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    set_left(0);
    board_.update([&](OptimizerStatus& status) { status.layouts = report; });
    if (warm_) warm_->note_layouts(swapped ? Experience::Layouts::channels_last : Experience::Layouts::plain);
    return swapped;
  };
  std::optional<LayoutTrial> trial;
  {
    const Background::Piece piece(place_.background);
    LayoutSites sites = find_layout_sites(*now);
    double taken = 0;
    for (LayoutSite& site : sites.sites) taken += site.plain_microseconds = times[site.step];
    report.sites = static_cast<int>(sites.sites.size());
    if (sites.sites.empty() || (taken < least_share_of_layouts * total && !settings_.force_layouts))
      return done(false, "plain: no steps that it would matter for");
    trial.emplace(now, std::move(sites), *library_);
  }
  const bool promises = price_layouts(*trial, job, total, report);
  for (const LayoutSite& site : trial->sites().sites) {
    report.prices.push_back(
        {now->steps()[site.step].work->ops, site.plain_microseconds, site.last_microseconds.value_or(0)});
    report.priced += site.last_microseconds ? 1 : 0;
    report.faster += site.last_microseconds && *site.last_microseconds < site.plain_microseconds ? 1 : 0;
  }
  if (place_.stop.requested() || board_.frozen()) return false;
  if (!promises) return done(false, "plain: the heaviest kernels are no faster channels-last");

  std::shared_ptr<const Plan> better;
  LaidOut laid_out;
  LayoutDecision decision;
  try {
    const auto choose = [&](const search::layouts::LayoutProblem& problem) {
      return read_layout_choice(searched(WorkerStage::choosing_layouts, write_layout_problem(problem)),
                                problem);
    };
    decision = settings_.force_layouts
                   ? all_channels_last(*now, trial->sites())
                   : decide_layouts(*now, trial->sites(), trial->microseconds_per_byte(), choose);
  } catch (const std::exception& error) {  // whatever search/layouts has done to the helper
    return done(false, fmt::format("plain: {}", error.what()));
  }
  {
    const Background::Piece piece(place_.background);
    report.gap = decision.gap;
    report.expected = decision.gain_microseconds / total;
    report.values = decision.values_moved;
    if (!settings_.force_layouts && decision.gain_microseconds < least_layout_gain * total)
      return done(false, "plain: conversions would take what is gained");
    laid_out = trial->decided(decision, *library_);
    symbolic_->add(laid_out.graph);
    better = trial->plan_of(laid_out, library_);
  }
  // Conversions by themselves are steps that nobody has tried.
  for (const Task& task : find_tasks(*better, job)) {
    if (place_.stop.requested() || board_.frozen()) return false;
    if (library_->state(*task.entry) == OptimizedKernel::State::waiting) try_task(task, job);
  }
  {
    const Background::Piece piece(place_.background);
    better = trial->plan_of(laid_out, library_);
    trial.reset();
  }
  Ratio ratio;
  if (!settings_.force_layouts) ratio = compare_plans(*now, *better, job, Asked::faster);
  if (place_.stop.requested()) return false;
  report.speedup = ratio.median;
  if (!settings_.force_layouts && !ratio.second_is_faster(share))
    return done(false, "plain: not faster in the model");
  const Background::Piece piece(place_.background);
  const bool swapped = put_in_force(job, now, better, ratio, "swap: layouts");
  if (swapped) layouts_.choose({job.shapes, std::move(laid_out.recipe), nullptr, nullptr, laid_out.graph});
  return done(swapped, swapped ? "channels-last" : "plain: the plan had changed");
}

}  // namespace axrun::runtime
