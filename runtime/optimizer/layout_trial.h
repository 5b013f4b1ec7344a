#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/layout_sites.h"
#include "runtime/optimizer/step_finder.h"
#include "runtime/plan/joints.h"
#include "runtime/plan/lay_out.h"

namespace axrun::runtime {

/// A plan with its sites and, beside it, the same model with everything channels-last that can be: there the
/// kernels that read and make the other layout are tried and measured, each in the place where it would be.
class LayoutTrial {
 public:
  /// Makes the other graph; the library knows what its steps are the twins of.
  LayoutTrial(std::shared_ptr<const Plan> plan, LayoutSites sites, KernelLibrary& library);

  const Plan& plan() const { return *plan_; }
  const LayoutSites& sites() const { return sites_; }
  /// Everything channels-last.
  const std::shared_ptr<const ir::Graph>& graph() const { return all_.graph; }
  /// Of that graph with the library's kernels: the site's step and its conversions are steps of their own
  /// where the library has no kernel for all together.
  std::shared_ptr<const Plan> laid_out_plan(std::shared_ptr<KernelLibrary> library) const;
  /// The site's step and its conversions as one step, in a plan in which they are apart; no steps where the
  /// plan's builder does not make it one.
  Joint joint_of(size_t site, const Plan& apart) const;
  /// From now on they are one step where the library has a kernel for it.
  void join(size_t site, KernelLibrary& library);

  /// Takes what the steps of the plan took, and those of a plan that laid_out_plan() has made: channels-last
  /// times of sites that are one step there, and what conversions take, where more of them are steps than
  /// before.
  void take_times(const std::vector<double>& plain, const Plan& laid_out,
                  const std::vector<double>& microseconds);
  double microseconds_per_byte() const { return microseconds_per_byte_; }

  /// The model with the layouts that were decided, with the library's kernels; what nodes compute there is
  /// known to the library by their twins here.
  LaidOut decided(const LayoutDecision& decision, KernelLibrary& library) const;
  /// A plan of that graph for the shapes of this one.
  std::shared_ptr<const Plan> plan_of(const LaidOut& laid_out, std::shared_ptr<KernelSource> kernels) const;

 private:
  std::shared_ptr<const Plan> plan_;
  LayoutSites sites_;
  LaidOut all_;
  StepsByNodes formed_;  ///< that the builder makes of sites
  double microseconds_per_byte_ = 0;
  double converted_bytes_ = 0;  ///< by the conversions that were measured: those of the most bytes count
};

}  // namespace axrun::runtime
