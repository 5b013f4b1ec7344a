#pragma once

#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// Terms that may equal the root, of its type and dims, in the order of the number of their operations: what
/// comes of propagating the producer `producer` (an argument of the root, or root itself) past the root's
/// operation. Which of them do is not known.
///
/// A producer goes past its consumer: its arguments get clones of the consumer (each subset of them), in
/// every order; it moves to another argument of the consumer; producers that share arguments become one;
/// either is left out. Operations with axes are tried along all axes, what is broadcast is tried with its
/// dims at other places. An operation by itself, producer == root, is taken apart where it is affine.
std::vector<TermId> propagate(Terms& terms, TermId root, TermId producer, size_t most);

}  // namespace axrun::search::algebra
