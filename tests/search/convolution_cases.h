#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// A sum over channels and windows of x[batch..., groups * channels, spatial...], with one entry for each
/// spatial dimension in the lists; short lists are filled up with 1 (strides, dilations) or 0 (pads).
struct Convolved {
  std::string name;
  ir::Dims batch = {};
  int64_t groups = 1, channels = 1, filters = 1;  ///< of each group
  ir::Dims input;
  std::vector<int64_t> kernel, strides = {}, dilations = {}, pads = {}, pads_end = {};
  /// What a map makes of each element.
  enum class Epilogue { none, bias_clip, bias_residual, normalized, gelu } epilogue = Epilogue::none;
  bool constant = true;  ///< the weights
};

ir::Program program_of(const Convolved& convolved);

/// Those that are computed with channels next to each other, of every form of the loops.
std::vector<Convolved> convolved_across();

/// Of every form that there is a schedule for, sizes left open included.
std::vector<Case> convolution_cases();

}  // namespace axrun::tests
