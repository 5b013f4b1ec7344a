#include "runtime/optimizer/layout_trial.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/plan/plan_builder.h"

namespace axrun::runtime {
namespace {

/// Until a conversion has been measured: of the value's bytes, which are read and written once.
constexpr double guessed_microseconds_per_byte = 2e-4;

/// The library's kernels for the plan's steps serve their twins in the other graph.
void serve_twins(const Plan& plan, const LaidOut& laid_out, KernelLibrary& library) {
  for (size_t s = 0; s < plan.steps().size(); ++s) {
    const std::vector<int>& nodes = plan.steps()[s].work->nodes;
    if (!nodes.empty()) library.serve_as(plan.graph(), nodes, *laid_out.graph, laid_out.steps[s]);
  }
}

}  // namespace

LayoutTrial::LayoutTrial(std::shared_ptr<const Plan> plan, LayoutSites sites, KernelLibrary& library)
    : plan_(std::move(plan)),
      sites_(std::move(sites)),
      microseconds_per_byte_(guessed_microseconds_per_byte) {
  const LayoutDecision everything = all_channels_last(*plan_, sites_);
  all_ = lay_out(*plan_, everything.values, everything.reads);
  serve_twins(*plan_, all_, library);
  std::vector<std::vector<int>> sets = all_.steps;
  for (const LayoutSite& site : sites_.sites) sets.push_back(all_.converting_steps[site.step]);
  std::erase_if(sets, [](const std::vector<int>& nodes) { return nodes.empty(); });
  plan_of(all_, std::make_shared<StepFinder>(*all_.graph, std::move(sets), formed_));
}

std::shared_ptr<const Plan> LayoutTrial::plan_of(const LaidOut& laid_out,
                                                 std::shared_ptr<KernelSource> kernels) const {
  return build_like(*plan_, laid_out.graph, std::move(kernels));
}

std::shared_ptr<const Plan> LayoutTrial::laid_out_plan(std::shared_ptr<KernelLibrary> library) const {
  return plan_of(all_, std::move(library));
}

Joint LayoutTrial::joint_of(size_t site, const Plan& apart) const {
  const std::vector<int>& nodes = all_.converting_steps[sites_.sites[site].step];
  const auto formed = formed_.find(nodes);
  return formed == formed_.end() ? Joint() : joint_within(formed->second, apart);
}

void LayoutTrial::join(size_t site, KernelLibrary& library) {
  library.know_joined(*all_.graph, all_.converting_steps[sites_.sites[site].step]);
}

void LayoutTrial::take_times(const std::vector<double>& plain, const Plan& laid_out,
                             const std::vector<double>& microseconds) {
  std::set<std::vector<int>> own(all_.steps.begin(), all_.steps.end());
  std::map<std::vector<int>, double> taken;
  double conversions = 0, bytes = 0;
  for (size_t s = 0; s < laid_out.steps().size(); ++s) {
    const Step& step = laid_out.steps()[s];
    taken[step.work->nodes] += microseconds[s];
    const bool converts = step.kernel && step.work->nodes.size() == 1 && own.count(step.work->nodes) == 0 &&
                          step.work->node->op == "Transpose";
    if (!converts) continue;
    const ir::ValueFact& fact = laid_out.fact(step.work->outputs[0]);
    conversions += microseconds[s];
    bytes += static_cast<double>(ir::element_count(*ir::constant_dims(*fact.dims))) *
             static_cast<double>(ir::size_of(fact.type));
  }
  if (bytes > 0 && bytes >= converted_bytes_) {
    microseconds_per_byte_ = conversions / bytes;
    converted_bytes_ = bytes;
  }
  for (LayoutSite& site : sites_.sites) {
    const auto one = taken.find(all_.converting_steps[site.step]);
    site.plain_microseconds = plain[site.step];
    site.last_microseconds.reset();
    if (one != taken.end()) site.last_microseconds = one->second;
  }
}

LaidOut LayoutTrial::decided(const LayoutDecision& decision, KernelLibrary& library) const {
  LaidOut laid_out = lay_out(*plan_, decision.values, decision.reads);
  serve_twins(*plan_, laid_out, library);
  for (size_t k = 0; k < sites_.sites.size(); ++k) {
    if (!decision.moved[k]) continue;
    const size_t s = sites_.sites[k].step;
    const std::vector<int>& nodes = laid_out.converting_steps[s];
    library.serve_as(*all_.graph, all_.converting_steps[s], *laid_out.graph, nodes);
    library.know_joined(*laid_out.graph, nodes);
  }
  return laid_out;
}

}  // namespace axrun::runtime
