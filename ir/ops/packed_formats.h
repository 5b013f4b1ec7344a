#pragma once

#include "ir/ops/packed_numbers.h"

namespace axrun::ir {

/// The bytes of a block of numbers, and the f16 that it has, as f32.
struct PackedBlock {
  PackedBytes bytes;
  std::function<Scalar(int64_t which)> scale;
};

/// Element `place` (0 .. elements - 1) of a block, as f32.
using Decoder = std::function<Scalar(const PackedBlock& block, const Scalar& place)>;

/// How numbers lie in blocks of bytes.
struct PackedFormat {
  int64_t number;    ///< in GGML, its ggml_type
  int64_t elements;  ///< of a block
  int64_t size;      ///< of a block, in bytes
  int64_t scales;    ///< how many f16 a block has,
  int64_t first;     ///< one after the other, from this byte on
  Decoder (*decoder)(Builder& b);
};

/// nullptr where there is none of that number.
const PackedFormat* find_packed_format(int64_t number);

/// The nibble of element `place` of 32: the first 16 are in the low halves of 16 bytes, the first of which is
/// at `from`, or at 0.
Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& place, const Scalar& from);
Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& place, int64_t from);

}  // namespace axrun::ir
