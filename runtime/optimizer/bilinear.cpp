// Convolutions computed by bilinear algorithms: the part of PlanImprover that chooses them for a whole plan.
//
// Only where the user's numeric class allows it (--fp=bilinear). When kernels, joints and layouts are there,
// plans in which every heavy convolution of 3x3 is computed by tiles of 4x4, and by 2x2 where these are not
// clearly faster, get kernels of their own, and what each kind of convolution takes in the model says by
// which it is computed. That the nodes compute the same is proved (search/algebra/bilinear_graph.h) before
// any run sees them; where magnitudes are beyond what the algorithm has room for, or no numbers, runs are
// done by the graph it was made of (runtime/plan/value_limits.h).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/optimizer/bilinear_question.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/searching.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/plan/value_limits.h"
#include "runtime/warm/graph_image.h"

namespace axrun::runtime {
namespace {

using search::algebra::BilinearChoice;
using search::algebra::BilinearSite;
using Clock = std::chrono::steady_clock;

/// Sides of tiles that are tried.
constexpr std::array tiles = {4, 2};
/// What convolutions of a kind must take of the model's time.
constexpr double least_share_of_convolution = 0.01;
/// Of what they took, what has to be spared to be worth a try in the model.
constexpr double least_bilinear_gain = 0.02;
/// Smaller tiles are tried where larger ones take more than this share of the time.
constexpr double good_enough = 0.8;
/// Of transformed filters, which are held beside the model's.
constexpr size_t most_transformed_bytes = size_t{1} << 30;
constexpr size_t most_bilinear_growth = 1024;
/// Of one proof, by the clock.
constexpr double proof_seconds = 30;

/// The values with which a site's time counts: its own and those of conversions between layouts around it,
/// which may be part of the same kernel.
std::set<ir::ValueId> with_conversions(const ir::Graph& graph, const BilinearSite& site,
                                       const std::vector<ir::ValueId>& own) {
  std::set<ir::ValueId> values(own.begin(), own.end());
  for (const ir::Node& node : graph.nodes) {
    if (node.op != "Transpose" || !node.domain.empty()) continue;
    if (node.outputs[0] == site.image || node.inputs[0] == site.result) values.insert(node.outputs[0]);
  }
  return values;
}

/// What the steps that compute any of these values take.
double time_of(const Plan& plan, const std::vector<double>& times, const std::set<ir::ValueId>& values) {
  double sum = 0;
  for (size_t s = 0; s < plan.steps().size(); ++s) {
    const std::vector<int>& nodes = plan.steps()[s].work->nodes;
    const bool is_one = std::any_of(nodes.begin(), nodes.end(), [&](int n) {
      return values.count(plan.graph().nodes[static_cast<size_t>(n)].outputs[0]) != 0;
    });
    if (is_one) sum += times[s];
  }
  return sum;
}

}  // namespace

/// A graph with convolutions computed so, and its limits; null where there is none.
struct PlanImprover::BilinearMade {
  std::shared_ptr<const ir::Graph> graph;
  std::vector<search::algebra::BilinearNodes> nodes;
  std::vector<FoldedNode> folded;
};

PlanImprover::BilinearMade PlanImprover::with_bilinear(const std::shared_ptr<const Plan>& plan,
                                                       const std::vector<BilinearChoice>& choices) {
  const std::string question = write(BilinearQuestion{outline_of(*plan, ConstantContents::unknown), choices});
  BilinearAnswer answer =
      read_bilinear_answer(searched(WorkerStage::writing_bilinear_graph, question), choices.size());
  const Background::Piece piece(place_.background);
  const auto filters_take = std::accumulate(answer.bytes.begin(), answer.bytes.end(), 0.0);
  if (filters_take > static_cast<double>(most_transformed_bytes)) return {};
  const std::shared_ptr<ir::Graph> graph = read_graph(answer.image, plan->graph());
  if (graph == nullptr) return {};
  std::vector<FoldedNode> folded =
      fold_weights(*graph, place_.pool, {most_bilinear_growth, most_transformed_bytes});
  auto limits = std::make_shared<ir::GraphLimits>();
  limits->otherwise = plan->shared_graph();
  for (size_t k = 0; k < choices.size(); ++k) {
    const ir::ValueId id = answer.nodes[k].transformed;
    if (id < 0 || static_cast<size_t>(id) >= graph->values.size()) return {};
    const ir::Tensor& filters = graph->value(id).constant;
    if (filters.type() != ir::ElementType::f32 || filters.rank() != 3) return {};
    const float most = bilinear_limit(answer.rooms[k], filters);
    if (most <= 0) return {};
    const auto [place, fresh] = limits->most.emplace(choices[k].site.image, most);
    place->second = std::min(place->second, most);
  }
  graph->limits = std::move(limits);
  return {graph, std::move(answer.nodes), std::move(folded)};
}

/// By name.
struct PlanImprover::BilinearKinds {
  /// Convolutions that are alike.
  struct Kind {
    std::vector<BilinearSite> sites;
    double direct = 0;
    std::array<double, tiles.size()> by_tile{};
    int outputs = 0;  ///< of the tile that was chosen; 0: they stay as they are
  };
  std::map<std::string, Kind> all;
};

bool PlanImprover::is_proved(const BilinearChoice& choice, const std::string& kind, double& growth) {
  const auto key = std::pair(kind, choice.outputs);
  auto known = bilinear_proofs_.find(key);
  if (known == bilinear_proofs_.end()) {
    const BilinearProof proof = read_bilinear_proof(
        searched(WorkerStage::proving_bilinear_algorithm, write_choice(choice), {}, proof_seconds));
    known = bilinear_proofs_.emplace(key, proof).first;
  }
  growth = known->second.growth;
  return known->second.verdict == verify::Verdict::proved;
}

bool PlanImprover::time_bilinear(const std::shared_ptr<const Plan>& now, const OptimizerJob& job,
                                 BilinearKinds& kinds) {
  for (size_t t = 0; t < tiles.size(); ++t) {
    std::vector<BilinearChoice> choices;
    std::vector<BilinearKinds::Kind*> kind_of;
    for (auto& [name, kind] : kinds.all) {
      if (t > 0 && kind.by_tile[0] > 0 && kind.by_tile[0] < good_enough * kind.direct) continue;
      for (const BilinearSite& site : kind.sites) {
        choices.push_back({site, tiles[t]});
        kind_of.push_back(&kind);
      }
    }
    if (choices.empty()) continue;
    const BilinearMade made = with_bilinear(now, choices);
    if (!made.graph) continue;
    const std::shared_ptr<const Plan> plan = plan_rewritten(now, made.graph, job);
    if (plan) {
      const std::vector<double> times = step_times(*plan, job).own_times(*plan);
      for (size_t k = 0; k < choices.size(); ++k) {
        kind_of[k]->by_tile[t] +=
            time_of(*plan, times, with_conversions(*made.graph, choices[k].site, made.nodes[k].values));
      }
    }
    const Background::Piece piece(place_.background);
    forget_graph(made.graph);
    if (!plan) return false;
  }
  return true;
}

void PlanImprover::forget_graph(const std::shared_ptr<const ir::Graph>& graph) {
  timed_.reset();
  symbolic_->forget(*graph);
  library_->forget(*graph);
  shares_.forget(*graph);
  memory_was_freed();
}

bool PlanImprover::use_bilinear(const OptimizerJob& job) try {
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  if (!settings_.bilinear || !now || now->graph().limits || place_.stop.requested() || board_.frozen() ||
      !bilinear_.insert(job.shapes).second)
    return false;
  const PhaseClock::In phase(clock_, "choose bilinear algorithms");
  const Clock::time_point start = Clock::now();
  if (begun_) settle();
  BilinearReport report;
  const auto done = [&](bool swapped, const std::string& why) {
    report.outcome = why;
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    board_.update([&](OptimizerStatus& status) { status.bilinear = report; });
    if (when_bilinear_decided_ && !place_.stop.requested()) when_bilinear_decided_();
    return swapped;
  };
  if (!now->complete() || now->has_nested())
    return done(false, "as they are: not all steps of the plan are its own");
  BilinearKinds kinds;
  {
    const std::string convolutions =
        searched(WorkerStage::looking_for_convolutions, outline_of(*now, ConstantContents::unknown));
    const TreeTimes tree = step_times(*now, job);
    const std::vector<double> times = tree.own_times(*now);
    const Background::Piece piece(place_.background);
    for (FoundConvolution& found :
         read_convolutions(convolutions, now->graph().nodes.size(), now->graph().values.size()))
      kinds.all[found.kind].sites.push_back(std::move(found.site));
    for (auto& [name, kind] : kinds.all)
      for (const BilinearSite& site : kind.sites)
        kind.direct += time_of(*now, times, with_conversions(now->graph(), site, {site.result}));
    if (!settings_.force_bilinear)
      std::erase_if(kinds.all, [&](const auto& one) {
        return one.second.direct < least_share_of_convolution * tree.total();
      });
  }
  if (kinds.all.empty()) return done(false, "as they are: no convolutions that it would matter for");
  if (!settings_.force_bilinear && !time_bilinear(now, job, kinds))
    return done(false, "as they are: stopped");

  std::vector<BilinearChoice> choices;
  std::string trouble;
  for (auto& [name, kind] : kinds.all) {
    double growth = 0, least = kind.direct * (1 - least_bilinear_gain);
    for (size_t t = 0; t < tiles.size(); ++t) {
      const bool is_better =
          settings_.force_bilinear ? kind.outputs == 0 : kind.by_tile[t] > 0 && kind.by_tile[t] < least;
      if (!is_better) continue;
      rest_when_throttled();
      if (place_.stop.requested() || board_.frozen()) return done(false, "as they are: stopped");
      try {
        if (!is_proved({kind.sites.front(), tiles[t]}, name, growth)) continue;
      } catch (const SearchFailed& failed) {  // the other ones are none the worse
        trouble = fmt::format("; {} by {}x{}: {}", name, tiles[t], tiles[t], failed.what());
        continue;
      }
      least = kind.by_tile[t];
      kind.outputs = tiles[t];
    }
    report.kinds.push_back({name, static_cast<int>(kind.sites.size()), kind.outputs, kind.direct,
                            kind.by_tile[0], kind.by_tile[1]});
    if (kind.outputs == 0) continue;
    for (const BilinearSite& site : kind.sites) choices.push_back({site, kind.outputs});
    report.growth = std::max(report.growth, growth);
  }
  if (choices.empty()) return done(false, "as they are: none is faster" + trouble);
  BilinearMade made = with_bilinear(now, choices);
  if (!made.graph) return done(false, "as they are: filters would take too much memory, or are no numbers");
  const auto refuse = [&](const std::string& why) {
    forget_graph(made.graph);
    return done(false, "as they are: " + why);
  };
  const std::shared_ptr<const Plan> better = plan_rewritten(now, made.graph, job);
  if (!better) return refuse("stopped");
  if (const std::string wrong = wrong_answers(now, *better, job); !wrong.empty())
    return refuse("other answers: " + wrong);
  Ratio ratio;
  if (!settings_.force_bilinear) {
    ratio = compare_plans(*now, *better, job, Asked::faster);
    if (place_.stop.requested()) return refuse("stopped");
    report.speedup = ratio.median;
    if (!ratio.second_is_faster(share)) return refuse("not faster in the model");
  }
  {
    const Background::Piece piece(place_.background);
    if (!put_in_force(job, now, better, ratio, "swap: bilinear")) return refuse("the plan had changed");
    auto base = layouts_.choice_for(job.shapes);
    layouts_.choose({job.shapes, {}, nullptr, std::move(base), made.graph, true});
    if (when_folded_) when_folded_(std::move(made.folded));
  }
  return done(true, "bilinear");
} catch (const std::exception& error) {  // whatever search/algebra has done to the helper
  board_.update([&](OptimizerStatus& status) {
    status.bilinear.outcome = fmt::format("as they are: {}", error.what());
  });
  if (when_bilinear_decided_) when_bilinear_decided_();
  return false;
}

}  // namespace axrun::runtime
