#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace axrun::verify {

/// `hash` with these bytes taken in.
uint64_t hash_of(const void* data, size_t bytes, uint64_t hash);

/// Fills results with what no kernel writes: f32 with a quiet NaN that no computation gives, any other type
/// with bytes that few kernels write, other ones in every trial.
void mark_unwritten(void* data, size_t bytes, bool is_f32, int trial);
/// The first f32 that still is that NaN; -1: none.
int64_t first_unwritten(const void* data, size_t bytes);
/// Elements of another type that still are these bytes: not written, or written with just them. At most
/// `most`, other ones in every trial.
std::vector<int64_t> perhaps_unwritten(const void* data, size_t bytes, size_t element_bytes, int trial,
                                       size_t most);

}  // namespace axrun::verify
