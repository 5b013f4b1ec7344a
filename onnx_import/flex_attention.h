#pragma once

#include <cstdint>

#include "onnx_import/scope.h"

namespace axrun::onnx_import {

/// Replaces the nodes FlexAttention of ai.onnx.preview that have modifier graphs by ordinary ones, with these
/// graphs between them; the graph is left unsorted. Scores are computed in f32 (f64 for double) and passed on
/// in softmax_precision. Throws Error(unsupported) for more than `most_nodes`.
void expand_flex_attention(GraphDraft& draft, int64_t most_nodes);

}  // namespace axrun::onnx_import
