#pragma once

#include <cstddef>

#include "search/pieces.h"

namespace axrun::search {

/// The piece of an expression that is offered in several schedules: the one with most work of those that have
/// any but the default one.
struct Alternatives {
  size_t piece = 0;
  size_t count = 0;  ///< besides the default one; at most
};
/// Nothing is searched for here.
Alternatives alternatives_of(const PieceContext& context, const Pieces& pieces);

}  // namespace axrun::search
