#include "runtime/optimizer/plan_improver.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "ir/lasting.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/comparison.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/plan_comparison.h"
#include "runtime/optimizer/reproducer.h"
#include "runtime/optimizer/swap_rule.h"
#include "runtime/warm/experience.h"

namespace axrun::runtime {
namespace {

/// Of two kernels that take as long, the one that has been proved is better: slower by less is as long.
constexpr double equal_share = 0.005;
/// Between two plans, as a multiple of the time that the last one took to build and to compare: the less, the
/// more of the model's time the kernels spare that wait for a plan. The worker goes on meanwhile, with one
/// candidate.
double swap_times(double spared) { return std::clamp(0.1 / std::max(spared, 1e-3), 0.5, 3.0); }
/// Runs that show where the time goes: for so long at least, a few even where they take longer, two where
/// they take far longer. The first one finds memory that is new.
constexpr auto looking_time = std::chrono::milliseconds(5), long_looking_time = std::chrono::milliseconds(60);
constexpr int few_looks = 4, fewest_looks = 2;
/// Of one session.
constexpr int64_t most_code_bytes = int64_t{16} << 20;

/// The helper process gets three quarters of what is left where that is less than it might take.
WorkerOptions within(WorkerOptions options, const MemoryGroups& memory) {
  constexpr int64_t least = int64_t{256} << 20;
  const auto room = memory.room();
  if (!room) return options;
  const int64_t most = std::max(least, room->left / 4 * 3);
  options.memory_bytes = options.memory_bytes > 0 ? std::min(options.memory_bytes, most) : most;
  return options;
}

/// Making machine code and executing it is allowed, and this processor is one that it can be made for.
void require_machine_code(const jit::Target& target) {
  const ir::loop::LoopProgram probe =
      ir::loop::parse("loops probe() {\n  output y: f32[1]\n  y[0] = 1:f32\n}\n");
  const jit::BoundKernel kernel(jit::KernelCode::compile(probe, target), {});
  AXRUN_ASSERT(kernel.scratch_bytes(1) == 0);
}

}  // namespace

PlanImprover::PlanImprover(const OptimizerHost& host, const OptimizerSettings& settings,
                           std::shared_ptr<KernelLibrary> library, ChosenLayouts& layouts, StatusBoard& board,
                           const Background::Place& place)
    : host_(host),
      settings_(settings),
      library_(std::move(library)),
      layouts_(layouts),
      board_(board),
      place_(place),
      clock_(board),
      worker_(within(settings.worker, memory_)) {
  const Background::Piece piece(place_.background);
  try {
    tools_.lower = settings.lower;
    tools_.reproducers = settings.reproducers;
    tools_.target = host_target_for(host.threads);
    require_machine_code(tools_.target);
  } catch (const Error& error) {
    throw CannotGoOn{fmt::format("no machine code can be generated here: {}", error.what())};
  }
}

void PlanImprover::run(const Plan& plan, const OptimizerJob& job, StepObserver& observer, ThreadPool& pool) {
  run_in_piece(plan, job.inputs, observer, pool, place_.background);
}

TreeTimes PlanImprover::step_times(const Plan& plan, const OptimizerJob& job) {
  if (timed_ && timed_->first.get() == &plan) return timed_->second;
  const PhaseClock::In phase(clock_, "time steps");
  const FramesKept frames(plan, place_.background);
  const Clock::time_point start = Clock::now();
  const bool own_time = place_.pool.threads() == 1;
  TreeTimes least(place_.stop, &integers_, own_time);
  run(plan, job, least, place_.pool);
  for (int looks = 1;; ++looks) {
    const Clock::duration taken = Clock::now() - start;
    if (looks >= (taken >= long_looking_time ? fewest_looks : few_looks) && taken >= looking_time) break;
    TreeTimes times(place_.stop, nullptr, own_time);
    run(plan, job, times, place_.pool);
    least.keep_least(times);
  }
  if (settings_.deterministic) {
    const Background::Piece piece(place_.background);
    least.set_expected();
  }
  const Background::Piece piece(place_.background);
  shares_.note(least);
  timed_.emplace(plan.shared_from_this(), least);
  return least;
}

std::vector<PlanImprover::Task> PlanImprover::find_tasks(
    const Plan& plan, const OptimizerJob& job, const std::set<std::pair<const Plan*, size_t>>& without) {
  const TreeTimes times = step_times(plan, job);
  const PhaseClock::In phase(clock_, "express steps");
  const Background::Piece piece(place_.background);
  if (!symbolic_) symbolic_.emplace(host_.graph);
  symbolic_->add(plan.shared_graph());
  std::vector<Task> tasks;
  for (const auto& [own, microseconds] : times.plans()) {
    const ir::Inference concrete = facts_of(*own);
    for (size_t s = 0; s < own->steps().size() && !place_.stop.requested(); ++s) {
      const Step& step = own->steps()[s];
      if (!step.kernel || step.work->nodes.empty()) continue;
      const KernelLibrary::Place found =
          library_->place_for(symbolic_->inference(own->graph()), concrete, *own, step);
      if (!found.entry || without.count({own.get(), s}) != 0) continue;
      const auto known = std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) {
        return task.entry == found.entry && task.sizes == found.sizes;
      });
      if (known == tasks.end()) {
        tasks.push_back({found.entry, found.sizes, own, s, microseconds[s], microseconds[s]});
        continue;
      }
      known->microseconds += microseconds[s];
      if (microseconds[s] <= known->step_microseconds) continue;
      known->plan = own;
      known->step = s;
      known->step_microseconds = microseconds[s];
    }
  }
  for (Task& task : tasks) task.worth = expected_worth(task);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.worth > b.worth; });
  return tasks;
}

void PlanImprover::clear_job() {
  fallbacks_.clear();
  in_force_.clear();
  integers_.clear();
  timed_.reset();
}

void PlanImprover::count_left(const std::vector<Task>& tasks, size_t done) {
  int64_t left = 0;
  for (size_t k = done; k < tasks.size(); ++k) left += is_waiting(tasks[k]) ? 1 : 0;
  set_left(left);
}

bool PlanImprover::is_waiting(const Task& task) const {
  return library_->state(*task.entry) == OptimizedKernel::State::waiting;
}

void PlanImprover::set_left(int64_t left) {
  board_.update([&](OptimizerStatus& status) { status.left = left; });
}

void PlanImprover::bring_back(const OptimizerJob& job) {
  // In layouts of its own, it is made by the run that wants it.
  if (host_.plans->current(job.shapes) != nullptr || layouts_.graph_for(job.shapes) != nullptr) return;
  const PhaseClock::In phase(clock_, "build plans");
  const Background::Piece piece(place_.background);
  try {
    host_.plans->publish(job.shapes, host_.build(job.inputs, library_));
  } catch (const Error&) {
    // The run that wants it says why there is none.
  }
}

void PlanImprover::improve(const OptimizerJob& job) try {
  // Where sizes change from run to run, theirs had to give way before its turn came: what is found for it
  // serves others of like sizes.
  const PlanTable::Hold hold(*host_.plans, job.shapes);
  bring_back(job);
  std::shared_ptr<const Plan> plan = host_.plans->current(job.shapes);
  if (!plan) return;
  clear_job();
  joined_early_.clear();
  // Every step has a place in the library before some of them become one.
  std::vector<Task> tasks = find_tasks(*plan, job);
  {
    const Background::Piece piece(place_.background);
    account(*plan, job.shapes);
  }
  try_known(job);
  const auto interrupted = [&] { return place_.stop.requested() || board_.frozen(); };
  if (interrupted()) return;
  if (const auto now = host_.plans->current(job.shapes); now != plan && now) tasks = find_tasks(*now, job);
  plan.reset();
  try_steps(tasks, job);
  if (interrupted()) return;
  swap(job);
  review_early_joints(job);
  grow(job);
  const bool plain_elsewhere = experience().layouts == Experience::Layouts::plain && settings_.layouts;
  if (!plain_elsewhere && choose_layouts(job)) grow(job);
  use_bilinear(job);
  remember_alternatives(job, plain_elsewhere);
  remember_algebra(job);
  const Background::Piece piece(place_.background);
  clear_job();
  memory_was_freed();
} catch (const RunStopped&) {
}

void PlanImprover::try_steps(const std::vector<Task>& tasks, const OptimizerJob& job,
                             const std::function<void(const Task&)>& tried) {
  double total = 1e-9;
  for (const Task& task : tasks) total += task.microseconds;
  SwapRule rule(total * 1e-6);
  const Clock::time_point start = Clock::now();
  Clock::time_point last_swap = start;
  Clock::duration swap_took{};
  for (size_t k = 0; k < tasks.size(); ++k) {
    count_left(tasks, k);
    rest_when_throttled();
    if (place_.stop.requested() || board_.frozen()) return;
    try_task(tasks[k], job, [&] {
      const auto next = std::find_if(tasks.begin() + static_cast<std::ptrdiff_t>(k) + 1, tasks.end(),
                                     [&](const Task& task) { return is_waiting(task); });
      if (!begun_ && next != tasks.end() && !place_.stop.requested()) begin(*next);
    });
    if (tried) tried(tasks[k]);
    watch();
    const double speedup = library_->speedup_at(*tasks[k].entry, tasks[k].sizes);
    const double of_time = tasks[k].microseconds / total;
    rule.tried(of_time, speedup > 1 ? of_time * (1 - 1 / speedup) : 0);
    const std::chrono::duration<double> since = Clock::now() - last_swap, so_far = Clock::now() - start;
    if (since > between_swaps && since > swap_times(rule.spared()) * swap_took &&
        rule.says_now(so_far.count())) {
      const Clock::time_point swap_start = Clock::now();
      swap(job);
      last_swap = Clock::now();
      swap_took = last_swap - swap_start;
      rule.swapped(std::chrono::duration<double>(swap_took).count());
    }
  }
  count_left(tasks, tasks.size());
}

void PlanImprover::check_load_time(LoadPrograms& programs) {
  rest_when_throttled();
  if (place_.stop.requested()) return;
  if (begun_) settle();
  if (!place_.stop.requested()) programs.check_next(tools_, worker_, place_);
  if (programs.done()) memory_was_freed();
}

bool PlanImprover::repeats(const OptimizerJob& job) {
  const Background::Piece piece(place_.background);
  if (auto plan = host_.plans->current(job.shapes)) in_force_.insert(std::move(plan));
  uint64_t runs = 0;
  for (const std::shared_ptr<const Plan>& plan : in_force_) runs += plan->times().count();
  return runs >= runs_that_repeat;
}

void PlanImprover::try_task(const Task& task, const OptimizerJob& job,
                            const std::function<void()>& meanwhile) {
  try {
    if (library_->state(*task.entry) == OptimizedKernel::State::waiting) attempt(task);
    reaches_more_ = !place_.stop.requested() && test_beyond(task);
    if (meanwhile) meanwhile();
    const OptimizedKernel::State state = library_->state(*task.entry);
    const bool verified =
        (state == OptimizedKernel::State::accepted || state == OptimizedKernel::State::slower) &&
        library_->reaches(*task.entry, task.sizes);
    if (verified && !library_->is_judged(*task.entry, task.sizes)) {
      compare(task);
      const Background::Piece piece(place_.background);
      memory_was_freed();
    }
    // What takes long to judge may be run often enough in the meantime.
    if (place_.stop.requested() || !repeats(job)) return;
    if (const auto special = library_->specialised(*task.entry, task.sizes)) {
      Task specialised = task;
      specialised.entry = special;
      try_task(specialised, job);
    }
  } catch (const Error& error) {
    library_->refuse(*task.entry, error.what());
  }
}

void PlanImprover::attempt(const Task& task) {
  if (begun_ && begun_->entry != task.entry) settle();
  if (!begun_) begin(task);
  if (begun_) settle();
}

void PlanImprover::begin(const Task& task, size_t rank) {
  if (rank == 0 && !has_room_for_code()) {
    const char* const reason = "the session's share of machine code is used up";
    library_->refuse(*task.entry, reason);
    TriedKernel trial;
    trial.reason = reason;
    library_->note_trial(*task.entry, trial);
    return;
  }
  if (rank == 0 && take_from_cache(*task.entry)) return;
  // No piece of its own, nor for settling: it waits for the worker, and takes no lock that others need.
  begun_ = {task.entry, task.sizes, rank, std::nullopt, candidate_for(*task.entry, task.sizes, rank)};
  begun_->candidate->begin();
}

std::unique_ptr<Candidate> PlanImprover::candidate_for(const KernelLibrary::Entry& entry,
                                                       const SizeValues& sizes, size_t rank,
                                                       const std::optional<GeneratedCode>& known) {
  return std::make_unique<Candidate>(library_->expression(entry), sizes, library_->ranges(entry), tools_,
                                     worker_, place_.stop, rank, known);
}

bool PlanImprover::has_room_for_code() const { return library_->code_bytes() <= most_code_bytes; }

void PlanImprover::note_worker_times(const Candidate& candidate) {
  const OptimizedKernel& record = candidate.record();
  clock_.add("helper: prove", record.proof_seconds, 0);
  clock_.add("helper: compile", record.compile_seconds, 0);
  clock_.add("helper: test", record.gate_seconds, 0);
  const double seconds = record.proof_seconds + record.compile_seconds + record.gate_seconds;
  clock_.add("helper: in all", seconds, candidate.worker_processor_seconds());
  worker_seconds_ += candidate.worker_processor_seconds();
}

CandidateOutcome PlanImprover::outcome_of_begun() {
  for (int kills = 0;;) {
    CandidateOutcome outcome;
    {
      const PhaseClock::In phase(clock_, "await the helper", PhaseClock::Kind::wait);
      outcome = begun_->candidate->finish();
    }
    note_worker_times(*begun_->candidate);
    board_.update([&](OptimizerStatus& status) { status.worker_starts = worker_.starts(); });
    using End = CandidateOutcome::End;
    const bool killed = outcome.end == End::worker_killed && ++kills < most_kills;
    if (place_.stop.requested() || (outcome.end != End::worker_trouble && !killed)) return outcome;
    const Background::Piece piece(place_.background);
    if (worker_.is_given_up()) throw CannotGoOn{outcome.reason};
    begun_->candidate = candidate_for(*begun_->entry, begun_->sizes, begun_->rank, begun_->known);
    begun_->candidate->begin();
  }
}

void PlanImprover::settle() {
  CandidateOutcome outcome = outcome_of_begun();
  const Begun begun = std::move(*begun_);
  begun_.reset();
  if (place_.stop.requested() || begun.rank > 0) return;
  const Background::Piece piece(place_.background);
  const OptimizedKernel& record = begun.candidate->record();
  library_->note(*begun.entry, [&](OptimizedKernel& known) {
    known.kind = record.kind;
    known.proof = record.proof;
    known.gate = record.gate;
    known.proof_seconds = record.proof_seconds;
    known.gate_seconds = record.gate_seconds;
    known.compile_seconds = record.compile_seconds;
    known.alternatives = record.alternatives;
  });
  library_->note_trial(*begun.entry, begun.candidate->trial(outcome));
  if (outcome.end == CandidateOutcome::End::verified) {
    library_->accept(*begun.entry, std::move(outcome.code));
  } else {
    library_->refuse(*begun.entry, outcome.reason);
  }
  board_.update([](OptimizerStatus& status) { ++status.tried; });
}

const Plan& PlanImprover::fallback_of(const std::shared_ptr<const Plan>& plan) {
  std::shared_ptr<const Plan>& fallback = fallbacks_[plan];
  if (!fallback) fallback = rebuilt(*plan, nullptr);
  return *fallback;
}

void PlanImprover::compare(const Task& task) {
  const PhaseClock::In phase(clock_, "compare kernels");
  auto piece = std::make_unique<const Background::Piece>(place_.background);
  const Plan& plan = *task.plan;
  const Step& own = plan.steps()[task.step];
  const Step& step = task.joint ? task.joint->step : own;
  std::vector<StepKernel> present;
  // Where they take as long: the generated kernel is better than the fallback's for a part of the work at
  // least, and one call better than two.
  bool better_equal = task.is_light;
  if (task.joint) {
    for (const size_t s : task.joint->steps) {
      present.push_back({&plan.steps()[s], plan.steps()[s].kernel});
      better_equal = better_equal || !is_generated(plan.steps()[s]);
    }
  } else {
    better_equal = true;
    if (!is_generated(own)) present.push_back({&own, own.kernel});
    // A step that was joined from several has all of these in the fallback.
    static const auto& none = lasting(std::vector<Step>());
    for (const Step& one : is_generated(own) ? fallback_of(task.plan).steps() : none) {
      if (one.kernel && std::includes(step.work->nodes.begin(), step.work->nodes.end(),
                                      one.work->nodes.begin(), one.work->nodes.end()))
        present.push_back({&one, one.kernel});
    }
    if (present.empty()) return;
  }
  std::shared_ptr<const Kernel> candidate;
  {
    const PhaseClock::In preparing(clock_, "prepare constants");
    candidate = library_->kernel_for(*task.entry, task.sizes, plan, step, host_.threads);
  }
  if (!candidate) {
    library_->refuse(*task.entry, "it does not fit the step");
    return;
  }
  KernelComparison comparison(plan, present, {&step, candidate}, integers_, place_.pool);
  std::string difference = comparison.difference();
  TriedKernel::End end = TriedKernel::End::different;
  if (difference.empty() && settings_.deterministic) {
    difference = comparison.bit_difference();
    end = TriedKernel::End::not_bit_equal;
    if (!difference.empty()) difference = "not bit-equal to the fallback: " + difference;
  }
  if (!difference.empty()) {
    library_->refuse(*task.entry, difference, end);
    if (end == TriedKernel::End::different) keep_reproducer(task, difference);
    return;
  }
  piece.reset();
  const Ratio ratio = comparison.times(place_.background, place_.stop, threads_that_spare());
  if (place_.stop.requested()) return;
  const Background::Piece last(place_.background);
  const bool use = settings_.always || ratio.second_is_faster(share) ||
                   (better_equal && ratio.second_is_about_as_fast(equal_share));
  library_->note_times(*task.entry, 0, ratio);
  library_->judge(*task.entry, {task.sizes, use, ratio.median});
}

void PlanImprover::keep_reproducer(const Task& task, const std::string& difference) {
  if (tools_.reproducers.empty()) return;
  const StepExpression& expression = library_->expression(*task.entry);
  WorkerLowering lowering;  // of the default schedule: whoever asks again lowers it again
  if (tools_.lower)
    lowering = sent_form(tools_.lower(expression.program, library_->ranges(*task.entry), expression.constant,
                                      tools_.target, 0));
  write_reproducer(tools_.reproducers,
                   request_for(expression, lowering, library_->ranges(*task.entry), task.sizes, tools_),
                   name_of(TriedKernel::End::different), difference);
}

}  // namespace axrun::runtime
