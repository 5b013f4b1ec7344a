#pragma once

#include <cstdint>

#include "ir/dim.h"

namespace axrun::search {

/// Consecutive tiles of an axis of the result.
struct Tiles {
  ir::Dim start;
  ir::Dim count;
  int64_t size = 1;
  bool partial = false;  ///< the last one may be cut short by the end of the axis
  /// Every tile is written out: where its guards are decided differs from its neighbours'.
  bool apart = false;
};

}  // namespace axrun::search
