#pragma once

#include <cstddef>
#include <cstdint>

namespace axrun::verify {

/// `hash` with these bytes taken in.
uint64_t hash_of(const void* data, size_t bytes, uint64_t hash);

/// Fills results with what no kernel writes: f32 with a quiet NaN that no computation gives, any other type
/// with a pattern of bytes.
void mark_unwritten(void* data, size_t bytes, bool is_f32);
/// The first f32 that still is that NaN; -1: none.
int64_t first_unwritten(const void* data, size_t bytes);

}  // namespace axrun::verify
