#pragma once

#include <cstdint>

#include "ir/dim.h"
#include "jit/target.h"
#include "search/size_facts.h"

namespace axrun::search {

/// Whether so much arithmetic (a multiply-add counts two), or reading and writing so many bytes once, takes
/// one core long enough for others to help: some 10 microseconds.
bool is_worth_spreading(double flops, const jit::Target& target, double bytes = 0);

/// Bytes of the second cache; where the target has none, those of a usual one.
inline int64_t second_cache(const jit::Target& target) {
  return target.caches.size() > 1 ? target.caches[1].bytes : int64_t{256} << 10;
}

/// How many pieces of `piece` cover [0, extent).
inline int64_t ceil_of(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }

/// The part of the workers' time that is used when `count` equal pieces are spread over `cores`.
double balance(int64_t count, int cores);
/// The same of [0, extent) in pieces of `piece`, the last one of what is left.
double balance_of_pieces(int64_t extent, int64_t piece, int cores);
/// The same of an axis, at its typical or at its least size, whichever is worse: where a batch may be of one,
/// no worker but one can count on it.
double balance_of_axis(const SizeFacts& facts, const ir::Dim& extent, int64_t piece, int cores);
/// How large pieces of [0, extent) are that keep all cores at work: the largest of those from `most` down to
/// half of it that do so best.
int64_t even_piece(int64_t extent, int64_t most, int cores);

}  // namespace axrun::search
