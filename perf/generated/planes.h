#pragma once

#include <optional>
#include <string>

#include "perf/generated/cases.h"

namespace axrun::perf {

/// What a step over planes computes whose values lie plane by plane, or channels-last:
///   conv_HxWxC_F_KxK     F filters over C channels of H x W, padded to keep the size, bias and Relu
///   depthwise_HxWxC_KxK  one filter for each channel
///   chain_HxWxC_F_KxK    C to 6 C channels, K x K for each of these, and to F: MobileNet's inverted residual
///   maxpool_HxWxC_KxK    K x K with the same padding
///   mean_HxWxC           of whole planes
/// then s2 for strides of 2, _add for a residual before Relu, and _last (all values channels-last), _in (what
/// is read) or _out (the result). Constant weights. Empty for other names.
std::optional<GeneratedCase> planes_case(const std::string& name);

}  // namespace axrun::perf
