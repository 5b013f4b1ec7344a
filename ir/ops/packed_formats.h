#pragma once

#include "ir/ops/packed_numbers.h"

namespace axrun::ir {

/// Element `place` (0 .. elements - 1) of the block whose first byte is at `start`, as f32.
using Decoder = std::function<Scalar(const PackedBytes& bytes, const Scalar& start, const Scalar& place)>;

/// How numbers lie in blocks of bytes.
struct PackedFormat {
  int64_t number;    ///< in GGML, its ggml_type
  int64_t elements;  ///< of a block
  int64_t size;      ///< of a block, in bytes
  Decoder (*decoder)(Builder& b);
};

/// nullptr where there is none of that number.
const PackedFormat* find_packed_format(int64_t number);

/// The nibble of element `place` of 32: the first 16 are in the low halves of the bytes from `from` on.
Scalar nibble_of_32(const PackedBytes& bytes, const Scalar& from, const Scalar& place);

}  // namespace axrun::ir
