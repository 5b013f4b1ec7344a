#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/plan/lay_out.h"
#include "search/layouts/layout_problem.h"

namespace axrun::runtime {

/// A step that reads values in any layout. Convolutions, windows, elementwise work, Concat of channels also
/// make their results in any layout; of others the results have no channels, or other ones.
struct LayoutSite {
  size_t step = 0;                  ///< of the plan
  std::vector<ir::ValueId> inputs;  ///< those of its values that have layouts, each once
  std::vector<ir::ValueId> outputs;
  bool input_by_input = false;    ///< what it takes is the sum of what its inputs take
  double plain_microseconds = 0;  ///< with everything in the plain layout
  std::optional<double>
      last_microseconds;  ///< with everything channels-last; empty: not known, or not possible
};

/// Where a plan's values could be stored in other layouts.
struct LayoutSites {
  std::vector<LayoutSite> sites;
  /// Values that are read plain by others than sites, or are results of the model, are wanted plain.
  struct Value {
    int64_t bytes = 0;
    bool is_made = false;  ///< by a site
    bool is_wanted = false;
  };
  std::map<ir::ValueId, Value> values;
};

/// Looks at what the plan's steps compute, nested plans left out; times are not known yet.
LayoutSites find_layout_sites(const Plan& plan);

/// What is decided about them.
struct LayoutDecision {
  std::map<ir::ValueId, ValueLayout> values;         ///< those that are not just plain
  std::vector<std::map<ir::ValueId, Layout>> reads;  ///< per step of the plan
  std::vector<bool> moved;                           ///< per site: it works channels-last
  int values_moved = 0;                              ///< values made in another layout than the plain one
  double gain_microseconds = 0;                      ///< as expected
  bool is_best = true;
  double gap = 0;  ///< of the cost, at most, to the best there is
};

/// Everything channels-last that can be: what the prices of the sites are measured on.
LayoutDecision all_channels_last(const Plan& plan, const LayoutSites& sites);

/// What is expected to take least. microseconds_per_byte: of a conversion, for bytes of the value. choose:
/// who finds that, which is the helper where a session wants it.
using ChooseLayouts =
    std::function<search::layouts::LayoutChoice(const search::layouts::LayoutProblem& problem)>;
LayoutDecision decide_layouts(const Plan& plan, const LayoutSites& sites, double microseconds_per_byte,
                              const ChooseLayouts& choose);

}  // namespace axrun::runtime
