#pragma once

#include <algorithm>

#include "jit/target.h"

namespace axrun::jit {

/// Whether one instruction adds four products of neighbouring bytes, one side unsigned and one signed, to
/// lanes of 32 bits, without saturation in between.
inline bool has_byte_products(const Target& target) {
  constexpr int widest = 64;
  const char* needed = target.vector_bytes == widest ? "avx512_vnni" : "avx_vnni";
  return std::find(target.features.begin(), target.features.end(), needed) != target.features.end();
}

}  // namespace axrun::jit
