#pragma once

#include <string>

#include "ir/graph.h"

namespace axrun::cli {

/// A small image classifier with the structure of real ones: convolution, batch normalisation, a residual
/// block, depthwise convolution, pooling, a classifier; weights made up from a fixed seed. Input "image" f32
/// [batch, 3, 32, 32], output "scores" f32 [batch, 10].
ir::Model demonstration_model();

/// Writes it as an ONNX file, below `cache_dir` or the standard folder, and returns the file's path; a
/// temporary file with `keep` false, or where that folder cannot be written.
std::string write_demonstration(const std::string& cache_dir, bool keep);

}  // namespace axrun::cli
