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

#include "ir/error.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/step_expression.h"
#include "search/algebra/bilinear_graph.h"
#include "verify/bilinear_identity.h"

namespace axrun::runtime {
namespace {

using search::algebra::BilinearChoice;
using search::algebra::BilinearGraph;
using search::algebra::BilinearSite;
using search::algebra::Sides;
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

struct Made {
  std::shared_ptr<const ir::Graph> graph;
  std::vector<search::algebra::BilinearNodes> nodes;
  std::vector<FoldedNode> folded;
};

/// With its limits. Null where there is none.
Made made_of(const std::shared_ptr<const ir::Graph>& graph, const std::vector<BilinearChoice>& choices,
             ThreadPool& pool) {
  size_t bytes = 0;
  for (const BilinearChoice& one : choices) bytes += search::algebra::transformed_bytes(one);
  if (bytes > most_transformed_bytes) return {};
  BilinearGraph made = search::algebra::with_bilinear(*graph, choices);
  std::vector<FoldedNode> folded =
      fold_weights(*made.graph, pool, {most_bilinear_growth, most_transformed_bytes});
  auto limits = std::make_shared<ir::GraphLimits>();
  limits->otherwise = graph;
  for (size_t k = 0; k < choices.size(); ++k) {
    const ir::Tensor& filters = made.graph->value(made.nodes[k].transformed).constant;
    if (!filters.defined()) return {};
    const float most = search::algebra::bilinear_limit(choices[k].outputs, filters);
    if (most <= 0) return {};
    const auto [place, fresh] = limits->most.emplace(choices[k].site.image, most);
    place->second = std::min(place->second, most);
  }
  made.graph->limits = std::move(limits);
  return {std::move(made.graph), std::move(made.nodes), std::move(folded)};
}

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
    const std::vector<int>& nodes = plan.steps()[s].nodes;
    const bool is_one = std::any_of(nodes.begin(), nodes.end(), [&](int n) {
      return values.count(plan.graph().nodes[static_cast<size_t>(n)].outputs[0]) != 0;
    });
    if (is_one) sum += times[s];
  }
  return sum;
}

}  // namespace

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

bool PlanImprover::is_proved(const BilinearChoice& choice) {
  const std::string key = fmt::format("{} by {}", choice.site.kind(), choice.outputs);
  if (const auto known = bilinear_proofs_.find(key); known != bilinear_proofs_.end()) return known->second;
  const auto coefficients = search::algebra::bilinear_coefficients(choice.outputs);
  if (verify::prove_bilinear(coefficients).verdict != verify::Verdict::proved)
    return bilinear_proofs_[key] = false;
  const search::algebra::Prover prover = prover_by(worker_, tools_, place_.stop, proof_seconds);
  for (const Sides& sides : search::algebra::bilinear_obligations(choice)) {
    const auto evidence = prover(sides, {});
    if (!evidence) return false;  // no answer: asked again for other shapes
    if (evidence->equality.verdict != verify::Verdict::proved) return bilinear_proofs_[key] = false;
  }
  return bilinear_proofs_[key] = true;
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
    Made made;
    {
      const Background::Piece piece(place_.background);
      made = made_of(now->shared_graph(), choices, place_.pool);
    }
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
    const TreeTimes tree = step_times(*now, job);
    const std::vector<double> times = tree.own_times(*now);
    const Background::Piece piece(place_.background);
    for (BilinearSite& site : search::algebra::bilinear_sites(facts_of(*now)))
      kinds.all[site.kind()].sites.push_back(std::move(site));
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
  for (auto& [name, kind] : kinds.all) {
    double least = kind.direct * (1 - least_bilinear_gain);
    for (size_t t = 0; t < tiles.size(); ++t) {
      const bool is_better =
          settings_.force_bilinear ? kind.outputs == 0 : kind.by_tile[t] > 0 && kind.by_tile[t] < least;
      if (!is_better) continue;
      rest_when_throttled();
      if (place_.stop.requested() || board_.frozen()) return done(false, "as they are: stopped");
      if (!is_proved({kind.sites.front(), tiles[t]})) continue;
      least = kind.by_tile[t];
      kind.outputs = tiles[t];
    }
    report.kinds.push_back({name, static_cast<int>(kind.sites.size()), kind.outputs, kind.direct,
                            kind.by_tile[0], kind.by_tile[1]});
    if (kind.outputs == 0) continue;
    for (const BilinearSite& site : kind.sites) choices.push_back({site, kind.outputs});
    report.growth = std::max(report.growth, search::algebra::bilinear_growth(kind.outputs));
  }
  if (choices.empty()) return done(false, "as they are: none is faster");
  Made made;
  {
    const Background::Piece piece(place_.background);
    made = made_of(now->shared_graph(), choices, place_.pool);
  }
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
} catch (const std::exception& error) {  // whatever search/algebra does
  board_.update([&](OptimizerStatus& status) {
    status.bilinear.outcome = fmt::format("as they are: {}", error.what());
  });
  if (when_bilinear_decided_) when_bilinear_decided_();
  return false;
}

}  // namespace axrun::runtime
