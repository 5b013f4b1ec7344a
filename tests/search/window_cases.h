#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// A reduction over windows of x[channels..., spatial...], with one entry for each spatial dimension in the
/// lists; short lists are filled up with 1 (strides, dilations) or 0 (pads).
struct Windows {
  std::string name;
  ir::Monoid::Kind monoid = ir::Monoid::Kind::sum;
  bool weights = true;  ///< each tap is multiplied by w[channel, tap...]
  ir::Dims channels;    ///< the last one is that of the weights
  ir::Dims input;
  std::vector<int64_t> kernel, strides = {}, dilations = {}, pads = {}, pads_end = {};
  /// What a map makes of each element.
  enum class Epilogue { none, clip, bias_residual, normalized, gelu, mean } epilogue = Epilogue::none;
  std::optional<double> outside = {};  ///< what pads hold; by default what changes nothing
};
inline void PrintTo(const Windows& windows, std::ostream* out) { *out << windows.name; }

ir::Program program_of(const Windows& windows);

/// Of every form that there is a schedule for, sizes left open included.
std::vector<Case> window_cases();

}  // namespace axrun::tests
