// Graphs that compute what the model's does in another way: the part of PlanImprover that rewrites a whole
// plan.
//
// When nothing else is left to do, identities are looked for in the model's own graph, and what is proved is
// kept. Windows of the graph that take time are saturated with proved rules, and what is cheapest by guess is
// written as a graph of ordinary nodes. Its plan gets kernels and joints of its own, its answers are compared
// with the fallback's, and it comes into force where it is clearly faster as a whole.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/optimizer/comparison.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/searching.h"
#include "runtime/optimizer/twins.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/warm/graph_image.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

using search::algebra::Movement;
using Clock = std::chrono::steady_clock;

constexpr const char* rewritten_outcome = "rewritten";
/// Jobs whose inputs are held meanwhile; shapes of one session.
constexpr size_t most_waiting = 4, most_shapes = 4;
/// What the steps of windows that are alike must take of the model's time.
constexpr double least_share = 0.01;
/// Besides all windows at once: windows that are alike, one kind after the other.
constexpr size_t most_kinds = 8;
/// Trials begin no later than that, by the clock.
constexpr auto most_trial_time = std::chrono::seconds(60);

}  // namespace

void PlanImprover::remember_algebra(const OptimizerJob& job) {
  if (!settings_.algebra || rewritten_.count(job.shapes) != 0 || rewritten_.size() >= most_shapes) return;
  std::erase_if(algebra_, [&](const OptimizerJob& one) { return one.shapes == job.shapes; });
  if (algebra_.size() == most_waiting) algebra_.pop_front();
  algebra_.push_back(job);
}

bool PlanImprover::has_algebra_before_alternatives() const {
  return has_algebra() && std::none_of(later_.begin(), later_.end(), [&](const Later& one) {
           return one.layouts && one.job.shapes == algebra_.front().shapes;
         });
}

std::string PlanImprover::wrong_answers(const std::shared_ptr<const Plan>& now, const Plan& better,
                                        const OptimizerJob& job) {
  const auto answers_of = [&](const Plan& plan) {
    const Background::Piece piece(place_.background);
    TreeTimes observer(place_.stop);
    std::vector<RuntimeValue> answers(plan.graph().outputs.size());
    plan.run(job.inputs, answers, {place_.pool, &observer});
    return answers;
  };
  const std::vector<RuntimeValue> want = answers_of(fallback_of(now)), got = answers_of(better);
  for (size_t k = 0; k < want.size(); ++k) {
    if (!want[k].tensor.defined() || want[k].type == ir::ElementType::string) continue;
    if (!got[k].tensor.defined() || got[k].tensor.type() != want[k].tensor.type() ||
        got[k].tensor.shape() != want[k].tensor.shape())
      return fmt::format("output {} is another one", k);
    if (std::string difference = difference_of(want[k].tensor, got[k].tensor, k); !difference.empty())
      return difference;
  }
  return "";
}

std::shared_ptr<const Plan> PlanImprover::plan_rewritten(const std::shared_ptr<const Plan>& now,
                                                         const std::shared_ptr<const ir::Graph>& graph,
                                                         const OptimizerJob& job) {
  constexpr int most_growths = 4;
  const auto build = [&] {
    const Background::Piece piece(place_.background);
    return build_like(*now, graph, library_);
  };
  {
    const Background::Piece piece(place_.background);
    symbolic_->add(graph);
    for (const Twins& twins : twins_in(*now, *graph))
      library_->serve_as(now->graph(), twins.nodes, *graph, twins.others);
  }
  std::shared_ptr<const Plan> plan = build();
  for (const Task& task : find_tasks(*plan, job)) {
    rest_when_throttled();
    if (place_.stop.requested() || board_.frozen()) return nullptr;
    try_task(task, job);
    watch();
  }
  plan = build();
  for (const Growth growth : {Growth::pairs, Growth::chains, Growth::pieces}) {
    for (int k = 0; k < most_growths && settings_.join && join_steps(plan, job, growth); ++k) plan = build();
    if (place_.stop.requested() || board_.frozen()) return nullptr;
  }
  return plan;
}

bool PlanImprover::try_rewritten(const std::shared_ptr<const Plan>& base, const WindowsAnswer& found,
                                 const std::vector<size_t>& windows, const OptimizerJob& job,
                                 AlgebraReport& report) {
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  if (!now || !now->complete()) return false;
  // What is in force already stays.
  const bool is_first = report.outcome != rewritten_outcome;
  RewrittenGraph made;
  const auto refuse = [&](const std::string& why) {
    // Its constants are let go with its plan.
    if (made.graph && symbolic_) forget_graph(made.graph);
    if (is_first) report.outcome = "as the model: " + why;
    return false;
  };
  AlgebraReport tried = report;
  tried.windows.clear();
  auto recipe = std::make_shared<AlgebraRecipe>();
  std::set<std::string> names;
  for (const size_t k : windows) {
    const WindowsAnswer::Window& one = found.windows[k];
    tried.windows.push_back(one.report);
    recipe->windows.push_back(one.window.recipe);
    for (const auto& [id, forward] : one.window.uses) names.insert(id);
  }
  for (const std::string& id : names) recipe->rules.push_back(found.rules_used.at(id));
  std::string image;
  try {
    image = searched(WorkerStage::writing_graph,
                     write(GraphQuestion{outline_of(*base, ConstantContents::unknown), recipe->windows}));
  } catch (const SearchFailed& failed) {
    return refuse(failed.what());
  }
  {
    const Background::Piece piece(place_.background);
    made = folded_graph(read_graph(image, base->graph()), place_.pool);
  }
  if (made.graph == nullptr) return refuse("windows do not fit together");
  if (made.takes_too_much) return refuse("new constants would take too much memory");
  const std::shared_ptr<const Plan> better = plan_rewritten(now, made.graph, job);
  if (!better) return false;
  if (const std::string wrong = wrong_answers(now, *better, job); !wrong.empty())
    return refuse("other answers: " + wrong);
  Ratio ratio;
  if (!settings_.force_algebra) ratio = compare_plans(*now, *better, job, Asked::faster);
  if (place_.stop.requested()) return false;
  tried.speedup = is_first ? ratio.median : report.speedup * ratio.median;
  if (!settings_.force_algebra && !ratio.second_is_faster(share)) {
    if (is_first) report = std::move(tried);
    return refuse("not faster in the model");
  }
  const Background::Piece piece(place_.background);
  if (!put_in_force(job, now, better, ratio, "swap: algebra")) return refuse("the plan had changed");
  report = std::move(tried);
  report.outcome = rewritten_outcome;
  recipe->report = report;
  auto laid_out = layouts_.choice_for(job.shapes);
  if (laid_out && laid_out->algebra) laid_out = laid_out->base;
  layouts_.choose({job.shapes, {}, std::move(recipe), std::move(laid_out), made.graph});
  if (when_folded_) when_folded_(std::move(made.folded));
  return true;
}

bool PlanImprover::rewrite(const std::shared_ptr<const Plan>& now, const std::string& outline,
                           const OptimizerJob& job, const std::function<bool()>& interrupted,
                           AlgebraReport& report) {
  WindowsQuestion question;
  question.outline = outline;
  question.least_share = settings_.force_algebra ? 0 : least_share;
  const TreeTimes tree = step_times(*now, job);
  question.times = tree.own_times(*now);
  for (double& time : question.times) time /= tree.total();
  for (size_t s = 0; s < now->steps().size(); ++s)
    for (const int n : now->steps()[s].work->nodes)
      for (const ir::ValueId id : now->graph().nodes[static_cast<size_t>(n)].outputs)
        question.step_of[id] = static_cast<uint32_t>(s);
  // Two conversions that meet would be none: which layout is the fastest has been measured already.
  for (size_t id = 0; id < now->graph().values.size(); ++id)
    if (is_stored_otherwise(now->graph().values[id])) question.apart.insert(static_cast<ir::ValueId>(id));
  report.outcome = "as the model: nothing would be cheaper";
  std::string tried;
  for (const Movement movement : {Movement::is_free, Movement::costs}) {
    question.movement = movement;
    const auto ask = [&] {
      question.known = rules_->known();
      return write(question);
    };
    const WindowsAnswer found =
        read_windows_answer(searched_with_rules(WorkerStage::rewriting_windows, ask, interrupted));
    report.rules = found.rules;
    report.looked_at += found.looked_at;
    if (interrupted()) return false;
    std::string text;
    for (const auto& one : found.windows) text += one.window.text;
    if (found.windows.empty() || text == tried) continue;
    tried = text;
    if (try_windows(now, found, job, report, interrupted)) return true;
    if (place_.stop.requested() || board_.frozen()) return false;
  }
  return false;
}

bool PlanImprover::try_windows(const std::shared_ptr<const Plan>& base, const WindowsAnswer& found,
                               const OptimizerJob& job, AlgebraReport& report,
                               const std::function<bool()>& interrupted) {
  const Clock::time_point end = Clock::now() + most_trial_time;
  std::vector<size_t> windows(found.windows.size());
  std::iota(windows.begin(), windows.end(), size_t{0});
  report.windows.clear();
  for (const WindowsAnswer::Window& one : found.windows) report.windows.push_back(one.report);
  if (try_rewritten(base, found, windows, job, report)) return true;
  const AlgebraReport all = report;
  // What one kind spares another may cost: by themselves, on top of those that pay.
  const auto kind_of = [&](size_t k) -> const std::string& { return found.windows[k].window.recipe.text; };
  std::vector<std::string> kinds;
  for (const size_t k : windows)
    if (std::find(kinds.begin(), kinds.end(), kind_of(k)) == kinds.end()) kinds.push_back(kind_of(k));
  std::set<std::string> taken;
  for (size_t k = 0; k < std::min(kinds.size(), most_kinds) && kinds.size() > 1; ++k) {
    if (interrupted() || Clock::now() > end) break;
    std::set<std::string> tried = taken;
    tried.insert(kinds[k]);
    std::vector<size_t> some;
    for (const size_t window : windows)
      if (tried.count(kind_of(window)) != 0) some.push_back(window);
    if (try_rewritten(base, found, some, job, report)) taken = std::move(tried);
  }
  if (taken.empty()) report = all;
  return !taken.empty();
}

void PlanImprover::try_algebra(const std::function<bool()>& wanted) try {
  if (place_.background.is_assured()) become_idle();
  const OptimizerJob job = algebra_.front();
  const auto interrupted = [&] { return place_.stop.requested() || board_.frozen() || wanted(); };
  if (begun_) settle();
  rest_when_throttled();
  if (interrupted()) return;
  const Clock::time_point start = Clock::now();
  AlgebraReport report;
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  const auto choice = layouts_.choice_for(job.shapes);
  const ir::Graph* const expected = choice ? choice->graph.get() : host_.graph.get();
  bool swapped = false;
  if (choice && choice->algebra) {
    report = choice->algebra->report;  // of an earlier process
  } else if (choice && choice->is_bilinear) {
    report.outcome = "as the model: convolutions are computed by bilinear algorithms";
  } else if (!now || !now->complete()) {
    report.outcome = "as the model: not all of its steps are known before the run";
  } else if (&now->graph() != expected) {
    report.outcome = "as the model: its plan is another one already";
  } else {
    if (!symbolic_) symbolic_.emplace(host_.graph);
    if (!rules_) rules_.emplace(warm_ ? warm_->rules() : nullptr);
    try {
      const std::string outline = outline_of(*now, ConstantContents::known);
      if (!look_for_rules(outline, interrupted, report.trouble)) return;
      const PhaseClock::In phase(clock_, "choose algebra");
      swapped = rewrite(now, outline, job, interrupted, report);
    } catch (const std::exception& error) {  // whatever search/algebra has done to the helper
      report.outcome = fmt::format("as the model: {}", error.what());
    }
    if (interrupted() && !swapped) return;
  }
  report.found = rules_ ? rules_->found() : 0;
  if (rules_ && report.trouble.empty()) report.trouble = rules_->left_out();
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  board_.update([&](OptimizerStatus& status) {
    status.algebra = report;
    if (later_.empty()) status.left = 0;
  });
  rewritten_.insert(job.shapes);
  algebra_.pop_front();
  if (swapped) remember_alternatives(job);
  const Background::Piece piece(place_.background);
  clear_job();
  memory_was_freed();
} catch (const RunStopped&) {
}

bool PlanImprover::look_for_rules(const std::string& outline, const std::function<bool()>& interrupted,
                                  std::string& trouble) {
  const PhaseClock::In phase(clock_, "look for rules");
  if (warm_ && warm_->is_examined()) return true;
  bool complete = false;
  try {
    const auto ask = [&] { return write(RulesQuestion{outline, host_.graph->name, rules_->known()}); };
    RulesAnswer answer =
        read_rules_answer(searched_with_rules(WorkerStage::looking_for_rules, ask, interrupted));
    complete = answer.complete;
    rules_->replace(std::move(answer.rules));
  } catch (const std::exception& error) {
    // What has been found until then is there.
    trouble = fmt::format("rules were not looked for to the end: {}", error.what());
  }
  if (const auto merge = rules_->to_be_merged()) {
    try {
      const SearchListener listener{{}, [&](std::string_view note) { rules_->note(note); }};
      rules_->store(searched(WorkerStage::merging_rules, write(*merge), listener));
    } catch (const SearchFailed& failed) {
      trouble = fmt::format("rules were not stored: {}", failed.what());
    }
  }
  if (interrupted()) return false;
  // Where the worker fails, what is known has to do.
  if (complete && warm_) warm_->note_examined();
  return true;
}

}  // namespace axrun::runtime
