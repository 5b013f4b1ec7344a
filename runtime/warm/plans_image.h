#pragma once

#include <optional>
#include <string>

#include "runtime/cache/bytes.h"
#include "runtime/cache/hash.h"
#include "runtime/warm/kept_weights.h"

namespace axrun::runtime {

/// How the file with a model's plans begins: what is packed for them, which changes while they stay. Then
/// comes what they are: settled, shapes (shapes_image.h), layouts (layout_image.h), rewrites
/// (algebra_image.h), nested plans (nested_image.h), library (library_image.h).
struct PlansHead {
  std::optional<KeptWeights::Kept> weights;  ///< nothing: nobody has seen to that yet
  cache::Hash plans{};                       ///< of all that comes after it
};

std::string write_head(const PlansHead& head);
/// Fails the reader for what cannot be right.
PlansHead read_head(cache::Reader& in);

}  // namespace axrun::runtime
